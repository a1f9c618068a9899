#include <filesystem>

#include "base/concat.hpp"
#include "model/gguf.hpp"
#include "model/gguf_config.hpp"
#include "model/gguf_fields.hpp"
#include "model/gguf_shards.hpp"
#include "model/gguf_table.hpp"
#include "model/gguf_tokenizer.hpp"
#include "model/load_checkpoint.hpp"
#include "model/model_outline.hpp"
#include "model/parse_model.hpp"
#include "model/read_weights.hpp"
#include "model/weights_digest.hpp"

namespace troupe::model {

namespace {

/// `digest` and `file_bytes` are the caller's to set.
Result<std::shared_ptr<Model>> build_model(const GgufFile& file, const TensorTable& table) {
  auto model = std::make_shared<Model>();
  TROUPE_ASSIGN(const Family family, gguf_family(file));
  TROUPE_ASSIGN(model->config, read_config(file, family));
  TROUPE_ASSIGN(model->weights, read_weights(table, gguf_names(family), model->config));
  TROUPE_ASSIGN(model->tokenizer, read_tokenizer(file, model->config.vocab_size));
  return model;
}

Result<std::shared_ptr<const Model>> load_gguf(const std::string& path, const FindDigest& digest) {
  TROUPE_ASSIGN(GgufSet set, open_gguf(path));
  auto built = build_model(set.first, set.tensors);
  if (!built) {
    Error failure = std::move(built).error();
    failure.what = concat(path, ": ", failure.what);
    return failure;
  }
  Model& model = **built;
  model.weights_digest = digest(set.files, [&] {
    return set.files.size() == 1 ? weights_digest(set.first) : weights_digest(set.tensors);
  });
  model.files = std::move(set.files);
  model.file_bytes = set.file_bytes;
  model.mapping = std::make_shared<TensorTable>(std::move(set.tensors));
  return std::shared_ptr<const Model>(*built);
}

Status refuse_parts(const GgufFile& file) {
  TROUPE_ASSIGN(const auto parts, find_unsigned(file, "split.count"));
  if (parts.value_or(1) <= 1) return {};
  return error(Code::unsupported, concat("the bytes are one of ", *parts, " parts of a model"),
               "give the path of one of its files");
}

Result<std::shared_ptr<const Model>> load(const std::string& path, const ReadTokenizer& tokenizer,
                                          const FindDigest& digest) {
  std::error_code ignored;
  if (!std::filesystem::is_directory(path, ignored)) return load_gguf(path, digest);
  CheckpointOptions options;
  options.tokenizer = tokenizer;
  options.digest = digest;
  return load_checkpoint(path, options);
}

}  // namespace

Result<std::shared_ptr<const Model>> parse_model(std::span<const std::byte> bytes) {
  TROUPE_ASSIGN(const GgufFile file, GgufFile::parse(bytes));
  TROUPE_TRY(refuse_parts(file));
  TROUPE_ASSIGN(const TensorTable table, gguf_table(file));
  TROUPE_ASSIGN(const auto model, build_model(file, table));
  model->weights_digest = weights_digest(file);
  model->file_bytes = bytes.size();
  return std::shared_ptr<const Model>(model);
}

Result<std::shared_ptr<const Model>> load_model(const std::string& path,
                                                const ReadTokenizer& tokenizer,
                                                const KnownDigest& known_digest) {
  return load(path, tokenizer, [&](const auto& files, const auto& read) {
    const auto known = known_digest ? known_digest(files) : std::nullopt;
    return known ? *known : read();
  });
}

Result<std::shared_ptr<const Model>> outline_model(const std::string& path,
                                                   const ReadTokenizer& tokenizer) {
  return load(path, tokenizer, [](const auto&, const auto&) { return Digest{}; });
}

}  // namespace troupe::model
