#include <algorithm>
#include <filesystem>
#include <fstream>
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
  std::ifstream in(folder / "reference.json");
  const auto reference = nlohmann::json::parse(in, nullptr, false);
  if (!reference.is_object() || !reference.contains("prompts")) {
    report.add(name, name, Outcome::failed, "the reference is no JSON object with prompts");
    return;
  }
  model::CheckpointOptions options;
  options.config_file = config;
  const auto model = model::load_checkpoint(folder.string(), options);
  if (!model) {
    report.add(name, name, Outcome::failed, model.error().message());
    return;
  }
  try {
    check_reference(*model, name, reference, {exact}, report);
  } catch (const std::exception& failure) {
    report.add(name, name, Outcome::failed,
               concat("the reference has another form: ", failure.what()));
  }
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
