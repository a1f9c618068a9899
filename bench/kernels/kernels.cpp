// Speed of the CPU kernels, each as a share of what matters to it (GB/s of weights read, GOP/s of
// multiplications and additions), then of the whole model: prefill and decode in tokens/s.
//   bench_kernels [--json] [MODEL.gguf]     (default weights/SmolLM2-135M-Instruct.Q4_1.gguf)
#include <chrono>
#include <cstdio>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "base/thread_pool.hpp"
#include "bench/report.hpp"
#include "cpu/cpu_backend.hpp"
#include "cpu/packed_matrix.hpp"
#include "kv/region.hpp"
#include "model/model.hpp"

using namespace troupe;
using namespace troupe::cpu;

namespace {

using bench::Row;

double seconds(const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// Median, lowest and highest of amount / time over five runs of at least 50 ms.
Row measure(std::string name, double amount, const char* unit, const std::function<void()>& work) {
  int repeats = 1;
  while (seconds([&] {
           for (int i = 0; i < repeats; ++i) work();
         }) < 0.05)
    repeats *= 2;
  std::vector<double> rates;
  for (int run = 0; run < 5; ++run) {
    rates.push_back(amount * repeats / seconds([&] {
                      for (int i = 0; i < repeats; ++i) work();
                    }));
  }
  return bench::row(std::move(name), std::move(rates), unit);
}

void bench_matmul(const model::Tensor& tensor, const std::string& label, std::vector<Row>& rows) {
  WeightArena arena;
  ThreadPool pool(1);
  auto packed = PackedMatrix::pack(tensor, ComputeMode::fast, 0, arena, pool);
  if (!packed.ok()) return;
  for (const Isa isa : {Isa::scalar, Isa::avx2, Isa::avx512}) {
    if (!cpu_has(isa)) continue;
    for (const uint32_t tokens : {1u, 128u}) {
      if (isa == Isa::scalar && tokens > 1) continue;
      const KernelTable& table = kernels(isa);
      std::vector<float> x(size_t{tokens} * tensor.cols, 0.5f);
      std::vector<float> y(size_t{tokens} * tensor.rows);
      std::vector<QuantizedBlock> blocks(x.size() / quant_block);
      table.quantize_activations(x.data(), static_cast<uint32_t>(blocks.size()), blocks.data());
      MatmulArgs args;
      args.matrix = packed->view();
      args.values = x.data();
      args.blocks = blocks.data();
      args.tokens = tokens;
      args.out = y.data();
      args.out_stride = tensor.rows;
      args.panel_end = packed->num_panels();
      const auto run = [&] { packed->kernel(table)(args); };
      const std::string title = label + " " + name(isa) + " x" + std::to_string(tokens);
      if (tokens == 1) {
        rows.push_back(measure(title, static_cast<double>(packed->bytes()) * 1e-9, "GB/s", run));
      } else {
        const double operations = 2.0 * tensor.rows * tensor.cols * tokens;
        rows.push_back(measure(title, operations * 1e-9, "GOP/s", run));
      }
    }
  }
}

void bench_attention(std::vector<Row>& rows) {
  constexpr uint32_t positions = 1024, head_dim = 64, group = 3;
  for (const Isa isa : {Isa::avx2, Isa::avx512}) {
    if (!cpu_has(isa)) continue;
    for (const uint32_t tokens : {1u, attention_tokens_max}) {
      std::vector<uint16_t> pool(2 * positions * head_dim, 0x2e66);
      std::vector<uint32_t> table;
      for (uint32_t i = 0; i < positions / tile_positions; ++i) table.push_back(i);
      std::vector<float> query(tokens * group * head_dim, 0.1f), out(query.size());
      std::vector<float> scratch(attention_scratch_floats(head_dim, group));
      AttentionArgs args;
      args.pool = reinterpret_cast<const std::byte*>(pool.data());
      args.block_bytes = 2 * tile_positions * head_dim * sizeof(uint16_t);
      args.block_table = table.data();
      args.v_index = tile_positions * head_dim;
      args.head_dim = head_dim;
      args.group = group;
      args.first_position = positions - tokens;
      args.num_tokens = tokens;
      args.scale = 0.125f;
      args.query = query.data();
      args.out = out.data();
      args.stride = group * head_dim;
      args.scratch = scratch.data();
      rows.push_back(
          measure(std::string("attention f16 ") + name(isa) + " x" + std::to_string(tokens),
                  4.0 * positions * head_dim * group * tokens * 1e-9, "GOP/s",
                  [&] { kernels(isa).attention(args); }));
    }
  }
}

/// Prefill of 512 tokens in one step, then 128 decode steps, on a fresh pool.
void bench_model(const std::shared_ptr<const model::Model>& model, int threads,
                 std::vector<Row>& rows) {
  CpuOptions options;
  options.threads = threads;
  auto backend = make_cpu_backend(model, options);
  if (!backend.ok()) return;
  constexpr uint32_t prompt = 512, output = 128;
  auto region = kv::allocate_region((prompt + output) / 64 * (*backend)->kv_layout().block_bytes());
  if (!region.ok() || !(*backend)->attach_pool(*region).ok()) return;
  engine::SamplingParams sampling;
  sampling.temperature = 0;
  const auto step = [&](uint32_t first, uint32_t count) {
    engine::Span span;
    span.first_position = first;
    for (uint32_t i = 0; i < count; ++i) {
      span.tokens.push_back(
          {static_cast<int32_t>((first + i) * 31 % model->config.vocab_size), -1});
    }
    for (uint32_t i = 0; i < (prompt + output) / 64; ++i) span.block_table.push_back(i);
    span.num_draws = 1;
    span.sampling = &sampling;
    engine::StepPlan plan;
    plan.spans = {std::move(span)};
    auto ticket = (*backend)->submit(std::move(plan));
    if (ticket.ok()) (void)(*backend)->wait(*ticket);
  };
  const std::string suffix = ", threads " + std::to_string(threads);
  rows.push_back(measure("prefill 512" + suffix, prompt, "tokens/s", [&] { step(0, prompt); }));
  rows.push_back(measure("decode 128" + suffix, output, "tokens/s", [&] {
    for (uint32_t i = 0; i < output; ++i) step(prompt + i, 1);
  }));
}

}  // namespace

int main(int argc, char** argv) {
  std::string path = "weights/SmolLM2-135M-Instruct.Q4_1.gguf";
  bool json = false;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--json") == 0) {
      json = true;
    } else {
      path = argv[i];
    }
  }
  std::vector<Row> rows;
  const model::TensorType types[] = {model::TensorType::f32, model::TensorType::f16,
                                     model::TensorType::q8_0, model::TensorType::q4_1};
  for (const model::TensorType type : types) {
    model::Tensor tensor;
    tensor.type = type;
    tensor.rows = tensor.cols = 1536;
    const std::vector<std::byte> bytes(tensor.bytes(), std::byte{0x2c});
    tensor.data = bytes.data();
    bench_matmul(tensor, std::string("matmul ") + model::info(type).name, rows);
  }
  bench_attention(rows);
  auto model = model::load_model(path);
  if (model.ok()) {
    for (const int threads : {1, 2}) bench_model(*model, threads, rows);
  } else {
    std::fprintf(stderr, "%s\n", model.error().message().c_str());
  }
  bench::print("kernels", name(best_isa()), rows, json);
  return model.ok() ? 0 : 1;
}
