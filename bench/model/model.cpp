// Speed of a whole model on the CPU backend, without actors: prefill, decode near and far from the
// start, batches that share a prompt. Rates are tokens/s of wall-clock time, and of CPU time where
// the row's name ends in "/cpu" (one thread's worth: it tells more where others use the machine).
//   bench_model [--json] [--threads N] [--repeats N] [--rows pp512,tg128] [MODEL.gguf]
// Rows: ppN (prompt of N tokens), tgN (N tokens one by one), tg@N (32 tokens at depth N), batchN (N
// sequences of 64 new tokens behind one prompt of 512).
#include "model/model.hpp"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <functional>
#include <sstream>
#include <string>
#include <vector>

#include "bench/options.hpp"
#include "bench/report.hpp"
#include "cpu/cpu_backend.hpp"
#include "cpu/pack_file.hpp"
#include "kv/region.hpp"

using namespace troupe;

namespace {

constexpr uint32_t page_tokens = 64;
constexpr uint32_t shared_prompt = 512, batch_output = 64, output_at_depth = 32;
constexpr uint32_t chunk_tokens = 512;

struct Times {
  double wall = 0, cpu = 0;
};

Times time_of(const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  const std::clock_t cpu = std::clock();
  work();
  return {std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(),
          static_cast<double>(std::clock() - cpu) / CLOCKS_PER_SEC};
}

class Workload {
 public:
  explicit Workload(engine::Backend& backend) : backend_(backend) { sampling_.temperature = 0; }

  /// `count` tokens of one sequence from position `first`; its own pages follow the shared ones.
  [[nodiscard]] engine::Span span(uint32_t first, uint32_t count, uint32_t sequence = 0) const {
    const uint32_t vocab = backend_.capabilities().vocab_size;
    engine::Span made;
    made.first_position = first;
    for (uint32_t i = 0; i < count; ++i) {
      made.tokens.push_back({static_cast<int32_t>((first + i + 7 * sequence) * 31 % vocab), -1});
    }
    const uint32_t shared = shared_prompt / page_tokens;
    const uint32_t groups = backend_.kv_layout().num_groups();
    for (uint32_t group = 0; group < groups; ++group) {
      for (uint32_t block = 0; block * page_tokens < first + count; ++block) {
        made.block_table.push_back((block < shared ? block : block + sequence) * groups + group);
      }
    }
    made.num_draws = 1;
    made.sampling = &sampling_;
    return made;
  }

  void step(std::vector<engine::Span> spans) {
    engine::StepPlan plan;
    plan.spans = std::move(spans);
    auto ticket = backend_.submit(std::move(plan));
    if (!ticket.ok() || !backend_.wait(*ticket).ok()) {
      std::fprintf(stderr, "model: a step failed\n");
      std::exit(1);
    }
  }

  void prefill(uint32_t tokens) {
    for (uint32_t at = 0; at < tokens; at += chunk_tokens) {
      step({span(at, std::min(chunk_tokens, tokens - at))});
    }
  }

  void decode(uint32_t depth, uint32_t tokens, uint32_t sequences) {
    for (uint32_t i = 0; i < tokens; ++i) {
      std::vector<engine::Span> spans;
      for (uint32_t s = 0; s < sequences; ++s) spans.push_back(span(depth + i, 1, s));
      step(std::move(spans));
    }
  }

 private:
  engine::Backend& backend_;
  engine::SamplingParams sampling_;
};

/// Adds the row's wall-clock and CPU rates; false: a name that is no row.
bool measure(const std::string& name, Workload& work, int repeats, std::vector<bench::Row>& rows) {
  const bool prompt = name.rfind("pp", 0) == 0, deep = name.rfind("tg@", 0) == 0;
  const bool decode = name.rfind("tg", 0) == 0, batch = name.rfind("batch", 0) == 0;
  const size_t prefix = batch ? 5 : (deep ? 3 : 2);
  const int number = name.size() > prefix ? std::atoi(name.c_str() + prefix) : 0;
  if (number < 1 || !(prompt || decode || batch)) return false;
  const auto n = static_cast<uint32_t>(number);
  const uint32_t sequences = batch ? n : 1;
  const uint32_t depth = deep ? n : (batch ? shared_prompt : 0);
  const uint32_t tokens = deep ? output_at_depth : (batch ? batch_output : n);
  if (depth > 0) work.prefill(depth);
  std::vector<double> wall, cpu;
  for (int run = -1; run < repeats; ++run) {
    const Times times = time_of([&] {
      if (prompt) {
        work.prefill(n);
      } else {
        work.decode(depth, tokens, sequences);
      }
    });
    if (run < 0) continue;  // the first warms up
    wall.push_back(tokens * sequences / times.wall);
    cpu.push_back(tokens * sequences / times.cpu);
  }
  rows.push_back(bench::row(name, std::move(wall), "tokens/s"));
  rows.push_back(bench::row(name + "/cpu", std::move(cpu), "tokens/s"));
  return true;
}

struct Flags {
  bench::ModelOptions common;
  std::string rows = "pp512,pp4096,tg128,tg@4096,batch8,batch32";
  int repeats = 3;
};

Flags parse(int argc, char** argv) {
  Flags flags;
  flags.common = bench::parse_options(
      "model", argc, argv,
      {{"--repeats", [&](const char* value) { flags.repeats = std::max(1, std::atoi(value)); }},
       {"--rows", [&](const char* value) { flags.rows = value; }}});
  return flags;
}

}  // namespace

int main(int argc, char** argv) {
  const Flags flags = parse(argc, argv);
  std::vector<bench::Row> rows;
  cpu::CpuOptions options;
  options.threads = flags.common.threads;
  Result<std::shared_ptr<const model::Model>> model = Error{};
  const Times loading = time_of([&] {
    options.pack = cpu::find_pack(flags.common.path, options.mode);
    options.pack_use = cpu::pack_use(true);
    model = model::load_model(flags.common.path, {}, cpu::known_digest(options.pack));
  });
  if (!model.ok()) {
    std::fprintf(stderr, "%s\n", model.error().message().c_str());
    return 1;
  }
  Result<std::unique_ptr<engine::Backend>> backend = Error{};
  const Times packing = time_of([&] { backend = cpu::make_cpu_backend(*model, options); });
  if (!backend.ok()) {
    std::fprintf(stderr, "%s\n", backend.error().message().c_str());
    return 1;
  }
  rows.push_back(bench::row("load", {loading.wall * 1e3}, "ms"));
  rows.push_back(bench::row("pack", {packing.wall * 1e3}, "ms"));
  const uint32_t pages = (8192 + 64 * 256) / page_tokens * (*backend)->kv_layout().num_groups();
  auto region = kv::allocate_region(pages * (*backend)->kv_layout().block_bytes());
  if (!region.ok() || !(*backend)->attach_pool(*region).ok()) return 1;
  Workload work(**backend);
  std::istringstream names(flags.rows);
  for (std::string name; std::getline(names, name, ',');) {
    if (measure(name, work, flags.repeats, rows)) continue;
    std::fprintf(stderr, "model: there is no row %s\n", name.c_str());
    return 2;
  }
  bench::print("model", cpu::name(options.isa), rows, flags.common.json);
  return 0;
}
