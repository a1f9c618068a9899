// A whole node in this process serves a checkpoint's folder: the fixtures' models, one after the
// other, give the greedy tokens of their references, from tokens and from chat messages.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "actors/client.hpp"
#include "actors/node.hpp"
#include "tests/support/test_files.hpp"

using namespace troupe;

namespace {

actors::GenerateResult generate(actors::Client& client, const actors::GenerateRequest& request) {
  auto result = client.generate_and_wait(request);
  if (!result.ok()) FAIL(result.error().message());
  return *result;
}

void check_served(const std::filesystem::path& folder) {
  CAPTURE(folder.filename().string());
  std::ifstream in(folder / "reference.json");
  const auto reference = nlohmann::json::parse(in);
  actors::NodeOptions options;
  options.name = "local";
  options.roles = {"directory", "router", "front", "prefill", "decode", "draft"};
  options.model_path = folder.string();
  options.worker.compute = cpu::ComputeMode::exact;
  options.worker.threads = 1;
  options.worker.kv_bytes = size_t{64} << 20;
  auto node = actors::Node::start(options);
  if (!node.ok()) FAIL(node.error().message());
  REQUIRE((*node)->wait_joined(10'000).ok());
  auto client = actors::Client::embedded(**node);
  REQUIRE(client.ok());
  for (const auto& prompt : reference.at("prompts")) {
    actors::GenerateRequest request;
    request.token_ids = prompt.at("ids").get<std::vector<int32_t>>();
    request.sampling.temperature = 0;
    request.sampling.max_tokens = 32;
    request.sampling.ignore_eos = true;
    // The second time its prefix is cached, and drafts have been learnt.
    for (int round = 0; round < 2; ++round) {
      const actors::GenerateResult result = generate(**client, request);
      REQUIRE(result.choices.size() == 1);
      CHECK(result.choices[0].token_ids == prompt.at("greedy").get<std::vector<int32_t>>());
      CHECK(result.prompt_tokens == request.token_ids.size());
      if (round == 1 && request.token_ids.size() > 64) CHECK(result.cached_tokens >= 64);
    }
  }
  actors::GenerateRequest chat;
  chat.messages = {{"user", "Hello"}};
  chat.sampling.max_tokens = 4;
  CHECK(generate(**client, chat).prompt_tokens > 0);
}

}  // namespace

TEST_CASE("a node serves a checkpoint's folder of every family") {
  const std::filesystem::path models = testing::fixtures_dir() / "models";
  if (!std::filesystem::is_directory(models)) {
    MESSAGE("SKIPPED: the fixtures are absent (TROUPE_FIXTURES)");
    return;
  }
  for (const auto& entry : std::filesystem::directory_iterator(models)) {
    if (std::filesystem::exists(entry.path() / "config.json")) check_served(entry.path());
  }
}
