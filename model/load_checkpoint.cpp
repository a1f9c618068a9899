#include "model/load_checkpoint.hpp"

#include <algorithm>

#include "base/concat.hpp"
#include "model/checkpoint.hpp"
#include "model/config_fields.hpp"
#include "model/config_json.hpp"
#include "model/limits.hpp"
#include "model/read_weights.hpp"
#include "model/weights_digest.hpp"

namespace troupe::model {
namespace {

/// "eos_token_id": an id, a list of ids or null.
Status add_stop_ids(const Json& json, const std::string& file, uint32_t vocab_size,
                    std::vector<int32_t>& ids) {
  const ConfigFields fields(json, nullptr, file);
  const Json* value = fields.find("eos_token_id");
  if (value == nullptr) return {};
  const std::vector<Json> one = {*value};
  for (const Json& item : value->is_array() ? value->items() : one) {
    const auto id = item.unsigned_integer();
    if (!id || *id >= vocab_size) {
      return fields.bad("eos_token_id", item.text().empty() ? item.kind_name() : item.text(),
                        concat("ids are 0 to ", vocab_size - 1));
    }
    const auto stop = static_cast<int32_t>(*id);
    if (std::find(ids.begin(), ids.end(), stop) == ids.end()) ids.push_back(stop);
  }
  return {};
}

Status read_texts(const std::string& folder, const CheckpointOptions& options,
                  const Checkpoint& checkpoint, Model& model) {
  if (!options.tokenizer) return {};
  TROUPE_ASSIGN(model.tokenizer, options.tokenizer(folder));
  const uint32_t vocab = model.config.vocab_size;
  if (model.tokenizer.tokens.size() > vocab) {
    return error(Code::corrupt,
                 concat("the tokenizer has ", model.tokenizer.tokens.size(), " tokens"),
                 concat("the model has ", vocab));
  }
  std::vector<int32_t>& stops = model.tokenizer.stop_ids;
  TROUPE_TRY(add_stop_ids(checkpoint.generation_config, "generation_config.json", vocab, stops));
  TROUPE_TRY(add_stop_ids(checkpoint.config, options.config_file, vocab, stops));
  std::erase_if(stops, [&model](int32_t id) {
    return static_cast<size_t>(id) >= model.tokenizer.tokens.size();
  });
  return {};
}

Result<std::shared_ptr<Model>> build(const std::string& folder, const CheckpointOptions& options) {
  TROUPE_ASSIGN(Checkpoint checkpoint, open_checkpoint(folder));
  if (options.config_file != "config.json") {
    TROUPE_ASSIGN(checkpoint.config, read_json_file(concat(folder, "/", options.config_file),
                                                    limits::config_bytes_max));
  }
  auto model = std::make_shared<Model>();
  TROUPE_ASSIGN(const Family* family, family_of_config(checkpoint.config));
  TROUPE_ASSIGN(model->config, read_config(checkpoint.config, *family));
  TROUPE_ASSIGN(model->weights,
                read_weights(checkpoint.tensors, safetensors_names(*family), model->config));
  TROUPE_TRY(read_texts(folder, options, checkpoint, *model));
  for (const std::string& name : checkpoint.files) model->files.push_back(folder + "/" + name);
  model->weights_digest =
      options.digest(model->files, [&] { return weights_digest(checkpoint.tensors); });
  model->file_bytes = checkpoint.file_bytes;
  model->mapping = std::make_shared<TensorTable>(std::move(checkpoint.tensors));
  return model;
}

}  // namespace

Result<std::shared_ptr<const Model>> load_checkpoint(const std::string& folder,
                                                     const CheckpointOptions& options) {
  auto built = build(folder, options);
  if (!built) {
    Error failure = std::move(built).error();
    if (!failure.what.starts_with(folder)) failure.what = concat(folder, ": ", failure.what);
    return failure;
  }
  return std::shared_ptr<const Model>(*built);
}

}  // namespace troupe::model
