// Bulk payloads in parts of 64 KiB: cutting them, and putting them together again without trusting
// what is announced. No CAF here; the actors carry the parts.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "actors/limits.hpp"
#include "base/clock.hpp"
#include "base/result.hpp"

namespace troupe::actors {

/// What a payload is, which decides how large it may be.
enum class BulkKind : uint8_t { prompt, snapshot, schema, resume };
const char* name(BulkKind kind);
/// The largest payload of a kind, in bytes (actors/limits.hpp); 0 for a kind that does not exist.
uint64_t bytes_max(BulkKind kind);

/// One piece of a payload, a view into it.
struct PartView {
  uint64_t offset = 0;
  std::string_view bytes;
};

/// The parts of a payload, by number. Views: the payload must outlive them. An empty payload is one
/// empty part.
class Parts {
 public:
  explicit Parts(std::string_view payload, size_t part_bytes = limits::part_bytes)
      : payload_(payload), part_bytes_(part_bytes == 0 ? 1 : part_bytes) {}
  [[nodiscard]] size_t size() const {
    return payload_.empty() ? 1 : (payload_.size() + part_bytes_ - 1) / part_bytes_;
  }
  [[nodiscard]] PartView operator[](size_t i) const {
    return {i * part_bytes_, payload_.substr(i * part_bytes_, part_bytes_)};
  }

 private:
  std::string_view payload_;
  size_t part_bytes_;
};

/// Puts the payloads of one peer together. Memory grows as bytes arrive, never as announced. A part
/// that is refused ends its transfer: what was held of it is given up.
class PartsAssembler {
 public:
  explicit PartsAssembler(size_t open_max = limits::transfers_open_max,
                          TimeUs timeout_us = limits::transfer_timeout_us)
      : open_max_(open_max), timeout_us_(timeout_us) {}

  /// Takes the next part of a transfer; the last one gives the whole payload. Errors:
  /// invalid_argument (too large for its kind, out of order, beyond the end, contradicting what was
  /// announced first), exhausted (too many transfers open at once).
  Result<std::optional<std::string>> add(BulkKind kind, uint64_t transfer, uint64_t total_bytes,
                                         uint64_t offset, std::string_view bytes, TimeUs now);
  /// Gives up transfers of which nothing came for the timeout; returns how many.
  size_t expire(TimeUs now);

  [[nodiscard]] size_t num_open() const { return open_.size(); }
  /// Bytes held for transfers that are not complete.
  [[nodiscard]] uint64_t bytes_held() const;

 private:
  struct Transfer {
    BulkKind kind = BulkKind::prompt;
    uint64_t total_bytes = 0;
    TimeUs last_part = 0;
    std::string bytes;
  };

  size_t open_max_;
  TimeUs timeout_us_;
  std::map<uint64_t, Transfer> open_;
};

}  // namespace troupe::actors
