// One digest for all the weights of a file: part of the KV fingerprint (docs/numerics.md 8).
#pragma once

#include "base/sha256.hpp"
#include "model/gguf.hpp"

namespace troupe::model {

/// SHA-256 over the tensors sorted by name: name, type, dimensions, bytes, each with its length.
/// Metadata and the order in the file do not count.
Digest weights_digest(const GgufFile& file);

}  // namespace troupe::model
