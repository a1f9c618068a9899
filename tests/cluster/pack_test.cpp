// troupe pack, and what serves the model then.
#include "tests/support/cluster_fixture.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tests/support/test_files.hpp"

namespace troupe::testing {
namespace {

TEST_CASE("pack: a packed model says the same, mapped, copied or damaged") {
  if (!std::filesystem::exists(smollm2_path())) {
    MESSAGE("SKIPPED: no model in weights/");
    return;
  }
  const TemporaryFolder folder;
  const std::string model = folder.path("model.gguf"), troupe = binary_folder() + "/troupe";
  std::filesystem::copy_file(smollm2_path(), model);
  const auto run = [&](const std::vector<std::string>& words, const std::string& use) {
    Program::Environment environment = {{"TROUPE_LOG", "info"}};
    if (!use.empty()) environment.emplace_back("TROUPE_PACK", use);
    Program program(words, environment, folder.path("out"));
    Finished finished = program.wait(120'000);
    INFO(finished.err);
    REQUIRE(finished.exit_code == 0);
    return finished;
  };
  const auto generate = [&](const std::string& use) {
    return run({troupe, "generate", "--model", model, "--max-tokens", "12", "Count to five."}, use);
  };
  const std::string text = generate("").out;
  REQUIRE(text.size() > 12);
  CHECK(run({troupe, "pack", model, "--json"}, "").out.find("\"matrices\":211") !=
        std::string::npos);
  REQUIRE(std::filesystem::exists(model + ".pack"));

  const auto said = [&](const std::string& use, const std::string& log) {
    const Finished finished = generate(use);
    CHECK(finished.out == text);
    CHECK_MESSAGE(finished.err.find(log) != std::string::npos, finished.err);
  };
  said("", "copied from");
  said("map", "mapped from");
  said("off", "weights: packed");
  said("nonsense", "expected map, copy or off");
  {
    std::fstream file(model + ".pack", std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(1'000'000);
    file.put('\x55').put('\x55').put('\x55').put('\x55');
  }
  said("", "the pack is not used");
}

}  // namespace
}  // namespace troupe::testing
