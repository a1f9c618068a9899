// What both ends of a transfer session say to each other.
#pragma once

#include <cstdint>

#include "base/clock.hpp"
#include "kv/block_name.hpp"
#include "kv/layout.hpp"

namespace troupe::transport {

/// Source to receiver: this block is ready to be read.
struct BlockAnnouncement {
  uint32_t index = 0;  ///< position in the sequence of the session's blocks, from 0
  kv::BlockName name;
  kv::PageId page = kv::no_page;  ///< in the source's pool
  uint32_t checksum = 0;          ///< CRC-32C of the page

  bool operator==(const BlockAnnouncement&) const = default;
};

/// What one end has to send to the other.
struct SessionMessages {
  bool heartbeat = false;  ///< "still here": renews the lease at the other end
  bool cancel = false;     ///< "cancelled, stop"
  bool failed = false;     ///< "failed, do not wait"
  bool done = false;       ///< receiver: "all verified, you may forget it"
};

/// Leases of one end: what was heard when, and when to say something.
class Lease {
 public:
  Lease(TimeUs now, TimeUs lease_us) : lease_us_(lease_us), heard_(now), said_(now) {}

  void heard(TimeUs now) { heard_ = now; }
  void said(TimeUs now) { said_ = now; }
  [[nodiscard]] bool expired(TimeUs now) const { return now - heard_ >= lease_us_; }
  [[nodiscard]] bool heartbeat_due(TimeUs now) const { return now - said_ >= lease_us_ / 3; }
  /// When on_tick has something to do next.
  [[nodiscard]] TimeUs next_tick() const {
    const TimeUs say = said_ + lease_us_ / 3;
    const TimeUs expire = heard_ + lease_us_;
    return say < expire ? say : expire;
  }

 private:
  TimeUs lease_us_;
  TimeUs heard_;
  TimeUs said_;
};

}  // namespace troupe::transport
