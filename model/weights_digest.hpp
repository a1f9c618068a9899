// One digest for all the weights of a model: part of the KV fingerprint (docs/numerics.md 8).
#pragma once

#include "base/sha256.hpp"
#include "model/gguf.hpp"
#include "model/tensor_table.hpp"

namespace troupe::model {

/// SHA-256 over the tensors sorted by name: name, type, dimensions, number of bytes, and the
/// SHA-256 of each 1 MiB of them, which threads share. Metadata and the order in the file do not
/// count.
Digest weights_digest(const GgufFile& file);

/// The same of a checkpoint's tensors. Rows that are made one by one are hashed as they are made,
/// as many of them together as 1 MiB holds.
Digest weights_digest(const TensorTable& table);

}  // namespace troupe::model
