#include "model/checkpoint.hpp"

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <string_view>

#include "base/concat.hpp"
#include "model/limits.hpp"
#include "model/quantized.hpp"
#include "model/quoted.hpp"
#include "model/safetensors.hpp"
#include "model/shard_index.hpp"

namespace troupe::model {
namespace {

constexpr const char* single_name = "model.safetensors";
constexpr const char* index_name = "model.safetensors.index.json";

Error in_file(const std::string& path, Error failure) {
  failure.what = concat(path, ": ", failure.what);
  return failure;
}

bool is_there(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::exists(path, ignored);
}

struct OpenFile {
  TensorTable tensors;
  uint64_t bytes = 0;
};

Result<OpenFile> open_file(const std::string& path) {
  TROUPE_ASSIGN(const auto mapping, MappedFile::open(path));
  auto parsed = parse_safetensors(mapping->bytes());
  if (!parsed) return in_file(path, std::move(parsed).error());
  OpenFile file;
  file.bytes = mapping->bytes().size();
  for (StoredTensor& tensor : parsed->tensors) {
    if (Status added = file.tensors.add(std::move(tensor)); !added) {
      return in_file(path, std::move(added).error());
    }
  }
  file.tensors.keep(mapping);
  return file;
}

Status add_file(Checkpoint& checkpoint, const std::string& name) {
  const std::string path = checkpoint.folder + "/" + name;
  TROUPE_ASSIGN(OpenFile file, open_file(path));
  checkpoint.file_bytes += file.bytes;
  checkpoint.files.push_back(name);
  if (Status merged = checkpoint.tensors.merge(std::move(file.tensors)); !merged) {
    return in_file(path, std::move(merged).error());
  }
  return {};
}

Status open_shards(Checkpoint& checkpoint, const std::string& path) {
  TROUPE_ASSIGN(const Json json, read_json_file(path, limits::index_bytes_max));
  auto index = read_shard_index(json);
  if (!index) return in_file(path, std::move(index).error());
  for (const auto& [file, names] : *index) {
    TROUPE_TRY(add_file(checkpoint, file));
    for (const std::string& name : names) {
      if (checkpoint.tensors.find(name) != nullptr) continue;
      return error(Code::corrupt, concat(path, ": the tensor ", quoted(name), " is not in ", file),
                   "fetch the checkpoint again");
    }
  }
  return {};
}

}  // namespace

Result<Json> read_json_file(const std::string& path, size_t bytes_max) {
  TROUPE_ASSIGN(const auto mapping, MappedFile::open(path));
  const auto bytes = mapping->bytes();
  if (bytes.size() > bytes_max) {
    return error(Code::exhausted, concat(path, " has ", bytes.size(), " bytes"),
                 concat("at most ", bytes_max, " are read"));
  }
  auto json = parse_json({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  if (!json) return in_file(path, std::move(json).error());
  if (!json->is_object()) {
    return error(Code::corrupt, concat(path, " holds ", json->kind_name()), "a JSON object");
  }
  return json;
}

Result<TensorTable> open_safetensors(const std::string& path) {
  TROUPE_ASSIGN(OpenFile file, open_file(path));
  return std::move(file.tensors);
}

Result<Checkpoint> open_checkpoint(const std::string& folder) {
  Checkpoint checkpoint;
  checkpoint.folder = folder;
  TROUPE_ASSIGN(checkpoint.config,
                read_json_file(folder + "/config.json", limits::config_bytes_max));
  const std::string generation = folder + "/generation_config.json";
  if (is_there(generation)) {
    TROUPE_ASSIGN(checkpoint.generation_config,
                  read_json_file(generation, limits::config_bytes_max));
  }
  const std::string index = folder + "/" + index_name;
  if (is_there(index)) {
    TROUPE_TRY(open_shards(checkpoint, index));
  } else if (is_there(folder + "/" + single_name)) {
    TROUPE_TRY(add_file(checkpoint, single_name));
  } else {
    return error(Code::not_found, concat(folder, " has no weights"),
                 concat("a checkpoint has ", single_name, " or ", index_name));
  }
  if (Status converted = convert_quantized(checkpoint.config, checkpoint.tensors); !converted) {
    return in_file(folder, std::move(converted).error());
  }
  return checkpoint;
}

}  // namespace troupe::model
