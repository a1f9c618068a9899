// A GGUF file's tensors as the table that families take weights from.
#pragma once

#include "base/result.hpp"
#include "model/gguf.hpp"
#include "model/tensor_table.hpp"

namespace troupe::model {

/// Dimensions are turned round: the table has the outermost first. The tensors borrow the file's
/// bytes. Errors: unsupported, with the tensor and its type, when this build cannot read one.
Result<TensorTable> gguf_table(const GgufFile& file);

}  // namespace troupe::model
