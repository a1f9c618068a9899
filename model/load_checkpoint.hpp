// A model from a folder as Hugging Face's libraries write it.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "model/model.hpp"

namespace troupe::model {

/// Gives the digest of the weights in `files` (paths): one that is known, or what `read` finds.
using FindDigest = std::function<Digest(const std::vector<std::string>& files,
                                        const std::function<Digest()>& read)>;
inline Digest read_digest(const std::vector<std::string>&, const std::function<Digest()>& read) {
  return read();
}

struct CheckpointOptions {
  std::string config_file = "config.json";
  ReadTokenizer tokenizer;  ///< none: the model has no tokenizer
  FindDigest digest = read_digest;
};

/// The end-of-text ids of generation_config.json and config.json become the tokenizer's stop ids.
/// Errors: as load_model.
Result<std::shared_ptr<const Model>> load_checkpoint(const std::string& folder,
                                                     const CheckpointOptions& options);

}  // namespace troupe::model
