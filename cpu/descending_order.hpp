// A vocabulary's weights in the order (weight descending, id ascending), sorted only as far as
// someone looks: most draws end among the first few tokens.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace troupe::cpu {

struct Candidate {
  float weight = 0;
  int32_t id = 0;
};

class DescendingOrder {
 public:
  /// `weights`: [n], each in [0, 1]; borrowed. Weights of zero are not in the order.
  DescendingOrder(const float* weights, uint32_t n) : weights_(weights), n_(n) {}

  /// The i-th candidate, or null when there are fewer.
  const Candidate* at(size_t i);

 private:
  const float* weights_;
  uint32_t n_;
  size_t next_band_ = 0;
  std::vector<Candidate> sorted_;
};

}  // namespace troupe::cpu
