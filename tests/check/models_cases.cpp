#include <algorithm>
#include <filesystem>
#include <vector>

#include "base/concat.hpp"
#include "model/load_checkpoint.hpp"
#include "tests/check/model_cases.hpp"
#include "tests/check/reference_run.hpp"

namespace troupe::check {

namespace {

namespace fs = std::filesystem;

void check_checkpoint(const fs::path& folder, const std::string& config, bool exact,
                      Report& report) {
  const std::string name = concat(folder.filename().string(), "/", config);
  model::CheckpointOptions options;
  options.config_file = config;
  check_reference_file((folder / "reference.json").string(), name,
                       [&] { return model::load_checkpoint(folder.string(), options); }, {exact},
                       report);
}

}  // namespace

Status check_models(const std::string& path, bool exact, Report& report) {
  const fs::path root = fs::absolute(path).lexically_normal();
  std::vector<fs::path> folders;
  std::error_code ignored;
  if (fs::exists(root / "reference.json", ignored)) {
    folders.push_back(root.filename().empty() ? root.parent_path() : root);
  } else if (fs::is_directory(root, ignored)) {
    for (const auto& entry : fs::directory_iterator(root)) {
      if (fs::exists(entry.path() / "reference.json")) folders.push_back(entry.path());
    }
    std::ranges::sort(folders);
  }
  if (folders.empty()) {
    return error(Code::not_found, concat(path, ": there are no checkpoints with references"),
                 "a folder with config.json and reference.json, or a folder of such folders");
  }
  for (const fs::path& folder : folders) {
    for (const char* config : {"config.json", "config.legacy.json"}) {
      if (fs::exists(folder / config)) check_checkpoint(folder, config, exact, report);
    }
  }
  return {};
}

}  // namespace troupe::check
