#include "base/concat.hpp"
#include "model/gguf.hpp"
#include "model/gguf_config.hpp"
#include "model/gguf_tokenizer.hpp"
#include "model/gguf_weights.hpp"
#include "model/mapped_file.hpp"
#include "model/parse_model.hpp"
#include "model/weights_digest.hpp"

namespace troupe::model {

namespace {

Result<std::shared_ptr<Model>> build_model(std::span<const std::byte> bytes) {
  TROUPE_ASSIGN(const GgufFile file, GgufFile::parse(bytes));
  auto model = std::make_shared<Model>();
  TROUPE_ASSIGN(model->config, read_config(file));
  TROUPE_ASSIGN(model->weights, read_weights(file, model->config));
  TROUPE_ASSIGN(model->tokenizer, read_tokenizer(file, model->config.vocab_size));
  model->weights_digest = weights_digest(file);
  model->file_bytes = bytes.size();
  return model;
}

}  // namespace

Result<std::shared_ptr<const Model>> parse_model(std::span<const std::byte> bytes) {
  TROUPE_ASSIGN(const auto model, build_model(bytes));
  return std::shared_ptr<const Model>(model);
}

Result<std::shared_ptr<const Model>> load_model(const std::string& path) {
  TROUPE_ASSIGN(const auto mapping, MappedFile::open(path));
  auto built = build_model(mapping->bytes());
  if (!built) {
    Error failure = std::move(built).error();
    failure.what = concat(path, ": ", failure.what);
    return failure;
  }
  (*built)->mapping = mapping;
  return std::shared_ptr<const Model>(*built);
}

}  // namespace troupe::model
