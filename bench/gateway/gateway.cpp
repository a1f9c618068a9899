// What HTTP costs: the gateway's CPU time per request and per streamed token in front of a cast
// that speaks at a pace; tokens per core through the whole cast on a simulated device, beside the
// same without HTTP; and how long a prompt of 200,000 tokens takes to its worker.
//   bench_gateway [--json] [--rounds N] [--parts gateway,cast,prompt] [MODEL.gguf]
// Or: Troupe beside llama-server on the same file, by the clock.
//   bench_gateway --llama-server PROGRAM [--troupe PROGRAM] [--json] [--rounds N] [MODEL.gguf]
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <future>
#include <numeric>

#include "base/concat.hpp"
#include "base/log.hpp"
#include "bench/cpu_time.hpp"
#include "bench/gateway/against_llama.hpp"
#include "bench/gateway/load.hpp"
#include "bench/gateway/paced_cast.hpp"
#include "bench/gateway/prompt.hpp"
#include "bench/gateway/sim_node.hpp"
#include "bench/report.hpp"
#include "tests/support/gguf_writer.hpp"
#include "tests/support/test_files.hpp"

using namespace troupe;
using bench::Row;

namespace {

struct Flags {
  std::string model = "weights/SmolLM2-135M-Instruct.Q4_1.gguf";
  std::string parts = "gateway,cast,prompt";
  std::string llama_server;
  std::string troupe = "build/release/bin/troupe";
  bool json = false;
  int rounds = 5;

  [[nodiscard]] bool has(const char* part) const { return parts.find(part) != std::string::npos; }
};

constexpr uint32_t vocab = 320;  // of the small model

[[noreturn]] void fail(const std::string& what) {
  std::fprintf(stderr, "bench_gateway: %s\n", what.c_str());
  std::exit(1);
}

std::string chat(uint32_t tokens, bool stream) {
  return bench::post_bytes(
      "/v1/chat/completions",
      concat(R"({"model": "m", "messages": [{"role": "user", "content": "Tell me of rivers."}],)",
             R"( "max_tokens": )", tokens, R"(, "temperature": 1, "ignore_eos": true, "stream": )",
             stream ? "true}" : "false}"));
}

/// CPU time of everything but the load, in microseconds per `units`.
double cost_us(uint16_t port, const std::vector<std::string>& requests, size_t at_once,
               double units) {
  const double before = bench::process_cpu_s();
  const bench::LoadResult load = bench::run_load(port, requests, at_once);
  const double cpu = bench::process_cpu_s() - before - load.cpu_seconds;
  if (!load.all_ok()) fail("a request was not answered");
  return cpu * 1e6 / units;
}

/// What a token of so many streams takes. The head, the first and the last events belong to the
/// request: two lengths tell them apart.
double token_us(const bench::PacedGateway& at, size_t streams, uint32_t tokens) {
  const auto count = static_cast<double>(streams);
  const double longer =
      cost_us(at.port(), std::vector(streams, chat(2 * tokens, true)), streams, count);
  const double shorter =
      cost_us(at.port(), std::vector(streams, chat(tokens, true)), streams, count);
  return (longer - shorter) / tokens;
}

void gateway_alone(const Flags& flags, std::vector<Row>& rows) {
  constexpr size_t requests = 2000, streams = 32;
  constexpr uint32_t tokens = 200, slow_tokens = 40;
  constexpr size_t event_bytes = 230;
  std::vector<double> request_us, fast_us, slow_us, source_us, send_us, sends_each;
  const bench::PacedGateway at_once(0);
  bench::PacedGateway paced(5'000);
  bench::PacedGateway slow(25'000);
  for (int round = 0; round < flags.rounds; ++round) {
    request_us.push_back(cost_us(at_once.port(), std::vector(requests, chat(1, false)), streams,
                                 static_cast<double>(requests)));
    source_us.push_back(paced.source_us(streams, tokens));
    const uint64_t sends = paced.sends();
    fast_us.push_back(token_us(paced, streams, tokens) - source_us.back());
    sends_each.push_back(static_cast<double>(paced.sends() - sends) / (3.0 * streams * tokens));
    slow_us.push_back(token_us(slow, streams, slow_tokens) - slow.source_us(streams, slow_tokens));
    send_us.push_back(bench::bare_send_us(event_bytes));
  }
  rows.push_back(bench::at_most(bench::row("gateway/request", request_us, "us CPU"), 150));
  // 200 tokens/s each: events of one stream that come within 16 ms share a send.
  rows.push_back(bench::at_most(bench::row("gateway/token, 32 streams", fast_us, "us CPU"), 5));
  rows.push_back(bench::row("gateway/token, 32 streams, sends", sends_each, "per token"));
  // 40 tokens/s each: a token is a send of its own.
  rows.push_back(bench::row("gateway/token, 32 slow streams", slow_us, "us CPU"));
  rows.push_back(bench::row("gateway/a bare send", send_us, "us CPU"));
  rows.push_back(bench::row("gateway/a token of the bench's source", source_us, "us CPU"));
}

/// The same through the client facade, in microseconds of CPU per token.
double without_http_us(actors::Client& client, size_t streams, uint32_t tokens) {
  const double before = bench::process_cpu_s();
  std::vector<std::future<bool>> ends;
  for (size_t i = 0; i < streams; ++i) {
    auto promise = std::make_shared<std::promise<bool>>();
    ends.push_back(promise->get_future());
    actors::GenerateRequest request;
    request.messages = {{"user", "Tell me of rivers."}};
    request.sampling.max_tokens = tokens;
    request.sampling.temperature = 1;
    request.sampling.ignore_eos = true;
    actors::GenerateHandlers handlers;
    handlers.on_delta = [](const actors::ClientDelta&) {};
    handlers.on_end = [promise](const Result<actors::GenerateResult>& result) {
      promise->set_value(result.ok());
    };
    client.generate(std::move(request), std::move(handlers));
  }
  for (auto& end : ends) {
    if (!end.get()) fail("a request was not answered");
  }
  return (bench::process_cpu_s() - before) * 1e6 / (static_cast<double>(streams) * tokens);
}

void whole_cast(const Flags& flags, std::vector<Row>& rows) {
  constexpr size_t streams = 200;
  constexpr uint32_t tokens = 200;
  testing::TemporaryFile file(".gguf");
  testing::TinyLlamaOptions tiny;
  tiny.vocab = vocab;
  testing::make_tiny_llama(file.path(), tiny);
  bench::SimNode node({file.path(), vocab, 5'000});
  std::vector<double> with, without, difference, rate;
  for (int round = 0; round < flags.rounds; ++round) {
    with.push_back(cost_us(node.port(), std::vector(streams, chat(tokens, true)), streams,
                           double{streams} * tokens));
    without.push_back(without_http_us(node.client(), streams, tokens));
    difference.push_back(with.back() - without.back());
    rate.push_back(1e6 / with.back());
  }
  rows.push_back(
      bench::at_least(bench::row("cast/200 streams", rate, "tokens/s per core"), 20'000));
  rows.push_back(bench::row("cast/token", with, "us CPU"));
  rows.push_back(bench::row("cast/token without HTTP", without, "us CPU"));
  rows.push_back(bench::row("cast/token, what HTTP adds", difference, "us CPU"));
}

/// A long prompt on its way to its worker, whose KV is at hand: first token, and CPU until then.
struct Way {
  double wall_ms = 0, cpu_ms = 0;
};

Way ask(uint16_t port, const std::string& request) {
  const double before = bench::process_cpu_s();
  const bench::LoadResult load = bench::run_load(port, {request}, 1);
  const double cpu_s = bench::process_cpu_s() - before - load.cpu_seconds;
  if (!load.all_ok()) fail("the long prompt was not answered");
  return {load.replies[0].ttft_ms(), cpu_s * 1e3};
}

void long_prompt(const Flags& flags, std::vector<Row>& rows) {
  constexpr uint32_t context = 262'144, smollm_vocab = 49'152;
  constexpr size_t words = 180'000;
  testing::TemporaryFile file(".gguf");
  if (!bench::copy_with_context(flags.model, file.path(), context)) {
    fail(concat(flags.model, " is no Llama in GGUF"));
  }
  bench::SimNode node({file.path(), smollm_vocab, 0});
  std::vector<double> cold, seen, cold_cpu, seen_cpu;
  for (int round = 0; round < flags.rounds; ++round) {
    const std::string text = bench::long_text(words, static_cast<uint64_t>(round));
    node.compute(bench::long_chat(text, 0));
    for (const int turn : {0, 1}) {
      const Way way =
          ask(node.port(), bench::post_bytes("/v1/chat/completions", bench::long_chat(text, turn)));
      (turn == 0 ? cold : seen).push_back(way.wall_ms);
      (turn == 0 ? cold_cpu : seen_cpu).push_back(way.cpu_ms);
    }
  }
  rows.push_back(bench::at_most(bench::row("prompt of 200K tokens/cold", cold_cpu, "ms CPU"), 100));
  rows.push_back(bench::at_most(bench::row("prompt of 200K tokens/seen", seen_cpu, "ms CPU"), 20));
  rows.push_back(bench::row("prompt of 200K tokens/cold, first token", cold, "ms"));
  rows.push_back(bench::row("prompt of 200K tokens/seen, first token", seen, "ms"));
}

Flags parse(int argc, char** argv) {
  Flags flags;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--json") == 0) {
      flags.json = true;
    } else if (std::strcmp(argv[i], "--rounds") == 0 && i + 1 < argc) {
      flags.rounds = std::max(1, std::atoi(argv[++i]));
    } else if (std::strcmp(argv[i], "--parts") == 0 && i + 1 < argc) {
      flags.parts = argv[++i];
    } else if (std::strcmp(argv[i], "--llama-server") == 0 && i + 1 < argc) {
      flags.llama_server = argv[++i];
    } else if (std::strcmp(argv[i], "--troupe") == 0 && i + 1 < argc) {
      flags.troupe = argv[++i];
    } else if (argv[i][0] != '-') {
      flags.model = argv[i];
    } else {
      fail(concat("unknown option ", argv[i],
                  "; it takes --json, --rounds N, --parts "
                  "gateway,cast,prompt, --llama-server PROGRAM, --troupe PROGRAM and a model "
                  "file"));
    }
  }
  return flags;
}

}  // namespace

int main(int argc, char** argv) {
  const Flags flags = parse(argc, argv);
  std::vector<Row> rows;
  set_log_level(LogLevel::warning);
  if (!flags.llama_server.empty()) {
    rows = bench::against_llama({flags.llama_server, flags.troupe, flags.model, flags.rounds});
    bench::print("gateway", "beside llama-server", rows, flags.json);
    return 0;
  }
  if (flags.has("gateway")) gateway_alone(flags, rows);
  if (flags.has("cast")) whole_cast(flags, rows);
  if (flags.has("prompt")) long_prompt(flags, rows);
  bench::print("gateway", "simulated device", rows, flags.json);
}
