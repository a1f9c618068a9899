#include "launch/manifest.hpp"

#include <algorithm>

#include "base/concat.hpp"
#include "base/sha256.hpp"
#include "launch/files.hpp"
#include "launch/limits.hpp"
#include "launch/manifest_check.hpp"
#include "launch/manifest_reader.hpp"

namespace troupe::launch {
namespace {

namespace fs = std::filesystem;

// The first existing of the places where a relative path may point, a file or a checkpoint's
// folder; empty if there is none.
fs::path find_file(const std::string& path, const fs::path& manifest_folder) {
  std::error_code ignored;
  for (const fs::path& base :
       {fs::current_path(ignored), manifest_folder.parent_path(), manifest_folder}) {
    const fs::path candidate = (base / path).lexically_normal();
    if (fs::is_regular_file(candidate, ignored) || fs::exists(candidate / "config.json", ignored)) {
      return candidate;
    }
  }
  return {};
}

bool is_served(const v1::Manifest& spec, const std::string& model, const std::string& host) {
  return host.empty() || std::ranges::any_of(spec.roles(), [&](const v1::Manifest::Process& role) {
           return role.host() == host && role.model() == model;
         });
}

void find_models(Manifest& manifest, const std::string& host, const fs::path& folder,
                 Problems& problems) {
  for (int i = 0; i < manifest.spec.models_size(); ++i) {
    v1::Manifest::Model& model = *manifest.spec.mutable_models(i);
    const fs::path found = find_file(model.path(), folder);
    if (found.empty()) {
      if (!is_served(manifest.spec, model.name(), host)) continue;
      const std::string field = concat("models[", i, "].path");
      const bool is_relative = fs::path(model.path()).is_relative();
      problems.add(
          position_of(manifest.positions, field),
          concat(field, ": there is no file \"", model.path(), "\"",
                 is_relative ? " in the working directory, in " + folder.parent_path().string() +
                                   " or beside the manifest"
                             : std::string(),
                 ", expected a GGUF file"));
    }
    model.set_path(found.string());
  }
}

}  // namespace

std::string Manifest::where(const std::string& path) const {
  return prefix(file_name, position_of(positions, path));
}

Result<Manifest> parse_manifest(std::string_view text, const std::string& file_name) {
  TROUPE_ASSIGN(const YamlNode root, parse_yaml(text, file_name));
  Manifest manifest;
  manifest.file_name = file_name;
  manifest.digest = hex(sha256(text));
  Problems problems(file_name);
  read_manifest(root, manifest.spec, manifest.positions, problems);
  TROUPE_TRY(problems.status());
  check_manifest(manifest.spec, manifest.positions, problems);
  TROUPE_TRY(problems.status());
  return manifest;
}

Result<Manifest> read_manifest_file(const fs::path& path) {
  TROUPE_ASSIGN(const std::string text, read_file(path, limits::manifest_bytes));
  return parse_manifest(text, path.string());
}

Result<Manifest> load_manifest(const fs::path& path, const std::string& host) {
  TROUPE_ASSIGN(Manifest manifest, read_manifest_file(path));
  std::error_code ignored;
  fs::path folder = fs::absolute(path, ignored).lexically_normal().parent_path();
  Problems problems(path.string());
  find_models(manifest, host, folder, problems);
  TROUPE_TRY(problems.status());
  const auto make_absolute = [&ignored](std::string& file) {
    if (!file.empty()) file = fs::absolute(file, ignored).lexically_normal().string();
  };
  if (!manifest.spec.security().secret_path().empty()) {
    make_absolute(*manifest.spec.mutable_security()->mutable_secret_path());
  }
  for (v1::Manifest::Process& process : *manifest.spec.mutable_roles()) {
    for (std::string* file : {process.mutable_keys_path(), process.mutable_tls_certificate_path(),
                              process.mutable_tls_key_path(), process.mutable_store_path()}) {
      make_absolute(*file);
    }
  }
  return manifest;
}

}  // namespace troupe::launch
