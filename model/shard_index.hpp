// The index of a sharded checkpoint: which tensor lies in which file.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "model/json.hpp"

namespace troupe::model {

/// File name -> names of the tensors that it holds.
using ShardIndex = std::map<std::string, std::vector<std::string>>;

/// Reads "weight_map" of model.safetensors.index.json.
/// Errors: corrupt (the form; a file name that is none), exhausted (too many shards or tensors).
Result<ShardIndex> read_shard_index(const Json& json);

/// True for the name of a file and nothing more: no separator, no "..", no control character, not
/// hidden. Only such names are joined with a folder's path.
bool is_plain_file_name(std::string_view name);

}  // namespace troupe::model
