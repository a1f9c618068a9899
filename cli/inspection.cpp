#include "cli/inspection.hpp"

#include <algorithm>
#include <filesystem>
#include <map>

#include "base/concat.hpp"
#include "base/memory.hpp"
#include "cpu/memory_needs.hpp"
#include "engine/engine.hpp"
#include "kv/layer_groups.hpp"
#include "model/checkpoint.hpp"
#include "model/ggml_types.hpp"
#include "model/gguf_fields.hpp"
#include "model/gguf_shards.hpp"
#include "model/gguf_tokenizer.hpp"
#include "model/kernel_type.hpp"
#include "model/limits.hpp"
#include "model/mapped_file.hpp"
#include "model/model_outline.hpp"
#include "model/safetensors.hpp"
#include "text/tokenizer_file.hpp"

namespace troupe::cli {
namespace {

constexpr uint64_t kv_contexts[] = {4'096, 32'768, 200'000};
/// Tokens of a prompt that are computed at once, whose pages no window lets go.
constexpr uint64_t kv_chunk_tokens = engine::EngineLimits{}.chunk_tokens;

class TypeCount {
 public:
  void add(const std::string& stored, const std::string& computed, uint64_t parameters,
           uint64_t bytes) {
    TypeUse& use = uses_[stored];
    use.stored = stored;
    use.computed = computed;
    ++use.tensors;
    use.parameters += parameters;
    use.bytes += bytes;
  }

  void finish(Inspection& to) const {
    for (const auto& [name, use] : uses_) {
      to.types.push_back(use);
      to.parameters += use.parameters;
    }
    std::ranges::sort(to.types, [](const TypeUse& a, const TypeUse& b) {
      return a.bytes != b.bytes ? a.bytes > b.bytes : a.stored < b.stored;
    });
  }

 private:
  std::map<std::string, TypeUse> uses_;
};

void count_types(const model::TensorTable& table, Inspection& to) {
  TypeCount count;
  for (const auto& [name, tensor] : table.all()) {
    uint64_t parameters = 1;
    for (const uint64_t dim : tensor.shape) parameters *= dim;
    const model::TensorTypeInfo& type = model::info(tensor.type);
    const bool weights = model::is_weight_type(tensor.type);
    count.add(type.name, weights ? model::info(model::kernel_type(tensor.type)).name : "",
              parameters, parameters / type.block_size * type.block_bytes);
  }
  count.finish(to);
}

/// Of a file with a type that this build cannot read, of which it does not know the size.
void count_types(const model::GgufFile& file, Inspection& to) {
  TypeCount count;
  for (const model::GgufTensor& tensor : file.tensors()) {
    uint64_t parameters = 1;
    for (const uint64_t dim : tensor.dims) parameters *= dim;
    count.add(model::ggml_type_name(tensor.type), "", parameters, tensor.data.size());
  }
  count.finish(to);
}

/// A text member of the metadata; empty where it is absent or something else.
std::string text_value(const model::GgufFile& file, const char* key) {
  const auto found = model::find_text(file, key);
  return found.ok() && found->has_value() ? std::string(**found) : std::string();
}

Status look_at_gguf(const std::string& path, Inspection& to) {
  TROUPE_ASSIGN(const auto mapping, model::MappedFile::open(path));
  auto file = model::GgufFile::parse(mapping->bytes());
  to.files = 1;
  to.file_bytes = mapping->bytes().size();
  if (!file) {
    to.format = "GGUF";
    to.refusal = std::move(file).error();
    return {};
  }
  to.format = concat("GGUF version ", file->version());
  to.architecture = text_value(*file, "general.architecture");
  to.name = text_value(*file, "general.name");
  auto set = model::open_gguf(path);
  if (!set) {
    to.refusal = std::move(set).error();
    count_types(*file, to);
    return {};
  }
  to.files = set->files.size();
  to.file_bytes = set->file_bytes;
  count_types(set->tensors, to);
  return {};
}

Status look_at_folder(const std::string& path, Inspection& to) {
  to.format = "checkpoint";
  auto config = model::read_json_file(path + "/config.json", model::limits::config_bytes_max);
  if (!config) {
    Error failure = std::move(config).error();
    if (failure.code == Code::not_found) failure.hint = "a checkpoint's folder has config.json";
    return failure;
  }
  const model::Json* type = config->find("model_type");
  if (type != nullptr) to.architecture = type->text();
  auto checkpoint = model::open_checkpoint(path);
  if (!checkpoint) {
    to.refusal = std::move(checkpoint).error();
    return {};
  }
  to.files = checkpoint->files.size();
  to.file_bytes = checkpoint->file_bytes;
  count_types(checkpoint->tensors, to);
  return {};
}

Status look_at_safetensors(const std::string& path, Inspection& to) {
  TROUPE_ASSIGN(const model::TensorTable table, model::open_safetensors(path));
  to.format = "safetensors file";
  to.files = 1;
  std::error_code ignored;
  to.file_bytes = std::filesystem::file_size(path, ignored);
  count_types(table, to);
  to.refusal = error(Code::unsupported, concat(path, ": the file has weights and nothing else"),
                     "give the folder with config.json and the tokenizer");
  return {};
}

bool is_gguf(const std::string& path) {
  const auto mapping = model::MappedFile::open(path);
  if (!mapping.ok()) return true;  // whose error says what is wrong
  const auto bytes = (*mapping)->bytes();
  return bytes.size() < 4 ||
         std::string_view(reinterpret_cast<const char*>(bytes.data()), 4) ==
             std::string_view("GGUF") ||
         !path.ends_with(".safetensors");
}

std::string tokenizer_text(const text::TokenizerSpec& spec) {
  if (spec.tokens.empty()) return {};
  std::string kind;
  switch (spec.kind) {
    case text::TokenizerKind::byte_level_bpe:
      kind = "byte-level BPE";
      break;
    case text::TokenizerKind::bpe:
      kind = "BPE";
      break;
    case text::TokenizerKind::unigram:
      kind = "Unigram";
      break;
    case text::TokenizerKind::word_piece:
      kind = "WordPiece";
      break;
  }
  return spec.pre_tokenizer.empty() ? kind : concat(kind, " (", spec.pre_tokenizer, ")");
}

Result<text::TokenizerSpec> read_tokenizer_of(const std::string& folder) {
  TROUPE_ASSIGN(
      text::LoadedTokenizer loaded,
      text::read_tokenizer_file(folder, {model::read_vocabulary_file, model::read_vocabulary}));
  return std::move(loaded.spec);
}

/// Everything that loading finds out, short of reading the weights.
void look_at_model(const std::string& path, Inspection& to) {
  const auto loaded = model::outline_model(path, read_tokenizer_of);
  if (!loaded) {
    to.refusal = loaded.error();
    return;
  }
  const model::Model& m = **loaded;
  to.config = m.config;
  if (to.name.empty()) to.name = m.config.name;
  to.tokenizer = tokenizer_text(m.tokenizer);
  to.tokens = m.tokenizer.tokens.size();
  to.chat_template = !m.tokenizer.chat_template.empty();
  to.fast_weight_bytes = cpu::packed_weight_bytes(m, cpu::ComputeMode::fast);
  to.exact_weight_bytes = cpu::packed_weight_bytes(m, cpu::ComputeMode::exact);
  for (const uint64_t tokens : kv_contexts) {
    const auto bytes = [&](kv::KvType type) {
      const kv::KvLayout layout = cpu::kv_layout_of(m.config, {type, type});
      return kv::pages_held(layout, tokens, kv_chunk_tokens) * layout.block_bytes();
    };
    to.kv.push_back(
        {tokens, bytes(kv::KvType::f16), bytes(kv::KvType::q8_0), bytes(kv::KvType::f32)});
  }
  if (m.tokenizer.tokens.empty()) {
    to.refusal = error(Code::not_found, concat(path, ": the model has no tokenizer"),
                       "a folder needs tokenizer.json or another file of docs/text.md");
  } else if (to.available_bytes && to.fast_weight_bytes > *to.available_bytes) {
    to.refusal = error(Code::exhausted,
                       concat("the packed weights take ", bytes_text(to.fast_weight_bytes),
                              ", and ", bytes_text(*to.available_bytes), " of memory are left"),
                       "a machine with more memory, or a smaller type");
  }
}

}  // namespace

Result<Inspection> inspect_model(const std::string& path) {
  Inspection made;
  made.path = path;
  made.available_bytes = available_memory();
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) {
    TROUPE_TRY(look_at_folder(path, made));
  } else if (is_gguf(path)) {
    TROUPE_TRY(look_at_gguf(path, made));
  } else {
    TROUPE_TRY(look_at_safetensors(path, made));
  }
  if (!made.refusal) look_at_model(path, made);
  return made;
}

}  // namespace troupe::cli
