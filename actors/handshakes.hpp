// Which connections to a control port may begin a TLS handshake, and how long it may take: CAF 0.17
// has no limit for either. No sockets here; tls_guard.cpp asks and acts.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/clock.hpp"

namespace troupe::actors {

/// What to do with a connection that came in.
enum class Admission : uint8_t {
  take,      ///< it begins like a TLS handshake
  silent,    ///< it has said nothing in the time that the system waits for first bytes
  garbage,   ///< what it says is not TLS
  too_many,  ///< too many handshakes are under way
};

class Handshakes {
 public:
  /// `most` handshakes at one time, each at most `limit_us` long.
  Handshakes(size_t most, TimeUs limit_us) : most_(most), limit_us_(limit_us) {}

  /// `first`: the bytes that have come; three are enough.
  Admission admit(std::span<const uint8_t> first);
  /// The handshake of a connection begins (again: nothing). `fd`: a descriptor of the caller's that
  /// stays valid until end() gives it back.
  void begin(const void* connection, int fd, TimeUs now);
  [[nodiscard]] bool knows(const void* connection) const { return open_.contains(connection); }
  /// It ended, however it did: its descriptor, or -1 for an unknown connection.
  int end(const void* connection);
  /// Descriptors of handshakes that took too long; each is named once.
  std::vector<int> take_late(TimeUs now);

  [[nodiscard]] size_t num_open() const { return open_.size(); }
  /// How many were turned away or cut off since the last report, as a line for the log: at most one
  /// in report_interval_us.
  std::optional<std::string> report(TimeUs now);

 private:
  struct Open {
    int fd = -1;
    TimeUs since = 0;
    bool is_late = false;
  };

  size_t most_;
  TimeUs limit_us_;
  std::unordered_map<const void*, Open> open_;
  uint64_t silent_ = 0, garbage_ = 0, too_many_ = 0, late_ = 0;
  TimeUs next_report_ = 0;
};

}  // namespace troupe::actors
