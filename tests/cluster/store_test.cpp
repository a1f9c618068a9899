// A store outlives the workers: what they computed is read from it, whatever happens to either.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <filesystem>

#include "tests/support/cluster_request.hpp"

namespace troupe::testing {
namespace {

ClusterSetup setup_with_store(const std::string& store_memory = "64MiB") {
  ClusterSetup setup;
  setup.decodes = 2;
  setup.roles_more = "  - {name: store, run: [kv_store], store_memory: " + store_memory + "}\n";
  return setup;
}

/// Long enough that reading it beats computing it by far.
actors::GenerateRequest long_request(uint64_t seed, size_t tokens = 6000) {
  return request_of(some_tokens(tokens, seed), 40, 1.0f, seed);
}

Json store_of(TestCluster& cluster) {
  const Json stores = cluster.status()["stores"];
  REQUIRE(stores.size() == 1);
  return stores[0];
}

/// Waits until the store has taken in what the workers computed.
bool holds(TestCluster& cluster, uint32_t blocks) {
  return eventually(
      [&] {
        const Json store = store_of(cluster);
        return store["blocks"].get<uint32_t>() >= blocks && store["blocks_arriving"] == 0;
      },
      20'000);
}

void restart_workers(TestCluster& cluster) {
  const std::vector<std::string> workers = {"prefill", "decode-1", "decode-2"};
  std::vector<uint64_t> before;
  for (const std::string& name : workers) before.push_back(cluster.incarnation(name));
  for (const std::string& name : workers) cluster.kill(name);
  for (size_t i = 0; i < workers.size(); ++i) CHECK(cluster.is_back(workers[i], before[i]));
  CHECK(cluster.wait_idle(20'000) == "");
}

TEST_CASE("store: the same prompt is read, not computed, after every worker was killed") {
  TestCluster cluster(setup_with_store());
  cluster.up();
  Reference reference(cluster.model_path());
  const auto request = long_request(3);
  const auto wanted = reference.run(request);
  auto client = cluster.client();
  const auto cold = RunningRequest(*client, request).result();
  check_same(cold, wanted);
  CHECK(cold.cached_tokens == 0);
  REQUIRE(holds(cluster, 93));

  restart_workers(cluster);
  const auto warm = RunningRequest(*client, request).result();
  check_same(warm, wanted);
  CHECK(warm.cached_tokens == 93 * 64);
  CHECK(warm.blocks_moved == 93);
  MESSAGE("first token, ms: cold " << cold.ttft_ms << ", from the store " << warm.ttft_ms);
  CHECK(eventually([&] { return store_of(cluster)["hits"] == 93; }, 5'000));
  CHECK(cluster.wait_idle(20'000) == "");

  // A router that was restarted knows exactly what the store holds.
  const uint64_t before = cluster.incarnation("head");
  cluster.kill("head");
  CHECK(cluster.is_back("head", before));
  CHECK(cluster.wait_idle(20'000) == "");
  // The store tells its numbers a few times a second, the router knows its own at once.
  CHECK(store_of(cluster)["blocks_known"].get<uint32_t>() >= 93);
  CHECK(eventually(
      [&] {
        const Json store = store_of(cluster);
        return store["blocks"] == store["blocks_known"];
      },
      5'000));
  restart_workers(cluster);
  const auto again = RunningRequest(*client, request).result();
  check_same(again, wanted);
  CHECK(again.cached_tokens == 93 * 64);
}

/// Changes a byte of every 4 KiB of the largest shared memory that the process has open.
size_t damage_memory(pid_t pid) {
  std::string largest;
  size_t largest_bytes = 0;
  std::error_code ignored;
  for (const auto& entry :
       std::filesystem::directory_iterator("/proc/" + std::to_string(pid) + "/fd", ignored)) {
    const std::string target = std::filesystem::read_symlink(entry.path(), ignored).string();
    struct stat info {};
    if (!target.starts_with("/dev/shm/") || ::stat(entry.path().c_str(), &info) != 0) continue;
    if (static_cast<size_t>(info.st_size) <= largest_bytes) continue;
    largest_bytes = static_cast<size_t>(info.st_size);
    largest = entry.path();
  }
  const int fd = ::open(largest.c_str(), O_RDWR | O_CLOEXEC);
  if (fd < 0) return 0;
  void* memory = ::mmap(nullptr, largest_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  ::close(fd);
  if (memory == MAP_FAILED) return 0;
  // The last page holds the stamp by which readers know whose memory it is.
  for (size_t at = 0; at + 4096 < largest_bytes; at += 4096) {
    static_cast<unsigned char*>(memory)[at] ^= 1;
  }
  ::munmap(memory, largest_bytes);
  return largest_bytes;
}

TEST_CASE("store: blocks that were damaged in its memory are computed, named and forgotten") {
  TestCluster cluster(setup_with_store());
  cluster.up();
  Reference reference(cluster.model_path());
  const auto request = long_request(4);
  const auto wanted = reference.run(request);
  auto client = cluster.client();
  check_same(RunningRequest(*client, request).result(), wanted);
  REQUIRE(holds(cluster, 93));
  REQUIRE(damage_memory(cluster.pid("store")) >= 64u << 20);
  restart_workers(cluster);
  const auto got = RunningRequest(*client, request).result();
  check_same(got, wanted);
  CHECK(got.cached_tokens == 0);
  CHECK(eventually([&] { return store_of(cluster)["corrupt"].get<uint64_t>() > 0; }, 5'000));
  CHECK(cluster.warnings().find("is damaged in this store's memory") != std::string::npos);
  CHECK(cluster.wait_idle(20'000) == "");
}

TEST_CASE("store: killed or stopped while others read from it, it costs time but no byte") {
  TestCluster cluster(setup_with_store());
  cluster.up();
  Reference reference(cluster.model_path());
  std::vector<actors::GenerateRequest> requests;
  std::vector<actors::GenerateResult> wanted;
  for (uint64_t seed = 11; seed < 15; ++seed) {
    requests.push_back(long_request(seed, 3000));
    wanted.push_back(reference.run(requests.back()));
  }
  auto client = cluster.client();
  for (const auto& request : requests) RunningRequest(*client, request).result();
  REQUIRE(holds(cluster, 4 * 46));
  bool stops = false;
  SUBCASE("killed") {}
  SUBCASE("stopped") {
    stops = true;
  }
  restart_workers(cluster);
  const uint64_t before = cluster.incarnation("store");
  const pid_t store = cluster.pid("store");
  std::vector<std::unique_ptr<RunningRequest>> running;
  for (const auto& request : requests) {
    running.push_back(std::make_unique<RunningRequest>(*client, request));
  }
  ::poll(nullptr, 0, 15);
  REQUIRE(::kill(store, stops ? SIGSTOP : SIGKILL) == 0);
  for (size_t i = 0; i < requests.size(); ++i) check_same(running[i]->result(), wanted[i]);
  // A new prompt while it is gone or silent.
  const auto other = long_request(21, 1000);
  check_same(RunningRequest(*client, other).result(), reference.run(other));
  if (stops) {
    REQUIRE(::kill(store, SIGCONT) == 0);
  } else {
    CHECK(cluster.is_back("store", before));
  }
  CHECK(cluster.wait_idle(30'000) == "");
  check_same(RunningRequest(*client, requests[0]).result(), wanted[0]);
  const auto last = long_request(22, 3000);
  check_same(RunningRequest(*client, last).result(), reference.run(last));
  CHECK(holds(cluster, 46));
}

TEST_CASE("store: one that is too small for what it is offered keeps to its limit") {
  TestCluster cluster(setup_with_store("1MiB"));
  cluster.up();
  Reference reference(cluster.model_path());
  auto client = cluster.client();
  for (uint64_t seed = 31; seed < 34; ++seed) {
    const auto request = long_request(seed, 3000);
    check_same(RunningRequest(*client, request).result(), reference.run(request));
  }
  CHECK(cluster.wait_idle(20'000) == "");
  const Json store = store_of(cluster);
  CHECK(store["bytes"].get<uint64_t>() <= 1u << 20);
  CHECK(store["blocks_total"].get<uint64_t>() * store["block_bytes"].get<uint64_t>() <= 1u << 20);
  CHECK(store["refused"].get<uint64_t>() + store["evicted"].get<uint64_t>() > 0);
}

}  // namespace
}  // namespace troupe::testing
