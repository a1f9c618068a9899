#include <algorithm>
#include <filesystem>
#include <fstream>
#include <vector>

#include "base/concat.hpp"
#include "tests/check/model_cases.hpp"
#include "tests/check/reference_run.hpp"

namespace troupe::check {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view reference_ending = ".reference.json";

/// NAME.gguf for NAME.gguf and for NAME.reference.json.
fs::path model_of(const fs::path& file) {
  const std::string name = file.filename().string();
  if (!name.ends_with(reference_ending)) return file;
  return file.parent_path() / (name.substr(0, name.size() - reference_ending.size()) + ".gguf");
}

void check_file(const fs::path& file, bool exact, Report& report) {
  const std::string name = file.stem().string();
  const fs::path reference = file.parent_path() / concat(name, reference_ending);
  if (!std::ifstream(reference)) {
    report.add(name, name, Outcome::skipped, concat("there is no ", name, reference_ending));
    return;
  }
  check_reference_file(
      reference.string(), name, [&] { return model::load_model(file.string()); }, {exact}, report);
}

}  // namespace

Status check_gguf(const std::string& path, bool exact, Report& report) {
  std::vector<fs::path> files;
  std::error_code ignored;
  if (fs::is_directory(path, ignored)) {
    for (const auto& entry : fs::directory_iterator(path)) {
      if (entry.path().extension() == ".gguf") files.push_back(entry.path());
    }
    std::ranges::sort(files);
  } else if (fs::exists(model_of(path), ignored)) {
    files.push_back(model_of(path));
  }
  if (files.empty()) {
    return error(Code::not_found, concat(path, ": there are no GGUF files"),
                 "a folder of NAME.gguf with NAME.reference.json, or one such file");
  }
  for (const fs::path& file : files) check_file(file, exact, report);
  return {};
}

}  // namespace troupe::check
