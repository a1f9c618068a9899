// The blob that one Transport hands to another over the control plane. Opaque to everyone else;
// everything in it is checked when it is parsed, and a CRC keeps damaged bytes away from UCX, which
// would abort on them.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "transport/host_identity.hpp"

namespace troupe::transport {

struct PoolAddress {
  uint64_t base = 0;         ///< address of page 0 in the owner's memory
  uint64_t block_bytes = 0;  ///< 0: no pool is served
  uint32_t num_pages = 0;
  uint64_t stamp = 0;  ///< address of the incarnation stamp; only with an rkey
  std::string rkey;    ///< empty: the pool cannot be read directly

  bool operator==(const PoolAddress&) const = default;
};

/// Where UCX listens, IPv4, in the byte order of this machine.
struct DataSocket {
  uint32_t ip = 0;
  uint16_t port = 0;

  auto operator<=>(const DataSocket&) const = default;
};

struct Address {
  uint64_t incarnation = 0;
  HostIdentity host;
  std::string shm_worker;  ///< empty: no shared memory
  std::string tcp_worker;  ///< empty: no TCP
  DataSocket data_socket;  ///< of tcp_worker; zero: no TCP
  PoolAddress pool;

  bool operator==(const Address&) const = default;
};

std::string encode(const Address& address);

/// Errors: corrupt (damaged or contradictory), unsupported (another version).
Result<Address> parse_address(std::string_view blob);

}  // namespace troupe::transport
