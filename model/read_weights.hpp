// The weights of a model out of a table of tensors, whatever the file format.
#pragma once

#include "base/result.hpp"
#include "model/config.hpp"
#include "model/model.hpp"
#include "model/tensor_table.hpp"
#include "model/weight_names.hpp"

namespace troupe::model {

/// Takes every weight that the configuration needs and checks its shape; a tensor that the family
/// does not have is an error too, since ignoring it would give wrong text. The weights borrow what
/// the table borrows. Errors: corrupt (missing tensor, wrong shape), unsupported (type, unknown
/// tensor).
Result<Weights> read_weights(const TensorTable& table, const WeightNames& names,
                             const ModelConfig& config);

}  // namespace troupe::model
