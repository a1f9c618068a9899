// A GGUF model in one file or in several, named PREFIX-00001-of-0000N.gguf as gguf-split names
// them.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "model/gguf.hpp"
#include "model/tensor_table.hpp"

namespace troupe::model {

struct GgufSet {
  GgufFile first;                  ///< its metadata is the model's
  TensorTable tensors;             ///< of all files; keeps them mapped
  std::vector<std::string> files;  ///< paths, in order
  uint64_t file_bytes = 0;
};

/// Maps and checks `path`, and when its metadata says that it is one of several, the others beside
/// it: all there, each with the number that its name says, each tensor in one of them, as many
/// tensors as announced. Any of the files may be given. Errors: as MappedFile::open,
/// GgufFile::parse and gguf_table, with the path; corrupt.
Result<GgufSet> open_gguf(const std::string& path);

/// Path of file `number` (from 1) of `count` when `path` is named as one of `count` files; empty
/// when it is not. Only the two numbers change, so it is a file of the same folder.
std::string shard_path(const std::string& path, uint64_t number, uint64_t count);

}  // namespace troupe::model
