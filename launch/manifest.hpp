// A manifest as it was read: checked, complete, and still knowing where each field stands.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "launch/problems.hpp"
#include "schemas/manifest.pb.h"

namespace troupe::launch {

struct Manifest {
  v1::Manifest spec;      ///< every default filled in
  std::string file_name;  ///< as given
  std::string digest;     ///< SHA-256 of the text, in hex
  Positions positions;

  /// "file:line:column: " of a field by its path ("roles[1].port"), for messages.
  [[nodiscard]] std::string where(const std::string& path) const;
};

/// Reads the text of a manifest and checks everything that needs no file system. The error holds
/// one line a mistake: "file:line:column: what, expected …, did you mean …?".
Result<Manifest> parse_manifest(std::string_view text, const std::string& file_name);

/// Reads a file and looks for no other: for a host that runs none of it.
Result<Manifest> read_manifest_file(const std::filesystem::path& path);

/// Reads a file; model paths become absolute, and their absence is an error. A relative one is
/// looked for from the working directory, then from the folder above the manifest's (so that
/// deploy/x.yaml may say weights/y.gguf wherever it is called from), then beside the manifest.
/// With a host, only the models that its processes serve must be there.
Result<Manifest> load_manifest(const std::filesystem::path& path, const std::string& host = {});

}  // namespace troupe::launch
