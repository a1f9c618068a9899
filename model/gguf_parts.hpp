// The two halves of the GGUF reader, apart so that each fits a page. Used by gguf.cpp only.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "model/byte_reader.hpp"
#include "model/gguf.hpp"

namespace troupe::model {

using GgufPair = std::pair<std::string_view, GgufValue>;

/// "the file ends inside `what`", with the byte where it was looked for.
Error truncated(std::string_view what, const ByteReader& reader);

/// Reads `count` metadata pairs; gives them sorted by key, each key once.
Result<std::vector<GgufPair>> read_metadata(ByteReader& reader, uint64_t count);

/// A tensor's description before its place is resolved.
struct GgufTensorEntry {
  std::string_view name;
  std::vector<uint64_t> dims;
  uint32_t type = 0;
  uint64_t offset = 0;  ///< from the start of the data section
  uint64_t bytes = 0;   ///< 0: unknown type
};

/// Reads `count` tensor descriptions and checks each by itself.
Result<std::vector<GgufTensorEntry>> read_tensor_entries(ByteReader& reader, uint64_t count);

/// Checks places against the data section, the alignment and one another; gives the views.
Result<std::vector<GgufTensor>> place_tensors(const std::vector<GgufTensorEntry>& entries,
                                              std::span<const std::byte> data, uint64_t alignment);

}  // namespace troupe::model
