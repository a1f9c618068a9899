// Headers of the active messages that move blocks over TCP. An old worker address reaches whatever
// process has the port now, so every header names the incarnation that it is meant for.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

namespace troupe::transport {

/// Active-message ids.
enum class FrameKind : uint16_t { want = 1, data = 2, refused = 3 };

inline constexpr uint32_t frame_magic = 0x4b505254;  // "TRPK"
inline constexpr uint16_t frame_version = 1;

/// The beginning of every header.
struct FrameHead {
  uint32_t magic = frame_magic;
  uint16_t version = frame_version;
  uint16_t kind = 0;
  uint64_t target = 0;   ///< incarnation of the process it is meant for
  uint64_t sender = 0;   ///< incarnation of the process that sent it
  uint64_t token = 0;    ///< the session
  uint64_t request = 0;  ///< the receiver's number of the read
};

/// Receiver to source: send me this page. The payload is the receiver's worker address.
struct WantFrame {
  FrameHead head;
  uint64_t generation = 0;  ///< number of the receiver's endpoint, never used again
  uint64_t block_bytes = 0;
  uint32_t page = 0;
  uint32_t piece_bytes = 0;
  uint32_t address_crc = 0;
  uint32_t reserved = 0;
};

/// Source to receiver: one piece; the payload is its bytes.
struct DataFrame {
  FrameHead head;
  uint64_t offset = 0;  ///< in the block, a multiple of the piece size
  uint64_t length = 0;
};

enum class Refusal : uint32_t {
  wrong_incarnation = 1,
  not_granted,
  out_of_range,
  wrong_block_size,
  too_many
};
inline constexpr uint32_t refusal_last = static_cast<uint32_t>(Refusal::too_many);

/// Source to receiver: no. No payload.
struct RefusedFrame {
  FrameHead head;
  uint32_t reason = 0;
  uint32_t reserved = 0;
};

static_assert(sizeof(FrameHead) == 40 && sizeof(WantFrame) == 72 && sizeof(DataFrame) == 56 &&
              sizeof(RefusedFrame) == 48);

/// Reads a header of exactly this size, magic, version and kind; nothing otherwise.
std::optional<WantFrame> parse_want(std::span<const std::byte> header);
std::optional<DataFrame> parse_data(std::span<const std::byte> header);
std::optional<RefusedFrame> parse_refused(std::span<const std::byte> header);

/// Pieces that a block of `block_bytes` is sent in.
constexpr uint64_t num_pieces(uint64_t block_bytes, uint32_t piece_bytes) {
  return (block_bytes + piece_bytes - 1) / piece_bytes;
}
/// Bytes of the piece at `offset` (< block_bytes).
constexpr uint64_t piece_length(uint64_t block_bytes, uint32_t piece_bytes, uint64_t offset) {
  return block_bytes - offset < piece_bytes ? block_bytes - offset : piece_bytes;
}

}  // namespace troupe::transport
