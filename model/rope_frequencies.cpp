#include "model/rope_frequencies.hpp"

#include <bit>
#include <limits>

namespace troupe::model {
namespace {

// A number as the unevaluated sum of two doubles: about 106 bits. One double is not enough here:
// the rounding of y * log(x) alone would become a relative error of 3e-15 in exp of it.
struct Pair {
  double high = 0.0;
  double low = 0.0;
};

// Exact sum (Knuth): high + low == a + b.
Pair two_sum(double a, double b) {
  const double high = a + b;
  const double b_part = high - a;
  return {high, (a - (high - b_part)) + (b - b_part)};
}

// Exact product (Dekker, Veltkamp): needs |a|, |b| far below 2^996.
Pair two_product(double a, double b) {
  constexpr double splitter = 134217729.0;  // 2^27 + 1
  const double a_scaled = splitter * a;
  const double a_high = a_scaled - (a_scaled - a);
  const double a_low = a - a_high;
  const double b_scaled = splitter * b;
  const double b_high = b_scaled - (b_scaled - b);
  const double b_low = b - b_high;
  const double high = a * b;
  const double low = a_low * b_low - (((high - a_high * b_high) - a_low * b_high) - a_high * b_low);
  return {high, low};
}

Pair add(Pair a, Pair b) {
  const Pair s = two_sum(a.high, b.high);
  return two_sum(s.high, s.low + (a.low + b.low));
}

Pair multiply(Pair a, Pair b) {
  const Pair p = two_product(a.high, b.high);
  return two_sum(p.high, p.low + (a.high * b.low + a.low * b.high));
}

Pair divide(Pair a, Pair b) {
  const double first = a.high / b.high;
  const Pair product = multiply({first, 0.0}, b);
  const Pair rest = add(a, {-product.high, -product.low});
  const double second = rest.high / b.high;
  return two_sum(first, second);
}

constexpr Pair ln2 = {0x1.62e42fefa39efp-1, 0x1.abc9e3b39803fp-56};

/// log of a normal positive number: k ln 2 + 2 atanh((m - 1) / (m + 1)), m near 1.
Pair natural_log(double x) {
  const auto bits = std::bit_cast<uint64_t>(x);
  int exponent = static_cast<int>(bits >> 52) - 1023;
  double m = std::bit_cast<double>((bits & 0xfffffffffffffu) | (uint64_t{1023} << 52));
  if (m > 1.4142135623730951) {
    m *= 0.5;
    ++exponent;
  }
  const Pair s = divide({m - 1.0, 0.0}, two_sum(m, 1.0));
  const Pair square = multiply(s, s);
  // |s| <= 0.1716: the term after s^45 / 45 is below 2^-120.
  Pair sum = {0.0, 0.0};
  for (int n = 45; n >= 1; n -= 2) {
    const Pair coefficient = divide({1.0, 0.0}, {static_cast<double>(n), 0.0});
    sum = add(multiply(sum, square), coefficient);
  }
  const Pair log_m = multiply(multiply(sum, s), {2.0, 0.0});
  return add(multiply(ln2, {static_cast<double>(exponent), 0.0}), log_m);
}

/// 2^k for -1022 <= k <= 1023.
double power_of_two(int k) {
  return std::bit_cast<double>(static_cast<uint64_t>(k + 1023) << 52);
}

double exponential(Pair x) {
  if (x.high > 709.0) return std::numeric_limits<double>::infinity();
  if (x.high < -708.0) return 0.0;
  const double quotient = x.high / ln2.high;
  const int k = static_cast<int>(quotient + (quotient < 0.0 ? -0.5 : 0.5));
  const Pair multiple = multiply(ln2, {static_cast<double>(k), 0.0});
  const Pair r = add(x, {-multiple.high, -multiple.low});
  // |r| <= 0.35: r^27 / 27! is below 2^-130.
  Pair sum = {1.0, 0.0};
  for (int n = 26; n >= 1; --n) {
    sum = add({1.0, 0.0}, divide(multiply(sum, r), {static_cast<double>(n), 0.0}));
  }
  return (sum.high + sum.low) * power_of_two(k);
}

}  // namespace

double power(double x, double y) {
  return exponential(multiply(natural_log(x), {y, 0.0}));
}

double logarithm(double x) {
  const Pair log = natural_log(x);
  return log.high + log.low;
}

std::vector<double> rope_inverse_frequencies(double base, uint32_t dim) {
  std::vector<double> frequencies;
  frequencies.reserve(dim / 2);
  const Pair log_base = natural_log(base);
  for (uint32_t i = 0; i < dim; i += 2) {
    const double exponent = -static_cast<double>(i) / static_cast<double>(dim);
    frequencies.push_back(exponential(multiply(log_base, {exponent, 0.0})));
  }
  return frequencies;
}

}  // namespace troupe::model
