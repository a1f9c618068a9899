// The wire form of Protocol Buffers, read field by field: numbers and lengths are checked against
// the bytes, nothing is copied.
#pragma once

#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>

namespace troupe::text {

struct WireField {
  uint32_t number = 0;
  uint64_t value = 0;      ///< a varint's, or the bits of a fixed one
  std::string_view bytes;  ///< of a length-delimited field
};

class WireReader {
 public:
  explicit WireReader(std::string_view bytes) : rest_(bytes) {}

  /// The next field; empty at the end and where the bytes are no message (then failed()).
  std::optional<WireField> next() {
    if (rest_.empty() || failed_) return std::nullopt;
    WireField field;
    const std::optional<uint64_t> tag = varint();
    if (!tag || *tag >> 3 == 0 || *tag >> 3 > 0x1fffffff) return fail();
    field.number = static_cast<uint32_t>(*tag >> 3);
    switch (*tag & 7) {
      case 0: {
        const std::optional<uint64_t> value = varint();
        if (!value) return fail();
        field.value = *value;
        return field;
      }
      case 1:
        return fixed<uint64_t>(field);
      case 5:
        return fixed<uint32_t>(field);
      case 2: {
        const std::optional<uint64_t> size = varint();
        if (!size || *size > rest_.size()) return fail();
        field.bytes = rest_.substr(0, static_cast<size_t>(*size));
        rest_.remove_prefix(field.bytes.size());
        return field;
      }
      default:
        return fail();
    }
  }

  [[nodiscard]] bool failed() const { return failed_; }

 private:
  std::optional<WireField> fail() {
    failed_ = true;
    return std::nullopt;
  }

  std::optional<uint64_t> varint() {
    uint64_t value = 0;
    for (int shift = 0; shift < 64 && !rest_.empty(); shift += 7) {
      const uint8_t byte = static_cast<uint8_t>(rest_.front());
      rest_.remove_prefix(1);
      value |= static_cast<uint64_t>(byte & 0x7f) << shift;
      if ((byte & 0x80) == 0) return value;
    }
    return std::nullopt;
  }

  template <class Bits>
  std::optional<WireField> fixed(WireField field) {
    Bits bits = 0;
    if (rest_.size() < sizeof bits) return fail();
    std::memcpy(&bits, rest_.data(), sizeof bits);
    rest_.remove_prefix(sizeof bits);
    field.value = bits;
    return field;
  }

  std::string_view rest_;
  bool failed_ = false;
};

}  // namespace troupe::text
