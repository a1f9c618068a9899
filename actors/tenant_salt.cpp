#include "actors/tenant_salt.hpp"

#include "base/sha256.hpp"

namespace troupe::actors {

std::string tenant_salt(std::string_view secret, std::string_view tenant) {
  const Digest salt = hmac_sha256(secret, tenant.empty() ? default_tenant : tenant);
  return {salt.begin(), salt.end()};
}

}  // namespace troupe::actors
