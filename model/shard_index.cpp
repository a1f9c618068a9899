#include "model/shard_index.hpp"

#include <algorithm>

#include "base/concat.hpp"
#include "model/limits.hpp"
#include "model/quoted.hpp"

namespace troupe::model {

bool is_plain_file_name(std::string_view name) {
  constexpr size_t name_bytes_max = 255;
  if (name.empty() || name.size() > name_bytes_max || name.front() == '.') return false;
  return std::ranges::none_of(name, [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return c == '/' || c == '\\' || byte < 0x20 || byte == 0x7f;
  });
}

Result<ShardIndex> read_shard_index(const Json& json) {
  const Json* map = json.find("weight_map");
  if (map == nullptr || !map->is_object() || map->items().empty()) {
    return error(Code::corrupt, "the index has no weight_map",
                 "an object: name of a tensor to name of a file");
  }
  if (map->items().size() > limits::tensors_max) {
    return error(Code::exhausted, concat("the index names ", map->items().size(), " tensors"),
                 concat("at most ", limits::tensors_max, " are read"));
  }
  ShardIndex index;
  for (size_t i = 0; i < map->items().size(); ++i) {
    const Json& file = map->items()[i];
    if (!file.is_string() || !is_plain_file_name(file.text()) ||
        !file.text().ends_with(".safetensors")) {
      return error(Code::corrupt,
                   concat("the index puts the tensor ", quoted(map->keys()[i]), " into ",
                          file.is_string() ? quoted(file.text()) : file.kind_name()),
                   "the name of a .safetensors file of the same folder, without a path");
    }
    index[file.text()].push_back(map->keys()[i]);
    if (index.size() > limits::shards_max) {
      return error(Code::exhausted, concat("the index names more files than ", limits::shards_max),
                   concat("at most ", limits::shards_max, " are read"));
    }
  }
  return index;
}

}  // namespace troupe::model
