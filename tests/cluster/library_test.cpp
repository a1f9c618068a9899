// The installed package: an example is built against it, by CMake and by pkg-config, and its stream
// survives the death of the decode worker.
#include "tests/support/cluster_fixture.hpp"
#include "tests/support/folders.hpp"
#include "tests/support/test_files.hpp"

namespace troupe::testing {
namespace {

/// A shell line that has to succeed.
void must(const std::string& line, const std::filesystem::path& folder) {
  const std::vector<std::string> words = {"/bin/sh", "-c", line};
  Program program(words, {}, folder / "shell.out");
  const Finished finished = program.wait(300'000);
  INFO(line);
  INFO(finished.out);
  INFO(finished.err);
  REQUIRE(finished.exit_code == 0);
}

struct Installed {
  std::filesystem::path prefix;
  std::filesystem::path hello;
};

/// With all of libtroupe.a in the program no library can be missing that some object of it needs.
const std::string whole = "-Wl,--whole-archive -ltroupe -Wl,--no-whole-archive";

/// Installs the build that this test belongs to and builds the examples against what lies there.
Installed install(const std::filesystem::path& folder) {
  const std::string build = std::filesystem::path(binary_folder()).parent_path();
  const std::filesystem::path prefix = folder / "installed";
  const std::filesystem::path examples = folder / "examples";
  must("cmake --install " + build + " --prefix " + prefix.string(), folder);
  // A copy, so that nothing of the source tree can be reached by a relative path.
  must("cp -r " + source_folder() + "/examples " + examples.string(), folder);
  must("cmake -S " + examples.string() + " -B " + (examples / "build").string() +
           " -DCMAKE_PREFIX_PATH=" + prefix.string() + " && cmake --build " +
           (examples / "build").string(),
       folder);
  return {prefix, examples / "build" / "hello_client"};
}

std::string text_of(const std::string& out) {
  return out.substr(0, out.rfind("\n["));
}

TEST_CASE("library: an example against the installed package survives its decode worker") {
  if (!std::filesystem::exists(smollm2_path())) {
    MESSAGE("SKIPPED: no model in weights/");
    return;
  }
  ClusterSetup setup;
  setup.model_path = smollm2_path();
  setup.kv_memory = "256MiB";
  TestCluster cluster(setup);
  const Installed installed = install(cluster.path());
  cluster.up();
  const Program::Environment environment = {{"TROUPE_RUN_DIR", (cluster.path() / "run").string()}};
  const std::vector<std::string> words = {installed.hello.string(),
                                          "Write a story of a lighthouse and a ship."};

  Program undisturbed(words, environment, cluster.path() / "hello.out");
  const Finished wanted = undisturbed.wait(120'000);
  INFO(wanted.err);
  REQUIRE(wanted.exit_code == 0);
  REQUIRE(text_of(wanted.out).size() > 100);
  CHECK(wanted.out.find("1 attempt(s)") != std::string::npos);

  Program disturbed(words, environment, cluster.path() / "hello-again.out");
  REQUIRE(eventually([&] { return disturbed.out().size() > 20; }, 60'000));
  cluster.kill("decode");
  const Finished got = disturbed.wait(120'000);
  INFO(got.err);
  REQUIRE(got.exit_code == 0);
  CHECK(text_of(got.out) == text_of(wanted.out));
  CHECK(got.out.find("1 attempt(s)") == std::string::npos);
}

TEST_CASE("library: pkg-config says what a program needs, and a stranger is told what is wrong") {
  TestCluster cluster;
  const std::filesystem::path folder = cluster.path();
  const Installed installed = install(folder);
  std::filesystem::path package;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(installed.prefix)) {
    if (entry.path().filename() == "troupe.pc") package = entry.path().parent_path();
  }
  REQUIRE_FALSE(package.empty());
  must("PKG_CONFIG_PATH=" + package.string() + " && export PKG_CONFIG_PATH && c++ -std=c++20 -o " +
           (folder / "by-hand").string() + " " + source_folder() +
           "/examples/hello_client.cpp $(pkg-config --cflags --libs troupe)",
       folder);
  must("PKG_CONFIG_PATH=" + package.string() + " && export PKG_CONFIG_PATH && c++ -std=c++20 -o " +
           (folder / "whole").string() + " " + source_folder() +
           "/examples/hello_client.cpp $(pkg-config --cflags --libs-only-L troupe) " + whole +
           " $(pkg-config --libs troupe)",
       folder);
  Program program({(folder / "by-hand").string()},
                  {{"TROUPE_RUN_DIR", (folder / "nothing-here").string()}}, folder / "alone.out");
  const Finished alone = program.wait(20'000);
  CHECK(alone.exit_code == 1);
  CHECK(alone.err.find("hello_client: ") != std::string::npos);
  CHECK(alone.err.find("troupe up") != std::string::npos);
}

}  // namespace
}  // namespace troupe::testing
