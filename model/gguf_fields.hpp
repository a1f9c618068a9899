// Metadata by key with the type that the reader of the key expects.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "model/gguf.hpp"

namespace troupe::model {

/// Each gives nothing where the key is absent and Code::corrupt where the value has another type.
/// Integers may have any width and, if signed, must not be negative.
Result<std::optional<uint64_t>> find_unsigned(const GgufFile& file, std::string_view key);
Result<std::optional<double>> find_float(const GgufFile& file, std::string_view key);
Result<std::optional<bool>> find_bool(const GgufFile& file, std::string_view key);
/// The view lies in the file's bytes.
Result<std::optional<std::string_view>> find_text(const GgufFile& file, std::string_view key);
Result<std::optional<std::vector<std::string_view>>> find_texts(const GgufFile& file,
                                                                std::string_view key);
/// An array of 32-bit integers, signed or not.
Result<std::optional<std::vector<int32_t>>> find_integers(const GgufFile& file,
                                                          std::string_view key);
/// An array of booleans, or of 32-bit integers that are 0 or 1.
Result<std::optional<std::vector<bool>>> find_flags(const GgufFile& file, std::string_view key);

/// The value of a key that must be there.
template <class T>
Result<T> required(Result<std::optional<T>> found, std::string_view key) {
  if (!found) return std::move(found).error();
  if (!found->has_value()) {
    return error(Code::corrupt, "the metadata key " + std::string(key) + " is missing",
                 "every file of this architecture has it");
  }
  return std::move(**found);
}

}  // namespace troupe::model
