// The cluster's secret: its fronts derive from it what each tenant's KV blocks are named after, its
// workers and stores the key to their data ports. Random, made once, kept over restarts, the same
// on every host.
#pragma once

#include <filesystem>
#include <string>

#include "base/result.hpp"
#include "schemas/manifest.pb.h"

namespace troupe::launch {

inline constexpr const char* salt_secret_name = "salt-secret";

/// Reads the secret in the folder, or makes one there (mode 0600). Errors: what the file is refused
/// for: its size, or that others can read it.
Result<std::string> provide_salt_secret(const std::filesystem::path& folder);

/// Reads it. Error: not_found when there is none, with what makes one.
Result<std::string> read_salt_secret(const std::filesystem::path& folder);

/// What a manifest says: the contents of its secret_path, or else the secret beside the
/// certificates.
Result<std::string> salt_secret_of(const v1::Manifest::Security& security,
                                   const std::filesystem::path& certificates);

/// Copies the secret of one folder, made there if need be, into another; one that is there already
/// must be the same.
Status copy_salt_secret(const std::filesystem::path& from, const std::filesystem::path& to);

}  // namespace troupe::launch
