// Both paths between real processes: right bytes, checksums, permission, restart.
#include <doctest/doctest.h>

#include <cstdlib>
#include <cstring>

#include "tests/transport/peer_process.hpp"

using namespace troupe;
using namespace troupe::transport;
using namespace troupe::transport::testing;

namespace {

constexpr size_t block_bytes = 1474560;  // SmolLM2: 64 tokens in F16
constexpr uint32_t num_pages = 8;

void check_all_pages(const PeerOptions& options, PathPreference preference, const char* path) {
  const PeerProcess source(options);
  const LocalEnd end = local_end(options.block_bytes, options.num_pages);
  const auto peer = end.transport->connect(source.address(), preference);
  REQUIRE(peer.ok());
  CHECK(end.transport->path(*peer) == path);
  for (uint32_t i = 0; i + 1 < options.num_pages; ++i) {
    const uint32_t to = options.num_pages - 1 - i;
    const auto done =
        end.read(*peer, {granted_token, i, to, page_checksum(i, options.block_bytes)});
    REQUIRE_MESSAGE(done.ok(), done.error().message());
    CHECK(name(done->path) == std::string(path));
    CHECK(done->bytes == options.block_bytes);
    const auto expected = page_bytes(i, options.block_bytes);
    CHECK(std::memcmp(end.page(to), expected.data(), expected.size()) == 0);
  }
  CHECK(end.transport->stats().reads_in_progress == 0);
}

struct ForcedTcp {
  ForcedTcp() { setenv("UCX_TLS", "tcp", 1); }
  ~ForcedTcp() { unsetenv("UCX_TLS"); }
};

}  // namespace

TEST_CASE("pages arrive over shared memory") {
  PeerOptions options;
  for (const size_t bytes : {size_t{65536}, block_bytes, size_t{1000}}) {
    options.block_bytes = bytes;
    check_all_pages(options, PathPreference::automatic, "shared_memory");
  }
}

TEST_CASE("pages arrive over TCP") {
  PeerOptions options;
  SUBCASE("asked for by the receiver") {
    for (const size_t bytes : {size_t{65536}, block_bytes, size_t{1000}}) {
      options.block_bytes = bytes;
      check_all_pages(options, PathPreference::tcp, "tcp");
    }
  }
  SUBCASE("UCX_TLS permits TCP alone at the source") {
    options.tcp_only = true;
    check_all_pages(options, PathPreference::automatic, "tcp");
  }
  SUBCASE("UCX_TLS permits TCP alone at the receiver") {
    const ForcedTcp forced;
    check_all_pages(options, PathPreference::automatic, "tcp");
    CHECK(std::getenv("UCX_TLS") == std::string("tcp"));
  }
}

TEST_CASE("pages of the same process are copied") {
  const LocalEnd end = local_end(65536, 4);
  std::memset(end.region.data, 7, 65536);
  const auto peer = end.transport->connect(end.transport->address());
  REQUIRE(peer.ok());
  CHECK(end.transport->path(*peer) == "same_process");
  const std::vector<std::byte> expected(65536, std::byte{7});
  const uint32_t checksum = 0;
  CHECK(end.read(*peer, {1, 0, 2, checksum}).error().code == Code::corrupt);
  CHECK(std::memcmp(end.page(2), expected.data(), expected.size()) == 0);
}

TEST_CASE("a block that does not have its checksum is corrupt") {
  for (const auto preference : {PathPreference::shared_memory, PathPreference::tcp}) {
    const PeerProcess source({});
    const LocalEnd end = local_end(1 << 20, 8);
    const auto peer = end.transport->connect(source.address(), preference);
    REQUIRE(peer.ok());
    const ReadRequest request{granted_token, 0, 0, page_checksum(0, 1 << 20)};
    CHECK(end.read(*peer, request).ok());
    source.command('b');
    const auto broken = end.read(*peer, request);
    REQUIRE(!broken.ok());
    CHECK(broken.error().code == Code::corrupt);
    CHECK(end.transport->stats().checksum_failures == 1);
    source.command('b');
    CHECK(end.read(*peer, request).ok());
  }
}

TEST_CASE("over TCP a source refuses what it has not granted") {
  const PeerProcess source({});
  const LocalEnd end = local_end(1 << 20, 8);
  const auto peer = end.transport->connect(source.address(), PathPreference::tcp);
  REQUIRE(peer.ok());
  CHECK(end.read(*peer, {granted_token, 7, 0, 0}).error().code == Code::failed_precondition);
  CHECK(end.read(*peer, {8, 0, 0, 0}).error().code == Code::failed_precondition);
  CHECK(end.read(*peer, {granted_token, 0, 0, page_checksum(0, 1 << 20)}).ok());
  source.command('r');
  CHECK(end.read(*peer, {granted_token, 0, 0, 0}).error().code == Code::failed_precondition);
  CHECK(*end.page(7) == std::byte{0});
}

TEST_CASE("bad page numbers and peers end with an error, not with a crash") {
  const PeerProcess source({});
  const LocalEnd end = local_end(1 << 20, 4);
  const auto peer = end.transport->connect(source.address());
  REQUIRE(peer.ok());
  CHECK(end.read(*peer, {granted_token, 8, 0, 0}).error().code == Code::invalid_argument);
  CHECK(end.read(*peer, {granted_token, kv::no_page, 0, 0}).error().code == Code::invalid_argument);
  CHECK(end.read(*peer, {granted_token, 0, 4, 0}).error().code == Code::invalid_argument);
  CHECK(end.read(99, {granted_token, 0, 0, 0}).error().code == Code::invalid_argument);
  end.transport->disconnect(*peer);
  CHECK(end.read(*peer, {granted_token, 0, 0, 0}).error().code == Code::invalid_argument);
  CHECK(end.transport->path(*peer).empty());
}

TEST_CASE("connect refuses what cannot work") {
  PeerOptions options;
  options.tcp_only = true;
  const PeerProcess source(options);
  {
    const LocalEnd end = local_end(65536, 4);
    const auto other_size = end.transport->connect(source.address());
    REQUIRE(!other_size.ok());
    CHECK(other_size.error().code == Code::failed_precondition);
    CHECK(other_size.error().what.find("1048576") != std::string::npos);
    CHECK(other_size.error().what.find("65536") != std::string::npos);
  }
  const LocalEnd end = local_end(1 << 20, 4);
  CHECK(end.transport->connect("").error().code == Code::corrupt);
  CHECK(end.transport->connect(source.address(), PathPreference::shared_memory).error().code ==
        Code::unsupported);
  TransportOptions no_tcp;
  no_tcp.tcp = false;
  const LocalEnd direct_only = local_end(1 << 20, 4, no_tcp);
  CHECK(direct_only.transport->connect(source.address()).error().code == Code::unsupported);
}

TEST_CASE("start says what is wrong with its options") {
  TransportOptions options;
  options.data_address = "203.0.113.77";
  CHECK(Transport::start(options).error().code == Code::not_found);
  options.data_address = "127.0.0.1";
  options.shared_memory = false;
  options.tcp = false;
  CHECK(Transport::start(options).error().code == Code::invalid_argument);
}
