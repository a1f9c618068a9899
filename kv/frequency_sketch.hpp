// How often names were seen lately, in half a byte each: a count-min sketch whose counters are
// halved after a number of sightings (the idea is TinyLFU's: Einziger, Friedman, Manes 2017).
#pragma once

#include <cstdint>
#include <vector>

#include "kv/block_name.hpp"

namespace troupe::kv {

class FrequencySketch {
 public:
  /// For about `names` different names; 4 to 8 bytes each.
  explicit FrequencySketch(size_t names);

  void see(const BlockName& name);
  /// At least as often as it was seen since it was last forgotten, at most 15.
  [[nodiscard]] uint32_t seen(const BlockName& name) const;
  [[nodiscard]] size_t bytes() const { return pairs_.size(); }

 private:
  /// Which of 2^n counters the name has in one row; rows use different bytes of the name, which
  /// are uniform by construction.
  [[nodiscard]] size_t counter(const BlockName& name, uint32_t row) const;
  [[nodiscard]] uint32_t value(size_t counter) const {
    return (pairs_[counter / 2] >> (counter % 2 * 4)) & 15u;
  }
  void halve();

  std::vector<uint8_t> pairs_;
  size_t mask_;
  size_t sightings_ = 0;
  size_t sightings_max_;
};

}  // namespace troupe::kv
