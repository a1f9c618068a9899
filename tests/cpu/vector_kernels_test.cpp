// The kernels that work along one token: each instruction set against its scalar reference.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "base/half.hpp"
#include "cpu/kernel_table.hpp"
#include "cpu/log_softmax.hpp"
#include "cpu/quantize_activations.hpp"
#include "cpu/rmsnorm.hpp"
#include "cpu/rope.hpp"
#include "cpu/swiglu.hpp"
#include "tests/support/bits.hpp"
#include "tests/support/isas.hpp"

using namespace troupe;
using namespace troupe::cpu;

namespace {

constexpr uint32_t sizes[] = {1, 2, 15, 16, 17, 31, 32, 100, 576, 1001};

/// Random numbers among which every kind of float appears.
std::vector<float> mixed(uint32_t n, uint32_t seed) {
  auto x = testing::random_floats(n, seed, 4.0f);
  const float specials[] = {0.0f, -0.0f, 1e-42f, -3e-45f, 88.0f, -104.5f, 700.0f, -700.0f, 1e30f};
  for (size_t i = 0; i < n; i += 11) x[i] = specials[(i / 11) % std::size(specials)];
  return x;
}

}  // namespace

TEST_CASE("rmsnorm, swiglu and the vocabulary sums equal their references") {
  for (const Isa isa : testing::available_isas()) {
    CAPTURE(std::string(name(isa)));
    const KernelTable& table = kernels(isa);
    for (const uint32_t n : sizes) {
      CAPTURE(n);
      const auto x = mixed(n, n), w = testing::random_floats(n, n + 1);
      std::vector<float> got(n), want(n);
      table.rmsnorm(x.data(), w.data(), 1e-5f, n, got.data());
      reference::rmsnorm(x.data(), w.data(), 1e-5f, n, want.data());
      CHECK(testing::first_difference(got, want) == -1);

      got = x;
      want = x;
      table.swiglu(got.data(), w.data(), n);
      reference::swiglu(want.data(), w.data(), n);
      CHECK(testing::first_difference(got, want) == -1);

      const float highest = table.maximum(x.data(), n);
      CHECK(highest == *std::max_element(x.begin(), x.end()));
      for (const float divisor : {1.0f, 0.7f, 3.0f}) {
        const float sum = table.exp_sum(x.data(), n, divisor, highest, got.data());
        const float right = reference::exp_sum(x.data(), n, divisor, highest, want.data());
        CHECK(testing::same_bits(sum, right));
        CHECK(testing::same_bits(table.exp_sum(x.data(), n, divisor, highest, nullptr), right));
        CHECK(testing::first_difference(got, want) == -1);
      }
    }
  }
}

TEST_CASE("NaN and infinity among logits show in the sum") {
  for (const Isa isa : testing::available_isas()) {
    const KernelTable& table = kernels(isa);
    for (const uint32_t n : {3u, 40u, 333u}) {
      for (const float bad : {NAN, INFINITY}) {
        for (uint32_t at = 0; at < n; at += 7) {
          auto x = testing::random_floats(n, n);
          x[at] = bad;
          const float highest = table.maximum(x.data(), n);
          CHECK(std::isnan(table.exp_sum(x.data(), n, 1.0f, highest, nullptr)));
        }
      }
      const std::vector<float> masked(n, -INFINITY);
      CHECK(std::isnan(table.exp_sum(masked.data(), n, 1.0f, -INFINITY, nullptr)));
    }
  }
}

TEST_CASE("activations are quantised as the numerics page says") {
  std::vector<std::vector<float>> inputs = {
      std::vector<float>(32, 0.0f), std::vector<float>(32, -0.0f), std::vector<float>(32, 5e-45f),
      std::vector<float>(32, 2.66e-43f), std::vector<float>(32, 3e38f)};
  for (uint32_t seed = 0; seed < 50; ++seed) {
    inputs.push_back(testing::random_floats(32, seed, seed % 2 == 0 ? 2.0f : 1e-40f));
  }
  for (const float special : {INFINITY, NAN}) {
    inputs.push_back(testing::random_floats(32, 99));
    inputs.back()[13] = special;
  }
  // Ties: with amax 127 the scale is 1, and halves go to the even neighbour.
  inputs.push_back(std::vector<float>(32, 0.5f));
  inputs.back()[0] = 127.0f;
  inputs.back()[1] = 1.5f;
  inputs.back()[2] = -2.5f;
  for (const Isa isa : testing::available_isas()) {
    CAPTURE(std::string(name(isa)));
    for (const auto& input : inputs) {
      QuantizedBlock got, want;
      kernels(isa).quantize_activations(input.data(), 1, &got);
      reference::quantize_activations(input.data(), 1, &want);
      CHECK(testing::same_bits(got.scale, want.scale));
      CHECK(testing::same_bits(got.scaled_sum, want.scaled_sum));
      CHECK(got.sum == want.sum);
      CHECK(got.first_sum == want.first_sum);
      CHECK(std::memcmp(got.values, want.values, sizeof got.values) == 0);
    }
    QuantizedBlock ties;
    kernels(isa).quantize_activations(inputs.back().data(), 1, &ties);
    CHECK(ties.values[0] == 127);
    CHECK(ties.values[1] == 2);
    CHECK(ties.values[2] == -2);
    CHECK(ties.values[3] == 0);
  }
}

TEST_CASE("rope rotates neighbours or halves, the same on every instruction set") {
  for (const Isa isa : testing::available_isas()) {
    for (const uint32_t dim : {2u, 12u, 64u}) {
      const auto head = testing::random_floats(dim, dim);
      const auto cosine = testing::random_floats(dim / 2, 1),
                 sine = testing::random_floats(dim / 2, 2);
      for (const bool neighbours : {true, false}) {
        auto got = head, want = head;
        kernels(isa).rope(got.data(), cosine.data(), sine.data(), dim, neighbours);
        for (uint32_t i = 0; i < dim / 2; ++i) {
          const uint32_t a = neighbours ? 2 * i : i, b = neighbours ? 2 * i + 1 : i + dim / 2;
          const float left = head[a] * cosine[i], right = head[b] * sine[i];
          const float up = head[a] * sine[i], down = head[b] * cosine[i];
          want[a] = left - right;
          want[b] = up + down;
        }
        CHECK(testing::first_difference(got, want) == -1);
      }
    }
  }
}

TEST_CASE("stored keys and values are rounded to the nearest half, ties to even") {
  for (const Isa isa : testing::available_isas()) {
    const float values[] = {1.0f,     1.00048828125f, 1.00146484375f, 65519.0f,
                            65520.0f, 1e-8f,          -6e-8f,         3e-5f};
    constexpr uint32_t dim = std::size(values);
    std::vector<uint16_t> block(2 * 64 * dim, 0x7e01);
    WriteKvArgs args;
    args.keys = reinterpret_cast<std::byte*>(block.data());
    args.values = reinterpret_cast<std::byte*>(block.data() + 64 * dim);
    args.slot = 5;
    args.head_dim = dim;
    args.key = values;
    args.value = values;
    kernels(isa).write_kv(args);
    for (uint32_t d = 0; d < dim; ++d) {
      CHECK(block[64 * d + 5] == float_to_half(values[d]));
      CHECK(block[64 * dim + 5 * dim + d] == float_to_half(values[d]));
    }
    CHECK(std::count(block.begin(), block.end(), 0x7e01) == 2 * 64 * dim - 2 * dim);
  }
}
