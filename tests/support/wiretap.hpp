// What processes say to each other over loopback, heard on the wire: recordings of real
// connections.
#pragma once

#include <arpa/inet.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <netinet/ip.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <map>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace troupe::testing {

class Wiretap {
 public:
  static constexpr size_t stream_bytes_max = 4 << 20;

  Wiretap() : fd_(::socket(AF_PACKET, SOCK_DGRAM | SOCK_CLOEXEC, htons(ETH_P_IP))) {
    if (fd_ < 0) return;
    sockaddr_ll address{};
    address.sll_family = AF_PACKET;
    address.sll_protocol = htons(ETH_P_IP);
    address.sll_ifindex = static_cast<int>(::if_nametoindex("lo"));
    const int room = 64 << 20;  // a burst must not be lost while the thread waits for its turn
    (void)::setsockopt(fd_, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof room);
    (void)::bind(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof address);
    thread_ = std::thread([this] { listen(); });
  }
  Wiretap(const Wiretap&) = delete;
  Wiretap& operator=(const Wiretap&) = delete;
  ~Wiretap() {
    stop();
    if (fd_ >= 0) ::close(fd_);
  }

  /// False where the process may not listen (it lacks CAP_NET_RAW).
  [[nodiscard]] bool works() const { return fd_ >= 0; }
  void stop() {
    stop_ = true;
    if (thread_.joinable()) thread_.join();
  }
  /// What openers said to a port, a string a connection, as far as nothing of it was missed. Only
  /// after stop().
  [[nodiscard]] std::vector<std::string> said_to(uint16_t port) const {
    std::vector<std::string> found;
    for (const auto& [ends, stream] : streams_) {
      if (ends.second == port && !stream.bytes.empty()) found.push_back(stream.bytes);
    }
    return found;
  }

 private:
  struct Stream {
    uint32_t next = 0;  ///< the sequence number of the byte after the last one kept
    std::string bytes;
  };

  void listen() {
    std::string packet(128 << 10, '\0');
    while (!stop_) {
      pollfd ready{fd_, POLLIN, 0};
      if (::poll(&ready, 1, 20) != 1) continue;
      sockaddr_ll from{};
      socklen_t size = sizeof from;
      const ssize_t n = ::recvfrom(fd_, packet.data(), packet.size(), 0,
                                   reinterpret_cast<sockaddr*>(&from), &size);
      // Loopback shows a packet twice, when it leaves and when it arrives.
      if (n > 0 && from.sll_pkttype == PACKET_HOST) {
        keep(packet.data(), static_cast<size_t>(n));
      }
    }
  }

  void keep(const char* packet, size_t size) {
    iphdr ip;
    if (size < sizeof ip) return;
    std::memcpy(&ip, packet, sizeof ip);
    const size_t ip_size = size_t{ip.ihl} * 4;
    tcphdr tcp;
    if (ip.protocol != IPPROTO_TCP || size < ip_size + sizeof tcp) return;
    std::memcpy(&tcp, packet + ip_size, sizeof tcp);
    const size_t skip = ip_size + size_t{tcp.doff} * 4;
    if (size < skip) return;
    const std::pair<uint16_t, uint16_t> ends{ntohs(tcp.source), ntohs(tcp.dest)};
    const uint32_t sequence = ntohl(tcp.seq);
    if (tcp.syn != 0) {
      streams_[ends] = {.next = sequence + 1, .bytes = {}};
      return;
    }
    const auto found = streams_.find(ends);
    if (found == streams_.end() || found->second.next != sequence) return;
    Stream& stream = found->second;
    if (stream.bytes.size() + size - skip > stream_bytes_max) return;
    stream.bytes.append(packet + skip, size - skip);
    stream.next += static_cast<uint32_t>(size - skip);
  }

  int fd_;
  std::atomic<bool> stop_{false};
  std::map<std::pair<uint16_t, uint16_t>, Stream> streams_;  ///< by port of opener and of listener
  std::thread thread_;
};

}  // namespace troupe::testing
