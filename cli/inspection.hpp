// What a model file or folder holds, what it would take to serve it, and why it cannot be served.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "model/config.hpp"

namespace troupe::cli {

/// The tensors that are stored in one type.
struct TypeUse {
  std::string stored;    ///< "Q4_K"
  std::string computed;  ///< what a fast kernel computes in; empty: no weights by themselves
  uint64_t tensors = 0;
  uint64_t parameters = 0;
  uint64_t bytes = 0;
};

/// KV memory of one sequence.
struct KvUse {
  uint64_t tokens = 0;
  uint64_t f16_bytes = 0;
  uint64_t q8_0_bytes = 0;
  uint64_t f32_bytes = 0;
};

struct Inspection {
  std::string path;
  std::string format;  ///< "GGUF version 3", "checkpoint", "safetensors file"
  uint64_t files = 0;
  uint64_t file_bytes = 0;
  std::string architecture;  ///< as the file names it; may be empty
  std::string name;
  uint64_t parameters = 0;
  std::vector<TypeUse> types;                ///< the most bytes first
  std::optional<model::ModelConfig> config;  ///< absent where it could not be read
  std::string tokenizer;                     ///< "byte-level BPE (smollm)"; empty: none
  uint64_t tokens = 0;
  bool chat_template = false;
  uint64_t fast_weight_bytes = 0;  ///< packed; 0 where the weights do not fit the configuration
  uint64_t exact_weight_bytes = 0;
  std::vector<KvUse> kv;
  std::optional<uint64_t> available_bytes;  ///< memory that is left on this machine
  std::optional<Error> refusal;             ///< why it cannot be served
};

/// Errors: only what keeps a file from being looked at at all (absent, no format that is known);
/// everything else is a refusal.
Result<Inspection> inspect_model(const std::string& path);

/// One object: docs/models.md names its fields.
nlohmann::ordered_json inspection_json(const Inspection& inspection);
/// One screen of text.
std::string inspection_text(const Inspection& inspection);

}  // namespace troupe::cli
