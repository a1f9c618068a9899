// A checkpoint folder as Hugging Face's libraries write it: config.json and weights in safetensors,
// in one file or in shards that an index names.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "model/json.hpp"
#include "model/mapped_file.hpp"
#include "model/tensor_table.hpp"

namespace troupe::model {

struct Checkpoint {
  std::string folder;
  Json config;             ///< config.json, an object
  Json generation_config;  ///< generation_config.json; null where the folder has none
  TensorTable tensors;     ///< quantised weights are one tensor each; it keeps the files mapped
  std::vector<std::string> files;  ///< names of the weight files, in order
  uint64_t file_bytes = 0;         ///< of the weight files
};

/// Maps and checks all weight files: model.safetensors.index.json with its shards where there is
/// one, else model.safetensors. Names in the index are names of files of this folder and nothing
/// else: one with a separator is refused. Errors: not_found, corrupt, unsupported, exhausted, each
/// with the file's name.
Result<Checkpoint> open_checkpoint(const std::string& folder);

/// One safetensors file as a table that keeps it mapped.
Result<TensorTable> open_safetensors(const std::string& path);

/// A JSON file of at most `bytes_max` bytes. Errors: as MappedFile::open and parse_json, with the
/// path; exhausted.
Result<Json> read_json_file(const std::string& path, size_t bytes_max);

}  // namespace troupe::model
