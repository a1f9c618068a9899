// What opens the data ports of a cluster's workers and stores to each other (transport/).
#pragma once

#include <string>
#include <string_view>

#include "base/sha256.hpp"

namespace troupe::actors {

/// 32 bytes from the cluster's secret; empty without one. The label is the key of the HMAC, unlike
/// in a tenant's salt: no tenant's name leads here.
inline std::string data_key(std::string_view secret) {
  if (secret.empty()) return {};
  const Digest key = hmac_sha256("troupe data port", secret);
  return {key.begin(), key.end()};
}

}  // namespace troupe::actors
