#include "launch/salt_secret.hpp"

#include <openssl/rand.h>
#include <sys/stat.h>

#include <array>

#include "base/concat.hpp"
#include "base/sha256.hpp"
#include "launch/files.hpp"
#include "launch/limits.hpp"

namespace troupe::launch {
namespace {

namespace fs = std::filesystem;

constexpr size_t secret_bytes = 32;
constexpr size_t secret_digits = 2 * secret_bytes;

Result<std::string> new_secret() {
  std::array<uint8_t, secret_bytes> bytes{};
  if (RAND_bytes(bytes.data(), static_cast<int>(bytes.size())) != 1) {
    return error(Code::internal, "the system gives no random numbers");
  }
  return hex(bytes);
}

Result<std::string> read_private(const fs::path& path, const std::string& hint) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) {
    return error(
        Code::not_found,
        path.string() +
            " is missing: tenants' KV blocks are named after it, and data ports opened with it",
        hint);
  }
  if ((info.st_mode & 0077) != 0) {
    return error(Code::failed_precondition, path.string() + " can be read by other users",
                 "chmod 600 " + path.string());
  }
  return read_file(path, limits::secret_bytes);
}

}  // namespace

Result<std::string> read_salt_secret(const fs::path& folder) {
  const fs::path path = folder / salt_secret_name;
  TROUPE_ASSIGN(std::string secret,
                read_private(path, "troupe certs issue puts one beside the certificates"));
  if (secret.size() == secret_digits) return secret;
  return error(Code::corrupt,
               concat(path.string(), " has ", secret.size(), " bytes, not ", secret_digits),
               "a whole copy of it; a new one makes all kept KV blocks useless");
}

Result<std::string> salt_secret_of(const v1::Manifest::Security& security,
                                   const fs::path& certificates) {
  const std::string& given = security.secret_path();
  if (given.empty()) return read_salt_secret(certificates);
  TROUPE_ASSIGN(std::string secret, read_private(given, "the manifest's security.secret_path"));
  if (secret.size() >= secret_bytes) return secret;
  return error(Code::invalid_argument, concat(given, " has ", secret.size(), " bytes"),
               concat(secret_bytes, " to ", limits::secret_bytes, " that nobody can guess"));
}

Result<std::string> provide_salt_secret(const fs::path& folder) {
  std::error_code ignored;
  if (!fs::exists(folder / salt_secret_name, ignored)) {
    TROUPE_ASSIGN(const std::string secret, new_secret());
    TROUPE_TRY(create_file(folder / salt_secret_name, secret));
  }
  return read_salt_secret(folder);
}

Status copy_salt_secret(const fs::path& from, const fs::path& to) {
  TROUPE_ASSIGN(const std::string secret, provide_salt_secret(from));
  std::error_code ignored;
  if (!fs::exists(to / salt_secret_name, ignored)) {
    return create_file(to / salt_secret_name, secret);
  }
  TROUPE_ASSIGN(const std::string present, read_salt_secret(to));
  if (present == secret) return {};
  return error(Code::failed_precondition,
               (to / salt_secret_name).string() + " is another cluster's",
               "choose an empty folder");
}

}  // namespace troupe::launch
