// Inverse frequencies of rotary position embedding, in double and without libm, so that every
// machine resolves the same bits (docs/numerics.md sections 1 and 5).
#pragma once

#include <cstdint>
#include <vector>

namespace troupe::model {

/// x^y for finite x > 0 and |y| at most 2^20. The result is rounded from about 100 bits; 0 or
/// infinity where it leaves the range of normal doubles.
double power(double x, double y);

/// Natural logarithm of a normal positive number, rounded from about 100 bits.
double logarithm(double x);

/// [dim / 2]: base^(-2i / dim). `dim` is even, `base` >= 1.
std::vector<double> rope_inverse_frequencies(double base, uint32_t dim);

}  // namespace troupe::model
