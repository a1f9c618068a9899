// A second process for transport tests: this binary again, running the test case "peer process",
// made by fork and exec before it touches UCX.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "transport/transport.hpp"

namespace troupe::transport::testing {

inline constexpr uint64_t granted_token = 7;
/// What all transports of these tests have, unless they say otherwise.
inline constexpr const char* cluster_key = "the key of the tests' cluster";

/// The bytes of page `page` in a source's pool.
std::vector<std::byte> page_bytes(uint32_t page, size_t block_bytes);
uint32_t page_checksum(uint32_t page, size_t block_bytes);

struct PeerOptions {
  std::string role = "source";  ///< "source" or "reader"
  size_t block_bytes = 1 << 20;
  uint32_t num_pages = 8;
  bool tcp_only = false;
  std::string address;  ///< reader: whom to read from
};

class PeerProcess {
 public:
  explicit PeerProcess(const PeerOptions& options);
  ~PeerProcess();
  PeerProcess(const PeerProcess&) = delete;
  PeerProcess& operator=(const PeerProcess&) = delete;

  /// The child's transport address (a source sends it when its pool is ready).
  [[nodiscard]] const std::string& address() const { return address_; }
  [[nodiscard]] pid_t pid() const { return pid_; }
  void signal(int number) const;
  /// SIGKILL and reap.
  void kill();
  /// Tells the child to end and waits; its exit status, and what it wrote to stdout and stderr.
  int quit();
  [[nodiscard]] std::string output() const;
  /// One command byte to a source: 'b' breaks a byte of page 0, 'r' revokes the session.
  void command(char what) const;

 private:
  pid_t pid_ = -1;
  int channel_ = -1;
  int output_ = -1;
  std::string address_;
};

/// A transport of this process with a pool whose pages are zero.
struct LocalEnd {
  std::unique_ptr<Transport> transport;
  kv::Region region;
  size_t block_bytes = 0;

  [[nodiscard]] const std::byte* page(kv::PageId id) const {
    return region.data + size_t{id} * block_bytes;
  }
  /// Reads and waits for the callback.
  Result<ReadDone> read(PeerId peer, const ReadRequest& request) const;
};
LocalEnd local_end(size_t block_bytes, uint32_t num_pages, TransportOptions options = {});

}  // namespace troupe::transport::testing
