// The general attention kernel: the bits of the plain one where nothing is asked for, and close to
// a plain computation in double where something is.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "cpu/attention_general.hpp"
#include "cpu/kernel_table.hpp"
#include "cpu/select_positions.hpp"
#include "tests/support/bits.hpp"
#include "tests/support/isas.hpp"

using namespace troupe;
using namespace troupe::cpu;

namespace {

constexpr uint32_t dim = 32, group = 2, positions = 1500, tokens = 3;
constexpr size_t k_elements = size_t{dim} * 64, block_elements = 2 * k_elements;

struct Pool {
  std::vector<float> memory;
  std::vector<uint32_t> pages;

  Pool() {
    const uint32_t blocks = (positions + 63) / 64;
    memory = testing::random_floats(blocks * block_elements, 7);
    for (uint32_t i = 0; i < blocks; ++i) pages.push_back(blocks - 1 - i);
  }
  [[nodiscard]] float key(uint32_t p, uint32_t d) const {
    return memory[pages[p / 64] * block_elements + d * 64 + p % 64];
  }
  [[nodiscard]] float value(uint32_t p, uint32_t d) const {
    return memory[pages[p / 64] * block_elements + k_elements + p % 64 * dim + d];
  }
};

GeneralAttentionArgs args_for(const Pool& pool, const std::vector<float>& query,
                              std::vector<float>& out, std::vector<float>& scratch) {
  GeneralAttentionArgs a;
  a.pool = reinterpret_cast<const std::byte*>(pool.memory.data());
  a.block_bytes = block_elements * sizeof(float);
  a.block_table = pool.pages.data();
  a.v_offset = k_elements * sizeof(float);
  a.types = {kv::KvType::f32, kv::KvType::f32};
  a.key_dim = a.value_dim = dim;
  a.group = group;
  a.first_position = positions - tokens;
  a.num_tokens = tokens;
  a.scale = 0.3f;
  a.query = query.data();
  a.query_stride = a.out_stride = size_t{group} * dim;
  out.assign(tokens * a.out_stride, 0.0f);
  a.out = out.data();
  scratch.assign(general_attention_scratch_floats(dim, dim, group), 0.0f);
  a.scratch = scratch.data();
  return a;
}

/// In double, by the definition.
std::vector<double> expected(const Pool& pool, const GeneralAttentionArgs& a, uint32_t query) {
  const uint32_t token = query / group, position = a.first_position + token;
  const float* q = a.query + token * a.query_stride + size_t{query % group} * dim;
  std::vector<double> sum(dim);
  double total = a.sinks != nullptr ? std::exp(double{a.sinks[query % group]}) : 0.0;
  for (uint32_t p = 0; p <= position; ++p) {
    if (a.window != 0 && p + a.window <= position) continue;
    if (a.selected != nullptr &&
        (a.selected[token * a.selected_stride + p / 64] >> (p % 64) & 1) == 0) {
      continue;
    }
    double score = 0.0;
    for (uint32_t d = 0; d < dim; ++d) score += double{q[d]} * pool.key(p, d);
    score *= a.scale;
    if (a.cap > 0.0f) score = a.cap * std::tanh(score / a.cap);
    const double weight = std::exp(score);
    total += weight;
    for (uint32_t d = 0; d < dim; ++d) {
      sum[d] += weight * (a.value_in_key ? pool.key(p, d) : pool.value(p, d));
    }
  }
  for (double& s : sum) s /= total;
  return sum;
}

void check_close(const Pool& pool, const GeneralAttentionArgs& a) {
  for (uint32_t query = 0; query < tokens * group; ++query) {
    const std::vector<double> want = expected(pool, a, query);
    for (uint32_t d = 0; d < dim; ++d) {
      CHECK(a.out[size_t{query} * dim + d] == doctest::Approx(want[d]).epsilon(1e-3));
    }
  }
}

}  // namespace

TEST_CASE("nothing asked for: the bits of the plain kernel") {
  const Pool pool;
  const std::vector<float> query = testing::random_floats(size_t{tokens} * group * dim, 3);
  for (const Isa isa : testing::available_isas()) {
    std::vector<float> out, scratch, plain_out(query.size());
    const GeneralAttentionArgs a = args_for(pool, query, out, scratch);
    kernels(isa).general_attention(a);
    AttentionArgs plain;
    plain.pool = a.pool;
    plain.block_bytes = a.block_bytes;
    plain.block_table = a.block_table;
    plain.v_offset = a.v_offset;
    plain.types = a.types;
    plain.head_dim = dim;
    plain.group = group;
    plain.first_position = a.first_position;
    plain.num_tokens = tokens;
    plain.scale = a.scale;
    plain.query = a.query;
    plain.stride = a.query_stride;
    plain.out = plain_out.data();
    std::vector<float> plain_scratch(attention_scratch_floats(dim, group));
    plain.scratch = plain_scratch.data();
    kernels(isa).attention(plain);
    CHECK(testing::first_difference(out, plain_out) == -1);
  }
}

TEST_CASE("windows, caps, sinks, selections and values in keys, on every instruction set") {
  const Pool pool;
  const std::vector<float> query = testing::random_floats(size_t{tokens} * group * dim, 3);
  const std::vector<float> sinks = {1.5f, -2.0f};
  constexpr size_t stride = (positions + 63) / 64;
  std::vector<uint64_t> selected(tokens * stride), ranks;
  const std::vector<float> scores = testing::random_floats(positions, 11);
  for (uint32_t t = 0; t < tokens; ++t) {
    select_positions(scores.data(), positions - tokens + t + 1, 90, &selected[t * stride], ranks);
  }
  for (int asked = 0; asked < 32; ++asked) {
    std::vector<float> first;
    for (const Isa isa : testing::available_isas()) {
      std::vector<float> out, scratch;
      GeneralAttentionArgs a = args_for(pool, query, out, scratch);
      if (asked & 1) a.window = 70;
      if (asked & 2) a.cap = 1.5f;
      if (asked & 4) a.sinks = sinks.data();
      if ((asked & 8) != 0 && (asked & 1) == 0) {
        a.selected = selected.data();
        a.selected_stride = stride;
      }
      a.value_in_key = (asked & 16) != 0;
      kernels(isa).general_attention(a);
      CAPTURE(asked);
      check_close(pool, a);
      if (first.empty()) first = out;
      CHECK(testing::first_difference(first, out) == -1);
      // In pieces, the last split first.
      constexpr uint32_t splits = (positions - 1) / split_positions + 1;
      std::vector<float> partial(general_attention_partial_floats(dim, tokens * group, splits),
                                 NAN);
      std::fill(out.begin(), out.end(), NAN);
      a.partial = partial.data();
      for (uint32_t split = splits; split-- > 0;) {
        a.first_split = split;
        a.end_split = split + 1;
        kernels(isa).general_attention(a);
      }
      kernels(isa).merge_general_attention(a);
      CHECK(testing::first_difference(first, out) == -1);
    }
  }
}

TEST_CASE("the best positions, ties to the lower, all where there are no more") {
  const std::vector<float> scores = {1.0f, 3.0f, 2.0f, 3.0f, -0.0f, 0.0f, NAN, 2.0f};
  std::vector<uint64_t> ranks;
  uint64_t bits = 0;
  select_positions(scores.data(), 8, 3, &bits, ranks);
  CHECK(bits == 0b01001010u);
  select_positions(scores.data(), 6, 5, &bits, ranks);
  CHECK(bits == 0b00011111u);
  select_positions(scores.data(), 8, 8, &bits, ranks);
  CHECK((bits & 0xff) == 0xff);
}
