// Bytes that one process said to another's data port, recorded on the way and said again: to the
// same port, to others, whole and in parts. Without a guard UCX 1.13 ends the process at that.
#include <doctest/doctest.h>
#include <poll.h>

#include <atomic>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/strangers.hpp"
#include "tests/transport/peer_process.hpp"
#include "transport/address.hpp"
#include "transport/ticket.hpp"

using namespace troupe;
using namespace troupe::testing;
using namespace troupe::transport;
using namespace troupe::transport::testing;

namespace {

constexpr size_t block = 1 << 20;

std::string bytes_of(uint16_t port) {
  return {static_cast<char>(port >> 8), static_cast<char>(port & 255)};
}

/// Relays connections to a port and keeps what their openers say. In the answers it puts its own
/// port for that of the target: UCX compares what a peer says of itself with where it was found.
class Recorder {
 public:
  explicit Recorder(uint16_t target) : target_(target) {
    listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address = loopback(0);
    socklen_t size = sizeof address;
    auto* const raw = reinterpret_cast<sockaddr*>(&address);
    REQUIRE(::bind(listener_, raw, size) == 0);
    REQUIRE(::listen(listener_, 64) == 0);
    REQUIRE(::getsockname(listener_, raw, &size) == 0);
    port = ntohs(address.sin_port);
    thread_ = std::thread([this] { run(); });
  }
  ~Recorder() {
    stop_ = true;
    thread_.join();
    ::close(listener_);
    for (const Relay& relay : relays_) {
      ::close(relay.opener);
      ::close(relay.target);
    }
  }
  std::vector<std::string> said() {
    const std::lock_guard lock(mutex_);
    std::vector<std::string> all;
    for (const Relay& relay : relays_) all.push_back(relay.said);
    return all;
  }

  uint16_t port = 0;

 private:
  struct Relay {
    int opener = -1;
    int target = -1;
    std::string said;
    bool open = true;
  };

  void run() {
    while (!stop_) {
      std::vector<pollfd> wait{{listener_, POLLIN, 0}};
      for (const Relay& relay : relays_) {
        wait.push_back({relay.open ? relay.opener : -1, POLLIN, 0});
        wait.push_back({relay.open ? relay.target : -1, POLLIN, 0});
      }
      if (::poll(wait.data(), wait.size(), 20) <= 0) continue;
      const std::lock_guard lock(mutex_);
      for (size_t i = 0; i < relays_.size(); ++i) {
        Relay& relay = relays_[i];
        if (wait[2 * i + 1].revents != 0) pass(relay, relay.opener, relay.target, &relay.said);
        if (wait[2 * i + 2].revents != 0) pass(relay, relay.target, relay.opener, nullptr);
      }
      if (wait[0].revents != 0) begin();
    }
  }
  void begin() {
    Relay relay;
    relay.opener = ::accept(listener_, nullptr, nullptr);
    relay.target = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const sockaddr_in address = loopback(target_);
    relay.open =
        ::connect(relay.target, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
    relays_.push_back(relay);
  }
  void pass(Relay& relay, int from, int to, std::string* kept) const {
    std::string bytes(1 << 16, '\0');
    const ssize_t n = relay.open ? ::recv(from, bytes.data(), bytes.size(), 0) : 0;
    bytes.resize(n > 0 ? static_cast<size_t>(n) : 0);
    if (kept != nullptr) {
      kept->append(bytes);
    } else {
      const std::string family("\x02\0", 2);
      const size_t at = bytes.find(family + bytes_of(target_) + "\x7f");
      if (at != std::string::npos) bytes.replace(at + 2, 2, bytes_of(port));
    }
    if (n > 0 && ::send(to, bytes.data(), bytes.size(), MSG_NOSIGNAL) == n) return;
    relay.open = false;
    ::shutdown(from, SHUT_RDWR);
    ::shutdown(to, SHUT_RDWR);
  }

  uint16_t target_;
  int listener_ = -1;
  std::atomic<bool> stop_{false};
  std::mutex mutex_;
  std::vector<Relay> relays_;
  std::thread thread_;
};

/// The same process, reached through another port of this machine.
std::string by_way_of(const std::string& blob, uint16_t port) {
  auto address = parse_address(blob);
  REQUIRE(address.ok());
  const std::string wanted = bytes_of(address->data_socket.port);
  const size_t at = address->tcp_worker.find(wanted);
  REQUIRE(at != std::string::npos);
  REQUIRE(address->tcp_worker.find(wanted, at + 1) == std::string::npos);
  address->tcp_worker.replace(at, 2, bytes_of(port));
  address->data_socket.port = port;
  return encode(*address);
}

PeerOptions tcp_only() {
  PeerOptions options;
  options.tcp_only = true;
  return options;
}

uint16_t port_of(const PeerProcess& process) {
  return parse_address(process.address())->data_socket.port;
}

bool can_read(const LocalEnd& end, const std::string& address) {
  const auto peer = end.transport->connect(address, PathPreference::tcp);
  return peer && end.read(*peer, {granted_token, 0, 0, page_checksum(0, block)}).ok();
}

/// What a process said that read from `source`.
std::string record(const PeerProcess& source) {
  Recorder recorder(port_of(source));
  const LocalEnd end = local_end(block, 8);
  REQUIRE(can_read(end, by_way_of(source.address(), recorder.port)));
  const std::vector<std::string> said = recorder.said();
  REQUIRE(said.size() == 1);
  REQUIRE(said[0].size() > 2 * ticket_bytes);
  REQUIRE(said[0].starts_with("TRPT"));
  return said[0];
}

}  // namespace

TEST_CASE("a recorded connection that is played again is turned away, and harms nobody") {
  std::optional<PeerProcess> source(std::in_place, tcp_only());
  const PeerProcess other(tcp_only());
  const std::string said = record(*source);
  const LocalEnd end = local_end(block, 8);
  const std::string ucx_only = said.substr(ticket_bytes);
  std::string altered = said;
  altered[ticket_bytes - 1] = static_cast<char>(altered[ticket_bytes - 1] ^ 1);
  const auto play_all = [&](const PeerProcess& process) {
    REQUIRE(can_read(end, process.address()));
    for (int round = 0; round < 3; ++round) {
      for (const std::string& words : {said, ucx_only, altered, said.substr(0, ticket_bytes),
                                       said.substr(0, ticket_bytes - 1), said + said}) {
        const Stranger stranger(port_of(process));
        stranger.say(words);
        CHECK(stranger.hear(5000) == "");
      }
    }
    CHECK(can_read(end, process.address()));
    CHECK_MESSAGE(process.output().find("connections away from the data port") != std::string::npos,
                  process.output());
  };
  play_all(*source);
  play_all(other);
  // The process behind the address starts anew.
  source.reset();
  source.emplace(tcp_only());
  play_all(*source);
}

TEST_CASE("who says nothing is sent away by the system's timer") {
  const PeerProcess source(tcp_only());
  const Stranger stranger(port_of(source));
  CHECK(stranger.hear(20'000) == "");
  const LocalEnd end = local_end(block, 8);
  CHECK(can_read(end, source.address()));
}

TEST_CASE("transports with other keys do not reach each other over TCP") {
  const PeerProcess source(tcp_only());
  TransportOptions options;
  options.key = "the key of another cluster";
  options.read_timeout_us = 3'000'000;
  const LocalEnd stranger = local_end(block, 8, options);
  CHECK(!can_read(stranger, source.address()));
  const LocalEnd end = local_end(block, 8);
  CHECK(can_read(end, source.address()));
  CHECK(end.transport->stats().connections_refused == 0);
}

TEST_CASE("connections that were turned away are counted") {
  const LocalEnd end = local_end(block, 8);
  const auto address = parse_address(end.transport->address());
  REQUIRE(address.ok());
  for (int i = 0; i < 100; ++i) {
    const Stranger stranger(address->data_socket.port);
    stranger.say("GET / HTTP/1.1\r\n\r\n");
    CHECK(stranger.hear(5000) == "");
  }
  CHECK(end.transport->stats().connections_refused == 100);
}
