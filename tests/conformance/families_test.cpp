// The fixtures' checkpoints: one small model of each family against its reference, and the
// invariance contract for each. Without the fixtures there is nothing to run.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "model/load_checkpoint.hpp"
#include "tests/check/model_cases.hpp"
#include "tests/support/all_ways.hpp"
#include "tests/support/test_files.hpp"
#include "text/tokenizer_file.hpp"

using namespace troupe;

namespace {

std::vector<std::filesystem::path> checkpoints() {
  std::vector<std::filesystem::path> found;
  const std::filesystem::path folder = testing::fixtures_dir() / "models";
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(folder, ignored)) {
    if (std::filesystem::exists(entry.path() / "reference.json")) found.push_back(entry.path());
  }
  std::sort(found.begin(), found.end());
  if (found.empty()) MESSAGE("SKIPPED: no checkpoints in ", folder.string());
  return found;
}

Result<text::TokenizerSpec> read_tokenizer(const std::string& folder) {
  TROUPE_ASSIGN(text::LoadedTokenizer loaded, text::read_tokenizer_file(folder, {}));
  return std::move(loaded.spec);
}

}  // namespace

TEST_CASE("every family agrees with its reference, in both spellings of its configuration") {
  if (checkpoints().empty()) return;
  for (const bool exact : {true, false}) {
    check::Report report;
    const Status status =
        check::check_models((testing::fixtures_dir() / "models").string(), exact, report);
    REQUIRE(status.ok());
    CHECK(report.cases.size() >= 2 * 22 * 4);
    for (const check::CaseResult& one : report.cases) {
      CAPTURE(one.id);
      CAPTURE(one.why);
      CHECK(one.outcome == check::Outcome::passed);
    }
  }
}

TEST_CASE("every family: chunks, company, threads and instruction sets give the same bits") {
  for (const std::filesystem::path& folder : checkpoints()) {
    const auto model = model::load_checkpoint(folder.string(), {});
    if (!model.ok()) FAIL(model.error().message());
    CAPTURE(folder.filename().string());
    testing::ways::check_all_ways(*model, {});
  }
}

TEST_CASE("a checkpoint brings its tokenizer, its template and its stop ids") {
  for (const std::filesystem::path& folder : checkpoints()) {
    const auto model = model::load_model(folder.string(), read_tokenizer);
    if (!model.ok()) FAIL(model.error().message());
    CAPTURE(folder.filename().string());
    const text::TokenizerSpec& spec = (*model)->tokenizer;
    CHECK(!spec.tokens.empty());
    CHECK(!spec.chat_template.empty());
    CHECK(!spec.stop_ids.empty());
  }
}
