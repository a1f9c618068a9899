// A model without a look at its weights' values: for those who want to know what it is.
#pragma once

#include <memory>
#include <string>

#include "base/result.hpp"
#include "model/model.hpp"

namespace troupe::model {

/// As load_model, with the same checks, but weights_digest stays zero: only headers are read.
Result<std::shared_ptr<const Model>> outline_model(const std::string& path,
                                                   const ReadTokenizer& tokenizer = {});

}  // namespace troupe::model
