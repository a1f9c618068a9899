// Hours in minutes: random requests, cancels and preemptions on one engine and the CPU backend. In
// the end every page is accounted for, and the process is no larger than after its first quarter.
//   bench_soak [--json] [--minutes N] [--threads N] [--pages N] [--seed N] [MODEL.gguf]
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "base/concat.hpp"
#include "bench/options.hpp"
#include "bench/report.hpp"
#include "cpu/cpu_backend.hpp"
#include "engine/engine.hpp"
#include "kv/events.hpp"
#include "kv/local_index.hpp"
#include "kv/pool.hpp"
#include "kv/region.hpp"
#include "model/model.hpp"

using namespace troupe;

namespace {

using Clock = std::chrono::steady_clock;

struct Flags {
  bench::ModelOptions common;
  double minutes = 30;
  uint32_t pages = 16;  ///< few, so that sequences push one another out
  uint32_t seed = 1;
};

Flags parse(int argc, char** argv) {
  Flags flags;
  flags.common = bench::parse_options(
      "soak", argc, argv,
      {{"--minutes", [&](const char* value) { flags.minutes = std::atof(value); }},
       {"--pages",
        [&](const char* value) {
          flags.pages = static_cast<uint32_t>(std::max(8, std::atoi(value)));
        }},
       {"--seed",
        [&](const char* value) { flags.seed = static_cast<uint32_t>(std::atoi(value)); }}});
  return flags;
}

[[noreturn]] void fail(const std::string& why) {
  std::fprintf(stderr, "soak: %s\n", why.c_str());
  std::exit(1);
}

double resident_mib() {
  std::ifstream statm("/proc/self/statm");
  long total = 0, resident = 0;
  statm >> total >> resident;
  return static_cast<double>(resident) * static_cast<double>(::sysconf(_SC_PAGESIZE)) / 1048576.0;
}

class Soak {
 public:
  Soak(engine::Backend& backend, const Flags& flags)
      : backend_(backend),
        random_(flags.seed),
        pool_(region_for(backend, flags.pages), backend.kv_layout()),
        index_(pool_, events_),
        engine_(backend, pool_, index_, {.running_max = 12, .chunk_tokens = 64}) {}

  uint64_t added = 0, finished = 0, cancelled = 0;

  /// One step, with what clients do meanwhile.
  void step(bool clients) {
    if (clients && live_.size() < 16 && below(4) == 0) add();
    if (clients && !live_.empty() && below(40) == 0) end_one();
    if (!engine_.has_work()) return;
    engine::StepPlan plan = engine_.plan();
    if (plan.spans.empty()) {
      take(engine_.accept({plan.step, {}, 0}));
      return;
    }
    const auto ticket = backend_.submit(std::move(plan));
    if (!ticket.ok()) fail(ticket.error().message());
    const auto result = backend_.wait(*ticket);
    if (!result.ok()) fail(result.error().message());
    take(engine_.accept(*result));
  }

  void drain() {
    while (engine_.has_work()) step(false);
  }

  /// Nobody holds a page but the index, and without it nobody does.
  void check() {
    if (!live_.empty()) fail(concat(live_.size(), " sequences never ended"));
    if (pool_.num_free() + index_.size() != pool_.num_pages() ||
        index_.num_evictable() != index_.size()) {
      fail(concat(pool_.num_free(), " pages free and ", index_.size(), " indexed (",
                  index_.num_evictable(), " evictable) of ", pool_.num_pages()));
    }
    index_.clear();
    if (pool_.num_free() != pool_.num_pages()) {
      fail(concat(pool_.num_free(), " pages free of ", pool_.num_pages(), " without the index"));
    }
  }

  [[nodiscard]] engine::EngineStats stats() const { return engine_.stats(); }

 private:
  static kv::Region region_for(engine::Backend& backend, uint32_t pages) {
    auto region = kv::allocate_region(pages * backend.kv_layout().block_bytes());
    if (!region.ok()) fail(region.error().message());
    const Status attached = backend.attach_pool(*region);
    if (!attached.ok()) fail(attached.error().message());
    return *region;
  }

  uint32_t below(uint32_t end) { return static_cast<uint32_t>(random_() % end); }

  /// One of eight beginnings with a tail of its own, up to a third of the pool long.
  void add() {
    const uint32_t vocab = backend_.capabilities().vocab_size;
    const uint32_t longest = pool_.num_pages() * 64 / 3;
    std::mt19937 family(below(8));
    engine::SequenceSpec spec;
    const uint32_t shared = 1 + below(longest / 3), tail = below(60);
    for (uint32_t i = 0; i < shared + tail; ++i) {
      spec.tokens.push_back(static_cast<int32_t>((i < shared ? family() : random_()) % vocab));
    }
    spec.num_prompt_tokens = static_cast<uint32_t>(spec.tokens.size());
    spec.sampling.max_tokens = 1 + below(longest);
    spec.sampling.temperature = below(2) == 0 ? 0.0f : 0.8f;
    spec.sampling.top_p = below(3) == 0 ? 0.9f : 1.0f;
    spec.sampling.repetition_penalty = below(4) == 0 ? 1.1f : 1.0f;
    spec.sampling.seed = random_();
    spec.drafts = below(3) != 0;
    spec.prefill_only = below(10) == 0;
    const uint32_t copies = below(5) == 0 ? 3 : 1;
    for (uint32_t choice = 0; choice < copies; ++choice) {
      spec.sampling.choice = choice;
      const auto id = engine_.add(spec);
      if (!id.ok()) fail(id.error().message());
      live_.insert(*id);
      ++added;
    }
  }

  /// A client goes away, or its text came to a stop string.
  void end_one() {
    auto one = live_.begin();
    std::advance(one, below(static_cast<uint32_t>(live_.size())));
    if (below(2) == 0) {
      engine_.cancel(*one);
    } else {
      engine_.finish(*one);
    }
    live_.erase(one);
    ++cancelled;
  }

  void take(const engine::Outcome& outcome) {
    for (const engine::Delta& delta : outcome.deltas) {
      if (delta.error) fail(delta.error->message());
      if (!delta.finish) continue;
      live_.erase(delta.sequence);
      ++finished;
    }
  }

  engine::Backend& backend_;
  std::mt19937 random_;
  kv::EventLog events_{1024};
  kv::Pool pool_;
  kv::LocalIndex index_;
  engine::Engine engine_;
  std::set<engine::SequenceId> live_;
};

}  // namespace

int main(int argc, char** argv) {
  const Flags flags = parse(argc, argv);
  const auto model = model::load_model(flags.common.path, {});
  if (!model.ok()) fail(model.error().message());
  cpu::CpuOptions options;
  options.threads = flags.common.threads;
  const auto backend = cpu::make_cpu_backend(*model, options);
  if (!backend.ok()) fail(backend.error().message());
  Soak soak(**backend, flags);
  const auto start = Clock::now();
  const auto minutes = [&] {
    return std::chrono::duration<double>(Clock::now() - start).count() / 60;
  };
  while (minutes() < flags.minutes / 4) soak.step(true);
  const double early = resident_mib();
  while (minutes() < flags.minutes) soak.step(true);
  soak.drain();
  soak.check();
  const double late = resident_mib();
  const engine::EngineStats stats = soak.stats();
  const std::vector<bench::Row> rows = {
      bench::row("time", {minutes()}, "minutes"),
      bench::row("steps", {static_cast<double>(stats.steps)}, ""),
      bench::row("requests", {static_cast<double>(soak.added)}, ""),
      bench::row("finished", {static_cast<double>(soak.finished)}, ""),
      bench::row("cancelled", {static_cast<double>(soak.cancelled)}, ""),
      bench::at_least(bench::row("preemptions", {static_cast<double>(stats.preemptions)}, ""), 1),
      bench::row("resident after a quarter of the time", {early}, "MiB"),
      bench::at_most(bench::row("growth since", {late - early}, "MiB"), 8)};
  bench::print("soak", cpu::name(options.isa), rows, flags.common.json);
  for (const bench::Row& row : rows) {
    if (!row.ok()) return 1;
  }
  return 0;
}
