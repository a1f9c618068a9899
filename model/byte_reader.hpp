// A cursor over bytes that never reads past their end. Little-endian, as this build's CPUs are.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string_view>
#include <type_traits>

namespace troupe::model {

static_assert(std::endian::native == std::endian::little);

/// Every read gives nothing, and moves nothing, when fewer bytes are left than it needs.
class ByteReader {
 public:
  explicit ByteReader(std::span<const std::byte> bytes) : bytes_(bytes) {}

  [[nodiscard]] size_t offset() const { return offset_; }
  [[nodiscard]] size_t remaining() const { return bytes_.size() - offset_; }

  template <class T>
  std::optional<T> read() {
    static_assert(std::is_arithmetic_v<T> && !std::is_same_v<T, bool>);
    if (remaining() < sizeof(T)) return std::nullopt;
    T value;
    std::memcpy(&value, bytes_.data() + offset_, sizeof(T));
    offset_ += sizeof(T);
    return value;
  }

  std::optional<std::span<const std::byte>> take(uint64_t count) {
    if (count > remaining()) return std::nullopt;
    const auto part = bytes_.subspan(offset_, static_cast<size_t>(count));
    offset_ += part.size();
    return part;
  }

  std::optional<std::string_view> take_text(uint64_t count) {
    const auto part = take(count);
    if (!part) return std::nullopt;
    return std::string_view(reinterpret_cast<const char*>(part->data()), part->size());
  }

 private:
  std::span<const std::byte> bytes_;
  size_t offset_ = 0;
};

}  // namespace troupe::model
