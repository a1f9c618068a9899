// Metadata keys of one architecture: "llama.block_count" and so on, with ranges. Used by
// gguf_config*.cpp and gguf_rope.cpp only.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/concat.hpp"
#include "base/result.hpp"
#include "model/gguf.hpp"
#include "model/gguf_fields.hpp"

namespace troupe::model {

/// Errors: corrupt (0), exhausted.
Result<uint32_t> within(std::string_view key, uint64_t value, uint32_t limit);

class GgufKeys {
 public:
  GgufKeys(const GgufFile& file, std::string architecture)
      : file_(file), prefix_(std::move(architecture) + ".") {}

  [[nodiscard]] std::string key(std::string_view name) const { return prefix_ + std::string(name); }
  [[nodiscard]] const GgufFile& file() const { return file_; }

  /// From 1 to `limit`; the key must be there.
  [[nodiscard]] Result<uint32_t> number(std::string_view name, uint32_t limit) const {
    TROUPE_ASSIGN(const uint64_t value, required(find_unsigned(file_, key(name)), key(name)));
    return within(key(name), value, limit);
  }
  /// From 0 to `limit`; `absent` where there is no such key.
  [[nodiscard]] Result<uint32_t> number_or(std::string_view name, uint32_t absent,
                                           uint32_t limit) const {
    TROUPE_ASSIGN(const auto value, find_unsigned(file_, key(name)));
    if (!value || *value == 0) return value ? 0 : absent;
    return within(key(name), *value, limit);
  }
  [[nodiscard]] Result<std::optional<double>> real(std::string_view name) const {
    return find_float(file_, key(name));
  }
  [[nodiscard]] Result<bool> flag_or(std::string_view name, bool absent) const {
    TROUPE_ASSIGN(const auto value, find_bool(file_, key(name)));
    return value.value_or(absent);
  }

 private:
  const GgufFile& file_;
  std::string prefix_;
};

}  // namespace troupe::model
