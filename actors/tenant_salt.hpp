// What keeps the KV blocks of tenants apart: the salt in their names.
#pragma once

#include <string>
#include <string_view>

namespace troupe::actors {

/// Who names no tenant belongs to this one.
inline constexpr const char* default_tenant = "default";

/// HMAC-SHA-256 of the tenant's name (empty: the default one) with the cluster's secret, 32 bytes.
std::string tenant_salt(std::string_view secret, std::string_view tenant);

}  // namespace troupe::actors
