#include "kv/frequency_sketch.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

namespace troupe::kv {
namespace {

constexpr uint32_t num_rows = 4;
constexpr uint32_t seen_max = 15;
/// Counters in all rows together, and sightings until they are halved, for each name.
constexpr size_t counters_per_name = 8;
constexpr size_t sightings_per_name = 8;
constexpr size_t names_min = 64;

}  // namespace

FrequencySketch::FrequencySketch(size_t names)
    : mask_(std::bit_ceil(std::max(names, names_min) * counters_per_name) - 1),
      sightings_max_(std::max(names, names_min) * sightings_per_name) {
  pairs_.assign((mask_ + 1) / 2, 0);
}

size_t FrequencySketch::counter(const BlockName& name, uint32_t row) const {
  uint32_t word = 0;
  std::memcpy(&word, name.bytes.data() + row * sizeof word, sizeof word);
  // Names made by tests or by other means than SHA-256 may have little in their first bytes.
  const uint64_t mixed = (uint64_t{word} + row + 1) * 0x9E3779B97F4A7C15u;
  return static_cast<size_t>(mixed >> 20) & mask_;
}

void FrequencySketch::see(const BlockName& name) {
  const uint32_t lowest = seen(name);
  if (lowest < seen_max) {
    for (uint32_t row = 0; row < num_rows; ++row) {
      const size_t at = counter(name, row);
      // Only the lowest ones: the others count somebody else as well.
      if (value(at) == lowest) pairs_[at / 2] += static_cast<uint8_t>(1u << (at % 2 * 4));
    }
  }
  if (++sightings_ >= sightings_max_) halve();
}

uint32_t FrequencySketch::seen(const BlockName& name) const {
  uint32_t lowest = seen_max;
  for (uint32_t row = 0; row < num_rows; ++row) {
    lowest = std::min(lowest, value(counter(name, row)));
  }
  return lowest;
}

void FrequencySketch::halve() {
  for (uint8_t& pair : pairs_) pair = static_cast<uint8_t>((pair >> 1) & 0x77u);
  sightings_ /= 2;
}

}  // namespace troupe::kv
