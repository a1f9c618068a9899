// One digest for all the weights of a model: part of the KV fingerprint (docs/numerics.md 8).
#pragma once

#include "base/sha256.hpp"
#include "model/gguf.hpp"
#include "model/tensor_table.hpp"

namespace troupe::model {

/// SHA-256 over the tensors sorted by name: name, type, dimensions, bytes, each with its length.
/// Metadata and the order in the file do not count.
Digest weights_digest(const GgufFile& file);

/// The same of a checkpoint's tensors, rows that are made one by one included.
Digest weights_digest(const TensorTable& table);

}  // namespace troupe::model
