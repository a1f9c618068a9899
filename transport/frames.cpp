#include "transport/frames.hpp"

#include <bit>
#include <cstring>

namespace troupe::transport {
namespace {

static_assert(std::endian::native == std::endian::little, "headers travel in memory order");

template <class Frame>
std::optional<Frame> parse(std::span<const std::byte> header, FrameKind kind) {
  Frame frame;
  if (header.size() != sizeof frame) return std::nullopt;
  std::memcpy(&frame, header.data(), sizeof frame);
  if (frame.head.magic != frame_magic || frame.head.version != frame_version ||
      frame.head.kind != static_cast<uint16_t>(kind)) {
    return std::nullopt;
  }
  return frame;
}

}  // namespace

std::optional<WantFrame> parse_want(std::span<const std::byte> header) {
  return parse<WantFrame>(header, FrameKind::want);
}

std::optional<DataFrame> parse_data(std::span<const std::byte> header) {
  return parse<DataFrame>(header, FrameKind::data);
}

std::optional<RefusedFrame> parse_refused(std::span<const std::byte> header) {
  auto frame = parse<RefusedFrame>(header, FrameKind::refused);
  if (frame && (frame->reason == 0 || frame->reason > refusal_last)) return std::nullopt;
  return frame;
}

}  // namespace troupe::transport
