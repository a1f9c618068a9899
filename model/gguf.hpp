// The container format GGUF (versions 2 and 3, one file, little-endian): metadata and tensors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.hpp"

namespace troupe::model {

/// Values are GGUF's numbers (gguf_metadata_value_type).
enum class GgufType : uint32_t {
  u8 = 0,
  i8 = 1,
  u16 = 2,
  i16 = 3,
  u32 = 4,
  i32 = 5,
  f32 = 6,
  boolean = 7,
  string = 8,
  array = 9,
  u64 = 10,
  i64 = 11,
  f64 = 12
};

/// "u32", "string", …; "type 99" is never needed: unknown numbers do not get past the reader.
const char* name(GgufType type);

/// A metadata value where it lies in the file; nothing is copied.
struct GgufValue {
  GgufType type = GgufType::u8;
  GgufType element = GgufType::u8;     ///< of an array
  uint64_t count = 1;                  ///< elements of an array
  std::span<const std::byte> payload;  ///< the string's bytes, or the encoded scalar or elements
};

struct GgufTensor {
  std::string_view name;
  std::vector<uint64_t> dims;  ///< 1 to 4, none zero; the contiguous dimension first
  uint32_t type = 0;           ///< ggml type; may be one that this build cannot read
  /// The tensor's bytes; empty when the type's block size is unknown to this build.
  std::span<const std::byte> data;
};

/// A checked view of a file. Borrows the bytes given to parse(): they must outlive it.
class GgufFile {
 public:
  /// `bytes` is the whole file, at an address divisible by 8.
  /// Errors: corrupt (what, and at which byte), unsupported (version, byte order), exhausted (a
  /// limit of model/limits.hpp).
  static Result<GgufFile> parse(std::span<const std::byte> bytes);

  [[nodiscard]] uint32_t version() const { return version_; }
  [[nodiscard]] const std::vector<GgufTensor>& tensors() const { return tensors_; }
  /// nullptr where the file has none of that name.
  [[nodiscard]] const GgufTensor* tensor(std::string_view name) const;
  [[nodiscard]] const GgufValue* value(std::string_view key) const;

 private:
  uint32_t version_ = 0;
  std::vector<std::pair<std::string_view, GgufValue>> pairs_;  ///< sorted by key
  std::vector<GgufTensor> tensors_;                            ///< in the file's order
  std::vector<uint32_t> by_name_;                              ///< indices into tensors_, sorted
};

}  // namespace troupe::model
