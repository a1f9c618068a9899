// What the processes of a cluster said to each other, recorded on the wire and said again.
#include <algorithm>
#include <iterator>

#include "tests/support/cluster_request.hpp"
#include "tests/support/strangers.hpp"
#include "tests/support/wiretap.hpp"

namespace troupe::testing {
namespace {

constexpr size_t recordings_per_port_max = 6;

/// Whole, cut, doubled, and without its first bytes.
std::vector<std::string> variants(const std::string& said) {
  return {said, said.substr(0, said.size() / 2), said.substr(0, 100), said + said,
          said.substr(std::min<size_t>(72, said.size()))};
}

TEST_CASE("replays: recorded connections said again at every port change nothing and end nobody") {
  Wiretap wiretap;
  if (!wiretap.works()) {
    MESSAGE("SKIPPED: recording needs CAP_NET_RAW");
    return;
  }
  ClusterSetup setup;
  setup.decodes = 2;
  setup.more = "transport: {shared_memory: false}\n";
  setup.roles_more = "  - {name: store, run: [kv_store], store_memory: 16MiB}\n";
  TestCluster cluster(std::move(setup));
  cluster.up();
  auto client = cluster.client();
  Reference reference(cluster.model_path());
  const auto serve = [&](uint64_t seed) {
    const auto request = request_of(some_tokens(400, seed), 40);
    auto got = RunningRequest(*client, request).result();
    check_same(got, reference.run(request));
    return got.transport;
  };
  for (uint64_t seed = 1; seed <= 3; ++seed) serve(seed);
  CHECK(cluster.wait_idle() == "");
  // The next incarnations find the first prompts in the store.
  for (const char* worker : {"prefill", "decode-1", "decode-2"}) cluster.kill(worker);
  for (const char* worker : {"prefill", "decode-1", "decode-2"}) {
    REQUIRE(cluster.is_back(worker, 1));
  }
  for (uint64_t seed = 1; seed <= 6; ++seed) serve(seed);
  wiretap.stop();

  const std::vector<std::string> names = {"head", "prefill", "decode-1", "decode-2", "store"};
  std::vector<pid_t> pids;
  std::vector<uint16_t> ports;
  std::vector<std::string> said;
  for (const std::string& name : names) {
    pids.push_back(cluster.pid(name));
    bool has_data = false;
    for (const uint16_t port : listening_ports(pids.back())) {
      ports.push_back(port);
      auto recorded = wiretap.said_to(port);
      if (recorded.size() > recordings_per_port_max) recorded.resize(recordings_per_port_max);
      has_data = has_data || (port != cluster.port(name) && !recorded.empty());
      std::ranges::move(recorded, std::back_inserter(said));
    }
    CAPTURE(name);
    if (name == "prefill" || name == "store") CHECK(has_data);  // they were read from
  }
  REQUIRE(ports.size() == 9);
  MESSAGE(said.size(), " recordings at ", ports.size(), " ports");

  std::vector<size_t> kib;
  for (const pid_t pid : pids) kib.push_back(resident_kib(pid));
  uint64_t seed = 100;
  for (const std::string& recording : said) {
    std::vector<Stranger> strangers;
    for (const uint16_t port : ports) {
      for (const std::string& words : variants(recording)) {
        strangers.emplace_back(port);
        strangers.back().say(words);
      }
    }
    CHECK(serve(seed++) == "tcp");
  }
  for (size_t i = 0; i < names.size(); ++i) {
    CAPTURE(names[i]);
    CHECK(cluster.pid(names[i]) == pids[i]);
    CHECK(resident_kib(pids[i]) < kib[i] + 64 * 1024);
  }
  CHECK(cluster.wait_idle() == "");
}

}  // namespace
}  // namespace troupe::testing
