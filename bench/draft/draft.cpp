// What drafts gain where an agent writes the same file again and again, and what they cost where
// nothing repeats: the whole cast in this process, once without drafts, once with those from the
// sequence's own tokens, once with the draft actor's too, in turns, as ratios of tokens per second.
//   bench_draft [--json] [--rounds N] [--threads N] [MODEL.gguf]
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <memory>
#include <string>
#include <vector>

#include "actors/client.hpp"
#include "actors/node.hpp"
#include "base/clock.hpp"
#include "bench/cpu_time.hpp"
#include "bench/draft/workloads.hpp"
#include "bench/report.hpp"
#include "engine/suffix_index.hpp"

using namespace troupe;
using bench::Row;

namespace {

struct Flags {
  std::string model = "weights/SmolLM2-135M-Instruct.Q4_1.gguf";
  bool json = false;
  uint32_t rounds = 5;
  int threads = 0;
};

struct Cast {
  std::unique_ptr<actors::Node> node;
  std::unique_ptr<actors::Client> client;
};

/// One way to run: a cast, and whether its requests may draft.
struct Mode {
  std::string name;
  bool drafts = false;
  std::shared_ptr<Cast> cast;
};

struct Measured {
  uint64_t tokens = 0, drafted = 0, accepted = 0;
  double seconds = 0;      ///< after the first token of each request
  double cpu_seconds = 0;  ///< of this process, likewise
  std::vector<std::string> texts;

  [[nodiscard]] double per_second() const { return static_cast<double>(tokens) / seconds; }
  [[nodiscard]] double per_cpu_second() const { return static_cast<double>(tokens) / cpu_seconds; }
};

[[noreturn]] void fail(const Error& error) {
  std::fprintf(stderr, "bench_draft: %s\n", error.message().c_str());
  std::exit(1);
}

std::shared_ptr<Cast> make_cast(const Flags& flags, const std::string& name, bool actor) {
  actors::NodeOptions options;
  options.name = name;
  options.roles = {"directory", "router", "front", "prefill", "decode"};
  if (actor) options.roles.emplace_back("draft");
  options.model_path = flags.model;
  options.worker.threads = flags.threads;
  options.worker.shared_memory = options.worker.tcp = false;
  auto node = actors::Node::start(options);
  if (!node) fail(node.error());
  if (auto joined = (*node)->wait_joined(10'000); !joined) fail(joined.error());
  auto client = actors::Client::embedded(**node);
  if (!client) fail(client.error());
  return std::make_shared<Cast>(Cast{std::move(*node), std::move(*client)});
}

void run_one(Mode& mode, const std::string& prompt, uint32_t max_tokens, float temperature,
             uint64_t seed, Measured& measured) {
  actors::GenerateRequest request;
  request.text = prompt;
  request.sampling.max_tokens = max_tokens;
  request.sampling.temperature = temperature;
  request.sampling.seed = seed;
  request.sampling.ignore_eos = temperature > 0;
  if (temperature == 0) request.stop = {"```"};
  request.has_seed = true;
  request.drafts = mode.drafts;
  double cpu_start = 0;
  TimeUs first_us = 0;
  auto result =
      mode.cast->client->generate_and_wait(request, [&](const actors::ClientDelta& delta) {
        if (first_us != 0 || delta.tokens.empty()) return;
        first_us = now_us();
        cpu_start = bench::process_cpu_s();
      });
  if (!result) fail(result.error());
  measured.seconds += static_cast<double>(now_us() - first_us) * 1e-6;
  measured.cpu_seconds += bench::process_cpu_s() - cpu_start;
  const actors::ChoiceResult& choice = result->choices.at(0);
  measured.tokens += choice.token_ids.size() - 1;
  measured.drafted += choice.drafted;
  measured.accepted += choice.accepted;
  measured.texts.push_back(choice.text);
}

/// The agent: it sees the versions of a file and writes the next one, again and again.
Measured run_edits(Mode& mode, uint32_t round) {
  constexpr uint32_t turns = 3, tokens = 400;
  Measured measured;
  std::vector<std::string> versions = {bench::source_file(round)};
  versions.push_back(bench::edited(versions[0], round, 99));
  for (uint32_t turn = 0; turn < turns; ++turn) {
    run_one(mode, bench::edit_prompt(versions), tokens, 0.0f, 1, measured);
    versions.push_back(measured.texts.back());
  }
  return measured;
}

/// One short request, so that modes take turns every few seconds: what drafts cost here is less
/// than what a machine's speed drifts by in ten.
Measured run_story(Mode& mode, uint32_t round) {
  constexpr uint32_t tokens = 240;
  Measured measured;
  run_one(mode, bench::story_prompt(round), tokens, 1.0f, 1 + round, measured);
  return measured;
}

struct Ratios {
  std::vector<double> speed, cpu;
};

/// One workload in all modes, in turns; the first mode is what the others are compared with.
/// `bar`: what the tokens per CPU second must reach of those without drafts.
void measure(const std::string& workload, Measured (*run)(Mode&, uint32_t), double bar,
             std::vector<Mode>& modes, uint32_t rounds, std::vector<Row>& rows) {
  std::vector<Ratios> ratios(modes.size());
  std::vector<uint64_t> drafted(modes.size()), accepted(modes.size()), tokens(modes.size());
  std::vector<double> plain_speed;
  for (uint32_t round = 0; round < rounds; ++round) {
    std::vector<Measured> measured(modes.size());
    for (size_t i = 0; i < modes.size(); ++i) {
      const size_t mode = round % 2 == 0 ? i : modes.size() - 1 - i;
      measured[mode] = run(modes[mode], round);
    }
    plain_speed.push_back(measured[0].per_second());
    for (size_t mode = 1; mode < modes.size(); ++mode) {
      if (measured[mode].texts != measured[0].texts) {
        fail(error(Code::internal, "drafts changed the text of " + workload));
      }
      ratios[mode].speed.push_back(measured[mode].per_second() / measured[0].per_second());
      ratios[mode].cpu.push_back(measured[mode].per_cpu_second() / measured[0].per_cpu_second());
      drafted[mode] += measured[mode].drafted;
      accepted[mode] += measured[mode].accepted;
      tokens[mode] += measured[mode].tokens;
    }
  }
  rows.push_back(bench::row(workload + ", " + modes[0].name, plain_speed, "tokens/s"));
  for (size_t mode = 1; mode < modes.size(); ++mode) {
    const std::string title = workload + ", " + modes[mode].name;
    rows.push_back(bench::row(title + ", speed", ratios[mode].speed, "x"));
    rows.push_back(
        bench::at_least(bench::row(title + ", per CPU second", ratios[mode].cpu, "x"), bar));
    const double share = drafted[mode] == 0 ? 0.0
                                            : static_cast<double>(accepted[mode]) /
                                                  static_cast<double>(drafted[mode]);
    rows.push_back(bench::row(title + ", accepted of drafted", {share}, "share"));
    const double wasted =
        static_cast<double>(drafted[mode] - accepted[mode]) / static_cast<double>(tokens[mode]);
    rows.push_back(bench::row(title + ", wasted drafts", {wasted}, "per token"));
  }
}

/// Bytes that the index takes per token, and the time of a look-up, at a million tokens.
void measure_index(std::vector<Row>& rows) {
  engine::SuffixIndex index(size_t{256} << 20);
  const kv::BlockName group;
  uint32_t state = 1;
  const auto next = [&] { return static_cast<int32_t>((state = state * 1664525u + 1u) >> 16); };
  std::vector<int32_t> document(2000);
  const TimeUs start = now_us();
  while (index.num_tokens() < 1'000'000) {
    for (int32_t& token : document) token = next() % 5000;
    index.learn(group, document);
  }
  const auto learning = static_cast<double>(now_us() - start);
  const auto tokens = static_cast<double>(index.num_tokens());
  rows.push_back(
      bench::row("index, memory", {static_cast<double>(index.bytes()) / tokens}, "bytes/token"));
  rows.push_back(bench::row("index, learning", {1000.0 * learning / tokens}, "ns/token"));
  std::vector<double> times;
  for (size_t at = 100; at + 50 < document.size(); at += 100) {
    const TimeUs asked = now_us();
    for (int i = 0; i < 100; ++i) {
      (void)index.find(group, std::span(document).subspan(at, 32), 48);
    }
    times.push_back(static_cast<double>(now_us() - asked) / 100.0);
  }
  rows.push_back(bench::row("index, look-up", times, "us"));
}

Flags parse(int argc, char** argv) {
  Flags flags;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--json") == 0) {
      flags.json = true;
    } else if (std::strcmp(argv[i], "--rounds") == 0 && i + 1 < argc) {
      flags.rounds = static_cast<uint32_t>(std::max(1, std::atoi(argv[++i])));
    } else if (std::strcmp(argv[i], "--threads") == 0 && i + 1 < argc) {
      flags.threads = std::atoi(argv[++i]);
    } else {
      flags.model = argv[i];
    }
  }
  return flags;
}

}  // namespace

int main(int argc, char** argv) {
  const Flags flags = parse(argc, argv);
  // Requests that do not draft neither ask nor teach the actor: the plain runs need no cast of
  // their own, and where the weights lie in memory makes no difference.
  const auto with_actor = make_cast(flags, "with-actor", true);
  const auto without = make_cast(flags, "without", false);
  std::vector<Mode> modes = {{"no drafts", false, with_actor},
                             {"own drafts", true, without},
                             {"draft actor", true, with_actor}};
  std::vector<Row> rows;
  measure("edits", run_edits, 1.5, modes, flags.rounds, rows);
  constexpr uint32_t stories_per_round = 8;
  measure("stories", run_story, 0.98, modes, stories_per_round * flags.rounds, rows);
  measure_index(rows);
  bench::print("draft", with_actor->node->describe(), rows, flags.json);
  return 0;
}
