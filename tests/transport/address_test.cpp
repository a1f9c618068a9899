// The address blob, frame headers, host identity and the environment.
#include "transport/address.hpp"

#include <doctest/doctest.h>

#include <cstdlib>

#include "transport/environment.hpp"
#include "transport/frames.hpp"
#include "transport/limits.hpp"

using namespace troupe;
using namespace troupe::transport;

namespace {

Address sample() {
  Address address;
  address.incarnation = 42;
  address.host = host_identity();
  address.shm_worker = std::string(75, 's');
  address.tcp_worker = std::string(50, 't');
  address.data_socket = {0x7f000001, 40001};
  address.pool = {0x7f0000000000, 1474560, 64, 0x7f0000000000 + 64 * 1474560, std::string(35, 'k')};
  return address;
}

}  // namespace

TEST_CASE("an address comes back as it was") {
  const auto parsed = parse_address(encode(sample()));
  REQUIRE(parsed.ok());
  CHECK(*parsed == sample());
  Address bare;
  bare.incarnation = 1;
  CHECK(*parse_address(encode(bare)) == bare);
}

TEST_CASE("a truncated or damaged address is refused") {
  const std::string blob = encode(sample());
  CHECK(blob.size() < limits::address_bytes_max);
  for (size_t size = 0; size < blob.size(); ++size) {
    CHECK(!parse_address(blob.substr(0, size)).ok());
  }
  for (size_t bit = 0; bit < blob.size() * 8; ++bit) {
    std::string damaged = blob;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << (bit % 8)));
    CHECK(!parse_address(damaged).ok());
  }
  CHECK(!parse_address(blob + "x").ok());
  CHECK(!parse_address(std::string(limits::address_bytes_max + 1, 'x')).ok());
}

TEST_CASE("an address that contradicts itself is refused") {
  const auto refused = [](auto change) {
    Address address = sample();
    change(address);
    const auto parsed = parse_address(encode(address));
    return !parsed.ok() && parsed.error().code == Code::corrupt;
  };
  CHECK(refused([](Address& a) { a.incarnation = 0; }));
  CHECK(refused([](Address& a) { a.data_socket = {}; }));
  CHECK(refused([](Address& a) { a.tcp_worker.clear(); }));
  CHECK(refused([](Address& a) { a.pool.block_bytes = 0; }));
  CHECK(refused([](Address& a) { a.pool.block_bytes = limits::block_bytes_max + 1; }));
  CHECK(refused([](Address& a) { a.pool.num_pages = 0; }));
  CHECK(refused([](Address& a) { a.pool.base = UINT64_MAX - 10; }));
  CHECK(refused([](Address& a) { a.pool.stamp = a.pool.base; }));
  CHECK(refused([](Address& a) { a.pool.rkey.clear(); }));
  CHECK(refused([](Address& a) { a.pool.rkey.resize(limits::rkey_bytes_max + 1); }));
  CHECK(refused([](Address& a) { a.tcp_worker.resize(limits::worker_address_bytes_max + 1); }));
}

TEST_CASE("frame headers of another size, kind, magic or version are nothing") {
  DataFrame data;
  data.head.kind = static_cast<uint16_t>(FrameKind::data);
  const auto bytes = [](const auto& frame) { return std::as_bytes(std::span(&frame, 1)); };
  CHECK(parse_data(bytes(data)).has_value());
  CHECK(!parse_want(bytes(data)).has_value());
  CHECK(!parse_data(bytes(data).first(55)).has_value());
  CHECK(!parse_data({}).has_value());
  DataFrame other = data;
  other.head.magic ^= 1;
  CHECK(!parse_data(bytes(other)).has_value());
  other = data;
  other.head.version = 2;
  CHECK(!parse_data(bytes(other)).has_value());
  RefusedFrame refused;
  refused.head.kind = static_cast<uint16_t>(FrameKind::refused);
  CHECK(!parse_refused(bytes(refused)).has_value());
  refused.reason = refusal_last + 1;
  CHECK(!parse_refused(bytes(refused)).has_value());
  refused.reason = refusal_last;
  CHECK(parse_refused(bytes(refused)).has_value());
}

TEST_CASE("pieces cover a block exactly") {
  for (const uint64_t block : {uint64_t{1}, uint64_t{65536}, uint64_t{1474560}}) {
    uint64_t sum = 0;
    for (uint64_t i = 0; i < num_pieces(block, 65536); ++i) {
      sum += piece_length(block, 65536, i * 65536);
    }
    CHECK(sum == block);
  }
}

TEST_CASE("shared memory needs one host, namespaces and user") {
  const HostIdentity here = host_identity();
  CHECK(why_not_shared(here, here).empty());
  for (int part = 0; part < 5; ++part) {
    HostIdentity there = here;
    if (part == 0) there.boot_id[0] ^= 1;
    if (part == 1) ++there.pid_namespace;
    if (part == 2) ++there.ipc_namespace;
    if (part == 3) ++there.user_namespace;
    if (part == 4) ++there.uid;
    CHECK(!why_not_shared(here, there).empty());
  }
  CHECK(!why_not_shared({}, {}).empty());
}

TEST_CASE("UCX_TLS restricts the paths") {
  const auto allows = [](const char* value, bool shm, bool tcp) {
    const AllowedPaths paths = parse_ucx_tls(value);
    return paths.shared_memory == shm && paths.tcp == tcp;
  };
  CHECK(allows("", true, true));
  CHECK(allows("all", true, true));
  CHECK(allows("tcp", false, true));
  CHECK(allows("tcp,self", false, true));
  CHECK(allows("posix,self", true, false));
  CHECK(allows("sm,tcp", true, true));
  CHECK(allows("^tcp", true, false));
  CHECK(allows("^posix,sysv", false, true));
  CHECK(allows("rc", false, false));
}

TEST_CASE("a scoped environment puts everything back") {
  setenv("TROUPE_TEST_A", "before", 1);
  unsetenv("TROUPE_TEST_B");
  {
    const ScopedEnvironment scope({{"TROUPE_TEST_A", "1"}, {"TROUPE_TEST_B", "2"}});
    CHECK(std::getenv("TROUPE_TEST_B") == std::string("2"));
  }
  CHECK(std::getenv("TROUPE_TEST_A") == std::string("before"));
  CHECK(std::getenv("TROUPE_TEST_B") == nullptr);
  CHECK(*device_of_address("127.0.0.1") == "lo");
  CHECK(*device_of_address("localhost") == "lo");
  CHECK(device_of_address("not an address").error().code == Code::not_found);
  CHECK(device_of_address("127.0.0.2").error().message().find("this host has 127.0.0.1") !=
        std::string::npos);
  CHECK(missing_environment().empty());
}
