// The cluster's own certificate authority and a certificate for each node (P-256, one year).
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/result.hpp"

namespace troupe::launch {

/// Where one node's identity lies.
struct CertificateFiles {
  std::filesystem::path authority;    ///< ca.pem: whom to trust
  std::filesystem::path certificate;  ///< NAME.pem
  std::filesystem::path key;          ///< NAME-key.pem, mode 0600
};

CertificateFiles certificate_files(const std::filesystem::path& folder, const std::string& node);

/// Makes ca.pem and ca-key.pem in the folder (which must exist). Never overwrites: a file that is
/// there already is an error.
Status make_authority(const std::filesystem::path& folder, const std::string& cluster);

/// Makes NAME.pem and NAME-key.pem, signed by the folder's authority; CN and SAN are the node's
/// name. Never overwrites. With `out`, they come into that folder, beside copies of ca.pem
/// and of the secret that KV blocks are named after: what a host needs, without the authority's
/// key.
Status make_certificate(const std::filesystem::path& folder, const std::string& node,
                        const std::filesystem::path& out = {});

/// The name of the cluster that the folder's authority was made for. Errors: no authority, or one
/// that was made by something else.
Result<std::string> authority_cluster(const std::filesystem::path& folder);

/// Checks that the node's certificate is signed by the folder's authority, is valid today, carries
/// the node's name, and belongs to the node's key, and that nobody else can read the key.
Status verify_certificate(const std::filesystem::path& folder, const std::string& node);

/// An authority and a certificate for each node, in a folder that holds none yet.
Status make_certificates(const std::filesystem::path& folder, const std::string& cluster,
                         const std::vector<std::string>& nodes);

}  // namespace troupe::launch
