// Thousands of connections that say nothing or nonsense cost the cluster next to nothing.
#include "tests/support/strangers.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <filesystem>
#include <random>

#include "base/concat.hpp"
#include "tests/support/cluster_request.hpp"
#include "tests/support/loopback.hpp"

namespace troupe::testing {
namespace {

class Strangers {
 public:
  ~Strangers() {
    for (const int fd : fds_) ::close(fd);
  }
  void connect(uint16_t port, const std::string& words) {
    const sockaddr_in address = loopback(port);
    const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    REQUIRE(fd >= 0);
    (void)::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address);
    fds_.push_back(fd);
    if (!words.empty()) (void)::send(fd, words.data(), words.size(), MSG_NOSIGNAL);
  }

 private:
  std::vector<int> fds_;
};

size_t open_files(pid_t pid) {
  std::error_code ignored;
  size_t count = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator(concat("/proc/", pid, "/fd"), ignored)) {
    count += entry.path().empty() ? 0 : 1;
  }
  return count;
}

size_t lines_with(const std::string& text, const std::string& words) {
  size_t count = 0;
  for (size_t at = text.find(words); at != std::string::npos; at = text.find(words, at + 1)) {
    ++count;
  }
  return count;
}

TEST_CASE("strangers: 3,000 connections slow nobody, and are bounded in files and memory") {
  TestCluster cluster;
  cluster.up();
  auto client = cluster.client();
  const auto serve_ms = [&](uint64_t seed) {
    const TimeUs before = now_us();
    (void)RunningRequest(*client, request_of(some_tokens(200, seed), 60)).result();
    return (now_us() - before) / 1000;
  };
  (void)serve_ms(1);
  const int64_t alone_ms = std::max<int64_t>(serve_ms(2), serve_ms(3));
  const pid_t head = cluster.pid("head");
  const uint16_t port = cluster.port("head");
  const size_t files = open_files(head);
  const size_t kib = resident_kib(head);
  Strangers strangers;
  // Silent, not TLS, and the first half of a TLS record.
  const std::string kinds[] = {"", "GET / HTTP/1.1\r\n\r\n", std::string("\x16\x03\x01\x02", 4)};
  size_t most_files = 0;
  int64_t slowest_ms = 0;
  for (int i = 0; i < 3000; ++i) {
    strangers.connect(port, kinds[i % 3]);
    if (i % 500 != 499) continue;
    slowest_ms = std::max(slowest_ms, serve_ms(10 + static_cast<uint64_t>(i)));
    most_files = std::max(most_files, open_files(head));
    // A newcomer finds its way in as well.
    CHECK(cluster.run({"status", "--json"}, 20'000).exit_code == 0);
  }
  MESSAGE("a request alone ", alone_ms, " ms, among strangers ", slowest_ms,
          " ms; files of the head ", files, " -> ", most_files, ", memory ", kib, " -> ",
          resident_kib(head), " KiB");
  CHECK(slowest_ms < 3 * alone_ms + 500);
  CHECK(most_files < files + 400);
  CHECK(resident_kib(head) < kib + 64 * 1024);
  CHECK(eventually([&] { return open_files(head) < files + 10; }, 15'000));
  const std::string warnings = cluster.warnings();
  const size_t lines = lines_with(warnings, "away from the control port");
  CHECK(lines >= 1);
  CHECK(lines < 10);
  CHECK(cluster.wait_idle() == "");
}

TEST_CASE(
    "strangers: whatever is said at the data ports, workers live on and streams do not change") {
  ClusterSetup setup;
  setup.more = "transport: {shared_memory: false}\n";
  setup.roles_more = "  - {name: store, run: [kv_store], store_memory: 16MiB}\n";
  TestCluster cluster(std::move(setup));
  cluster.up();
  auto client = cluster.client();
  Reference reference(cluster.model_path());
  std::mt19937 random(9);
  std::string noise(1 << 20, '\0');
  for (char& c : noise) c = static_cast<char>(random());
  // The beginning of a ticket that nobody made.
  const std::string forged = std::string("TRPT\x01\0", 6) + noise.substr(0, 66);
  const std::vector<std::string> kinds = {"",
                                          "GET / HTTP/1.1\r\n\r\n",
                                          noise,
                                          std::string(1 << 20, '\xff'),
                                          forged + noise,
                                          forged.substr(0, 71)};
  std::vector<pid_t> pids;
  std::vector<uint16_t> ports;
  for (const char* name : {"prefill", "decode", "store"}) {
    pids.push_back(cluster.pid(name));
    for (const uint16_t port : listening_ports(pids.back())) {
      if (port != cluster.port(name)) ports.push_back(port);
    }
  }
  REQUIRE(ports.size() == 3);
  {
    std::vector<Stranger> strangers;
    for (int round = 0; round < 4; ++round) {
      for (const uint16_t port : ports) {
        for (const std::string& words : kinds) {
          strangers.emplace_back(port);
          strangers.back().say(words);
        }
      }
      const auto request = request_of(some_tokens(400, 20 + static_cast<uint64_t>(round)), 40);
      const auto got = RunningRequest(*client, request).result();
      check_same(got, reference.run(request));
      CHECK(got.transport == "tcp");
    }
  }
  size_t at = 0;
  for (const char* name : {"prefill", "decode", "store"}) CHECK(cluster.pid(name) == pids[at++]);
  const size_t lines = lines_with(cluster.warnings(), "away from the data port");
  CHECK(lines >= 3);
  CHECK(lines < 12);
  CHECK(cluster.wait_idle() == "");
}

}  // namespace
}  // namespace troupe::testing
