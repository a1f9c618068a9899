// What both ends of a transfer session say to each other.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/clock.hpp"
#include "kv/layout.hpp"
#include "transport/limits.hpp"

namespace troupe::transport {

/// Source to receiver: this block is ready to be read.
struct BlockAnnouncement {
  uint32_t index = 0;             ///< position in the sequence's blocks
  kv::PageId page = kv::no_page;  ///< in the source's pool
  uint32_t checksum = 0;          ///< CRC-32C of the page

  bool operator==(const BlockAnnouncement&) const = default;
};

/// Leases of one end: what was heard when, and when to say something.
class Lease {
 public:
  Lease(TimeUs now, TimeUs lease_us) : lease_us_(lease_us), heard_(now), said_(now) {}

  void heard(TimeUs now) { heard_ = now; }
  void said(TimeUs now) { said_ = now; }
  void set_length(TimeUs lease_us) { lease_us_ = lease_us; }
  [[nodiscard]] bool expired(TimeUs now) const { return now - heard_ >= lease_us_; }
  [[nodiscard]] bool heartbeat_due(TimeUs now) const {
    return now - said_ >= std::min(lease_us_ / 3, limits::heartbeat_us);
  }

 private:
  TimeUs lease_us_;
  TimeUs heard_;
  TimeUs said_;
};

}  // namespace troupe::transport
