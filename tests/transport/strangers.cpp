// Whoever reaches the TCP port of the data network without belonging there: silence, garbage, sizes
// beyond all bounds.
#include "tests/support/strangers.hpp"

#include <doctest/doctest.h>

#include <random>
#include <string>
#include <thread>
#include <vector>

#include "tests/transport/peer_process.hpp"

using namespace troupe;
using namespace troupe::transport;
using namespace troupe::testing;
using namespace troupe::transport::testing;

namespace {

constexpr size_t block = 1 << 20;

bool can_be_read(const PeerProcess& source) {
  const LocalEnd end = local_end(block, 8);
  const auto peer = end.transport->connect(source.address(), PathPreference::tcp);
  return peer && end.read(*peer, {granted_token, 0, 0, page_checksum(0, block)}).ok();
}

PeerProcess tcp_source() {
  PeerOptions options;
  options.tcp_only = true;
  return PeerProcess(options);
}

uint16_t data_port_of(const PeerProcess& process) {
  const std::vector<uint16_t> ports = listening_ports(process.pid());
  REQUIRE(ports.size() == 1);
  return ports[0];
}

}  // namespace

TEST_CASE("silence, garbage and announced sizes at the data port cost next to nothing") {
  const PeerProcess source = tcp_source();
  const uint16_t port = data_port_of(source);
  REQUIRE(can_be_read(source));
  const size_t before_kib = resident_kib(source.pid());
  const size_t before_sockets = sockets_of(source.pid()).size();
  std::mt19937 random(3);
  {
    std::vector<Stranger> strangers;
    for (int i = 0; i < 200; ++i) {
      strangers.emplace_back(port);
      std::string words;
      if (i % 4 == 1) words = "GET / HTTP/1.1\r\n\r\n";
      if (i % 4 == 2) words.assign(64, '\xff');  // the largest of every size
      if (i % 4 == 3) {
        words.resize(1 + random() % 100'000);
        for (char& c : words) c = static_cast<char>(random());
      }
      strangers.back().say(words);
    }
    CHECK(can_be_read(source));
    CHECK(resident_kib(source.pid()) < before_kib + 32 * 1024);
  }
  CHECK(can_be_read(source));
  const TimeUs latest = now_us() + 10'000'000;
  while (sockets_of(source.pid()).size() > before_sockets + 8 && now_us() < latest) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  CHECK(sockets_of(source.pid()).size() <= before_sockets + 8);
}
