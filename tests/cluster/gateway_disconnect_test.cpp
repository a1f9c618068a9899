// Clients of HTTP that go away, wherever their requests are: every block comes back.
#include "tests/gateway/http_client.hpp"
#include "tests/support/cluster_fixture.hpp"
#include "tests/support/loopback.hpp"

namespace troupe::testing {
namespace {

struct Door {
  Door() {
    REQUIRE(port != 0);
    ClusterSetup setup;
    setup.roles_more =
        "  - {name: door, run: [gateway], listen: \"127.0.0.1:" + std::to_string(port) + "\"}\n";
    cluster = std::make_unique<TestCluster>(setup);
    cluster->up();
    client = cluster->client();
    REQUIRE(eventually([&] { return is_ready(port); }, 20'000));
  }

  /// Streams that have long prompts of their own.
  std::vector<RawClient> ask(size_t count, size_t prompt_tokens, uint32_t max_tokens) {
    std::vector<RawClient> peers;
    for (size_t i = 0; i < count; ++i) {
      const Json body = {{"model", "m"},
                         {"prompt", some_tokens(prompt_tokens, ++last_seed)},
                         {"max_tokens", max_tokens},
                         {"stream", true},
                         {"ignore_eos", true}};
      peers.push_back(testing::ask(port, "POST", "/v1/completions", body.dump()));
    }
    return peers;
  }

  /// Some worker is in the state that is looked for.
  bool reaches(const std::function<bool(const actors::WorkerStatus&)>& is_it) {
    return eventually(
        [&] {
          const auto view = client->view(std::chrono::seconds(2));
          return view && std::any_of(view->workers.begin(), view->workers.end(), is_it);
        },
        20'000);
  }

  void leave(std::vector<RawClient> peers) {
    for (RawClient& peer : peers) peer.reset();
    CHECK(cluster->wait_idle(10'000) == "");
  }

  uint16_t port = free_port();
  uint64_t last_seed = 100;
  std::unique_ptr<TestCluster> cluster;
  std::unique_ptr<actors::Client> client;
};

TEST_CASE("gateway: who goes away in a queue, a chunk, a transfer or a stream leaves nothing") {
  Door door;
  SUBCASE("in a queue") {
    auto peers = door.ask(24, 12'000, 50);
    CHECK(door.reaches([](const actors::WorkerStatus& worker) { return worker.waiting > 0; }));
    door.leave(std::move(peers));
  }
  SUBCASE("in a chunk of its prompt") {
    auto peers = door.ask(12, 15'000, 50);
    CHECK(door.reaches([](const actors::WorkerStatus& worker) {
      return worker.name == "prefill" && worker.running > 0;
    }));
    door.leave(std::move(peers));
  }
  SUBCASE("in a transfer") {
    auto peers = door.ask(12, 15'000, 50);
    CHECK(door.reaches([](const actors::WorkerStatus& worker) {
      return worker.name == "decode" && worker.sessions > 0;
    }));
    door.leave(std::move(peers));
  }
  SUBCASE("in a stream") {
    auto peers = door.ask(8, 300, 12'000);
    for (RawClient& peer : peers) REQUIRE(peer.read_until("data: ", 20'000));
    door.leave(std::move(peers));
  }
  SUBCASE("at any time") {
    for (const int delay_ms : {0, 3, 10, 20, 40, 80, 150, 300}) {
      CAPTURE(delay_ms);
      auto peers = door.ask(6, 6'000, 500);
      ::poll(nullptr, 0, delay_ms);
      door.leave(std::move(peers));
    }
  }
  // The door still answers.
  auto after = door.ask(1, 100, 5);
  CHECK(after[0].read_until("[DONE]", 20'000));
}

}  // namespace
}  // namespace troupe::testing
