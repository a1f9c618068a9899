#include "actors/tenant_salt.hpp"

#include <openssl/evp.h>
#include <openssl/hmac.h>

namespace troupe::actors {

std::string tenant_salt(std::string_view secret, std::string_view tenant) {
  if (tenant.empty()) tenant = default_tenant;
  std::string salt(EVP_MAX_MD_SIZE, '\0');
  unsigned int size = 0;
  HMAC(EVP_sha256(), secret.data(), static_cast<int>(secret.size()),
       reinterpret_cast<const unsigned char*>(tenant.data()), tenant.size(),
       reinterpret_cast<unsigned char*>(salt.data()), &size);
  salt.resize(size);
  return salt;
}

}  // namespace troupe::actors
