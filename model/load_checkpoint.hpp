// A model from a folder as Hugging Face's libraries write it.
#pragma once

#include <memory>
#include <string>

#include "base/result.hpp"
#include "model/model.hpp"

namespace troupe::model {

struct CheckpointOptions {
  std::string config_file = "config.json";
  ReadTokenizer tokenizer;  ///< none: the model has no tokenizer
  bool digest = true;       ///< false: weights_digest stays zero
};

/// The end-of-text ids of generation_config.json and config.json become the tokenizer's stop ids.
/// Errors: as load_model.
Result<std::shared_ptr<const Model>> load_checkpoint(const std::string& folder,
                                                     const CheckpointOptions& options);

}  // namespace troupe::model
