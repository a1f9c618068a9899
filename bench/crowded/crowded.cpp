// Decode beside busy processes that want the same cores: tokens/s alone, with N of them, and the
// ratio of what the engine keeps to its fair share, which is cores / (threads + N) of what it has
// alone. A pool whose threads wait for one another by spinning keeps a small part of it.
//   bench_crowded [--json] [--threads N] [--seconds N] [--rounds N] [MODEL.gguf]
// Runs alone and crowded alternate. Other programs on the machine take from both.
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "base/thread_pool.hpp"
#include "bench/options.hpp"
#include "bench/report.hpp"
#include "cpu/cpu_backend.hpp"
#include "kv/region.hpp"
#include "model/model.hpp"

using namespace troupe;

namespace {

struct Flags {
  bench::ModelOptions common;
  int rounds = 3;
  double seconds = 2;
};

Flags parse(int argc, char** argv) {
  Flags flags;
  flags.common = bench::parse_options(
      "crowded", argc, argv,
      {{"--seconds", [&](const char* value) { flags.seconds = std::atof(value); }},
       {"--rounds", [&](const char* value) { flags.rounds = std::max(1, std::atoi(value)); }}});
  return flags;
}

/// Processes that do nothing but use a core each, until this is gone.
class BusyProcesses {
 public:
  explicit BusyProcesses(int count) {
    for (int i = 0; i < count; ++i) {
      const pid_t child = ::fork();
      if (child == 0) {
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (;;) __asm__ volatile("");
      }
      if (child > 0) children_.push_back(child);
    }
  }
  ~BusyProcesses() {
    for (const pid_t child : children_) ::kill(child, SIGKILL);
    for (const pid_t child : children_) ::waitpid(child, nullptr, 0);
  }
  BusyProcesses(const BusyProcesses&) = delete;
  BusyProcesses& operator=(const BusyProcesses&) = delete;

 private:
  std::vector<pid_t> children_;
};

/// Tokens/s of one sequence, decoded again and again from its start for some seconds.
double decode_rate(engine::Backend& backend, double seconds) {
  constexpr uint32_t depth = 128;
  engine::SamplingParams sampling;
  sampling.temperature = 0;
  const auto start = std::chrono::steady_clock::now();
  double spent = 0;
  uint64_t tokens = 0;
  for (; spent < seconds; ++tokens) {
    engine::StepPlan plan;
    engine::Span span;
    span.first_position = static_cast<uint32_t>(tokens % depth);
    span.tokens = {{static_cast<int32_t>(tokens % backend.capabilities().vocab_size), -1}};
    span.block_table = {0, 1};
    span.num_draws = 1;
    span.sampling = &sampling;
    plan.spans.push_back(std::move(span));
    const auto ticket = backend.submit(std::move(plan));
    if (!ticket.ok() || !backend.wait(*ticket).ok()) {
      std::fprintf(stderr, "crowded: a step failed\n");
      std::exit(1);
    }
    spent = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }
  return static_cast<double>(tokens) / spent;
}

}  // namespace

int main(int argc, char** argv) {
  const Flags flags = parse(argc, argv);
  const auto model = model::load_model(flags.common.path, {});
  if (!model.ok()) {
    std::fprintf(stderr, "%s\n", model.error().message().c_str());
    return 1;
  }
  cpu::CpuOptions options;
  options.threads = flags.common.threads;
  const auto backend = cpu::make_cpu_backend(*model, options);
  if (!backend.ok()) {
    std::fprintf(stderr, "%s\n", backend.error().message().c_str());
    return 1;
  }
  const auto region = kv::allocate_region(2 * (*backend)->kv_layout().block_bytes());
  if (!region.ok() || !(*backend)->attach_pool(*region).ok()) return 1;

  const int cores = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  const int threads = ThreadPool::threads_of(flags.common.threads);
  std::vector<bench::Row> rows;
  std::vector<double> alone;
  decode_rate(**backend, flags.seconds / 4);
  for (const int busy : {1, cores, 2 * cores, 4 * cores}) {
    std::vector<double> crowded, shares;
    const double fair = std::min(1.0, static_cast<double>(cores) / (threads + busy));
    for (int round = 0; round < flags.rounds; ++round) {
      alone.push_back(decode_rate(**backend, flags.seconds));
      const BusyProcesses others(busy);
      crowded.push_back(decode_rate(**backend, flags.seconds));
      shares.push_back(crowded.back() / alone.back() / fair);
    }
    const std::string with = "with " + std::to_string(busy) + " busy";
    rows.push_back(bench::row(with, std::move(crowded), "tokens/s"));
    rows.push_back(
        bench::at_least(bench::row(with + ", of the fair share", std::move(shares), ""), 0.5));
  }
  rows.insert(rows.begin(), bench::row("alone", std::move(alone), "tokens/s"));
  bench::print("crowded",
               std::string(cpu::name(options.isa)) + ", " + std::to_string(threads) + " threads",
               rows, flags.common.json);
  return 0;
}
