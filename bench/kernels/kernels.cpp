// Speed of the CPU kernels on one thread beside the machine's limits in the same run: reading
// memory (GB/s), and bare loops of the instructions that do the arithmetic (GOP/s of
// multiplications and additions). Rates are per second of CPU time: others may use the machine.
// Whole models: bench_model.
//   bench_kernels [--json]
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <functional>
#include <string>
#include <vector>

#include "base/thread_pool.hpp"
#include "bench/kernels/limits.hpp"
#include "bench/report.hpp"
#include "cpu/cpu_backend.hpp"
#include "cpu/packed_matrix.hpp"

using namespace troupe;
using namespace troupe::cpu;

namespace {

using bench::Row;

double seconds(const std::function<void()>& work) {
  const std::clock_t start = std::clock();
  work();
  return static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
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

/// What the machine can do at most, for the shares that the other rows have of it.
struct Limits {
  double read = 0, byte_products = 0, float_products = 0;
};

Row share_of(Row row, double limit) {
  if (limit > 0) row.share = row.value / limit;
  return row;
}

/// Weights that do not fit into any cache, once through for one token: decoding.
void bench_reading(model::Tensor tensor, const std::string& label, const Limits& limits,
                   std::vector<Row>& rows) {
  constexpr size_t weight_bytes = size_t{96} << 20;
  tensor.rows = static_cast<uint32_t>(weight_bytes / tensor.row_bytes()) / panel_rows * panel_rows;
  const std::vector<std::byte> bytes(tensor.bytes(), std::byte{0x2c});
  tensor.data = bytes.data();
  MemoryArena arena;
  ThreadPool pool(1);
  auto packed = PackedMatrix::pack(tensor, ComputeMode::fast, 0, arena, pool);
  if (!packed.ok()) return;
  const KernelTable& table = kernels(best_isa());
  const std::vector<float> x(tensor.cols, 0.5f);
  std::vector<float> y(tensor.rows);
  std::vector<QuantizedBlock> blocks(x.size() / quant_block);
  table.quantize_activations(x.data(), static_cast<uint32_t>(blocks.size()), blocks.data());
  MatmulArgs args;
  args.matrix = packed->view();
  args.values = x.data();
  args.blocks = blocks.data();
  args.tokens = 1;
  args.out = y.data();
  args.out_stride = tensor.rows;
  args.panel_end = packed->num_panels();
  const double amount = static_cast<double>(packed->bytes()) * 1e-9;
  rows.push_back(share_of(measure(label + " " + name(best_isa()) + " x1 from memory", amount,
                                  "GB/s", [&] { packed->kernel(table)(args); }),
                          limits.read));
}

void bench_matmul(const model::Tensor& tensor, const std::string& label, const Limits& limits,
                  std::vector<Row>& rows) {
  MemoryArena arena;
  ThreadPool pool(1);
  auto packed = PackedMatrix::pack(tensor, ComputeMode::fast, 0, arena, pool);
  if (!packed.ok()) return;
  for (const Isa isa : all_isas) {
    if (!cpu_has(isa)) continue;
    for (const uint32_t tokens : {1u, 4u, 128u}) {
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
      std::vector<CacheLine> strip(matmul_strip_lines(tensor.cols));
      args.strip = strip.data();
      const auto run = [&] { packed->kernel(table)(args); };
      const std::string title = label + " " + name(isa) + " x" + std::to_string(tokens);
      if (tokens == 1) {
        rows.push_back(measure(title, static_cast<double>(packed->bytes()) * 1e-9, "GB/s", run));
      } else {
        const double operations = 2.0 * tensor.rows * tensor.cols * tokens;
        const double limit = packed->quantized() ? limits.byte_products : limits.float_products;
        rows.push_back(share_of(measure(title, operations * 1e-9, "GOP/s", run), limit));
      }
    }
  }
}

void bench_attention(kv::KvType type, Isa isa, uint32_t tokens, const Limits& limits,
                     std::vector<Row>& rows) {
  constexpr uint32_t positions = 1024, head_dim = 64, group = 3;
  const size_t part = kv::stored_bytes(type, head_dim, tile_positions);
  // Any bytes of this kind are numbers of an ordinary size, in each type.
  std::vector<uint16_t> pool(positions / tile_positions * part, 0x2e66);
  std::vector<uint32_t> table;
  for (uint32_t i = 0; i < positions / tile_positions; ++i) table.push_back(i);
  std::vector<float> query(tokens * group * head_dim, 0.1f), out(query.size());
  std::vector<float> scratch(attention_scratch_floats(head_dim, group));
  AttentionArgs args;
  args.pool = reinterpret_cast<const std::byte*>(pool.data());
  args.block_bytes = 2 * part;
  args.block_table = table.data();
  args.v_offset = part;
  args.types = {type, type};
  args.head_dim = head_dim;
  args.group = group;
  args.first_position = positions - tokens;
  args.num_tokens = tokens;
  args.scale = 0.125f;
  args.query = query.data();
  args.out = out.data();
  args.stride = group * head_dim;
  args.scratch = scratch.data();
  const std::string title =
      std::string("attention ") + kv::name(type) + " " + name(isa) + " x" + std::to_string(tokens);
  rows.push_back(share_of(measure(title, 4.0 * positions * head_dim * group * tokens * 1e-9,
                                  "GOP/s", [&] { kernels(isa).attention(args); }),
                          limits.float_products));
}

void bench_attention(const Limits& limits, std::vector<Row>& rows) {
  for (const Isa isa : all_isas) {
    if (isa == Isa::scalar || !cpu_has(isa)) continue;
    for (const kv::KvType type : kv::all_kv_types) {
      for (const uint32_t tokens : {1u, attention_tokens_max}) {
        bench_attention(type, isa, tokens, limits, rows);
      }
    }
  }
}

Limits bench_limits(std::vector<Row>& rows) {
  constexpr size_t read_bytes = size_t{256} << 20;
  MemoryArena arena;  // on huge pages, as weights are
  Result<uint8_t*> memory = arena.take({0, 0, 0, read_bytes});
  if (!memory.ok()) std::abort();
  std::memset(*memory, 1, read_bytes);
  const auto* words = reinterpret_cast<const uint64_t*>(*memory);
  rows.push_back(measure("limit: reading memory", read_bytes * 1e-9, "GB/s", [&] {
    if (bench::sum_of(words, read_bytes / sizeof(uint64_t)) == 0) std::abort();
  }));
  constexpr int rounds = 1 << 20;
  Limits limits;
  limits.read = rows.back().value;
  if (!cpu_has(Isa::avx2)) return limits;
  rows.push_back(measure("limit: maddubs and add, 256 bits", rounds * 8 * 64 * 1e-9, "GOP/s",
                         [] { bench::spin_byte_products(rounds); }));
  limits.byte_products = rows.back().value;
  rows.push_back(measure("limit: fma, 256 bits", rounds * 8 * 16 * 1e-9, "GOP/s",
                         [] { bench::spin_float_products(rounds); }));
  limits.float_products = rows.back().value;
  return limits;
}

}  // namespace

int main(int argc, char** argv) {
  const bool json = argc > 1 && std::strcmp(argv[1], "--json") == 0;
  std::vector<Row> rows;
  const Limits limits = bench_limits(rows);
  using Type = model::TensorType;
  const Type types[] = {Type::f32,  Type::f16,    Type::bf16,   Type::q8_0, Type::q4_0,
                        Type::q4_1, Type::q5_0,   Type::q5_1,   Type::q4_k, Type::q5_k,
                        Type::q6_k, Type::iq4_nl, Type::iq4_xs, Type::mxfp4};
  for (const model::TensorType type : types) {
    model::Tensor tensor;
    tensor.type = type;
    tensor.rows = tensor.cols = 1536;
    const std::vector<std::byte> bytes(tensor.bytes(), std::byte{0x2c});
    tensor.data = bytes.data();
    const std::string label = std::string("matmul ") + model::info(type).name;
    bench_reading(tensor, label, limits, rows);
    bench_matmul(tensor, label, limits, rows);
  }
  bench_attention(limits, rows);
  bench::print("kernels", name(best_isa()), rows, json);
  return 0;
}
