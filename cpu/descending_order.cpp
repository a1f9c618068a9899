#include "cpu/descending_order.hpp"

#include <algorithm>
#include <limits>

namespace troupe::cpu {
namespace {

/// Lower ends of the bands that are gathered and sorted one after the other.
constexpr float band_ends[] = {0x1p-6f,  0x1p-10f, 0x1p-14f,
                               0x1p-18f, 0x1p-24f, std::numeric_limits<float>::denorm_min()};

}  // namespace

const Candidate* DescendingOrder::at(size_t i) {
  while (i >= sorted_.size() && next_band_ < std::size(band_ends)) {
    const float low = band_ends[next_band_];
    const float high =
        next_band_ == 0 ? std::numeric_limits<float>::infinity() : band_ends[next_band_ - 1];
    ++next_band_;
    const auto begin = static_cast<std::ptrdiff_t>(sorted_.size());
    for (uint32_t id = 0; id < n_; ++id) {
      if (weights_[id] >= low && weights_[id] < high) {
        sorted_.push_back({weights_[id], static_cast<int32_t>(id)});
      }
    }
    std::sort(sorted_.begin() + begin, sorted_.end(), [](const Candidate& a, const Candidate& b) {
      return a.weight != b.weight ? a.weight > b.weight : a.id < b.id;
    });
  }
  return i < sorted_.size() ? &sorted_[i] : nullptr;
}

}  // namespace troupe::cpu
