// The container format safetensors, one file: a JSON header and the bytes that it names.
// Source of the format: the format section of the safetensors project's README.
#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "model/tensor_table.hpp"

namespace troupe::model {

struct SafetensorsFile {
  std::vector<StoredTensor> tensors;            ///< in the order of their bytes
  std::map<std::string, std::string> metadata;  ///< "__metadata__"; may be empty
};

/// Reads and checks the whole header: its length, the JSON, every name, type and shape, and that
/// the tensors' bytes follow one another from the first to the last of the file without a gap or an
/// overlap. The tensors borrow `bytes`, the whole file.
/// Errors: corrupt (what, and where), unsupported (an element type), exhausted (a limit of
/// model/limits.hpp).
Result<SafetensorsFile> parse_safetensors(std::span<const std::byte> bytes);

}  // namespace troupe::model
