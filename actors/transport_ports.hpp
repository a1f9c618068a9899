// What a worker or a store asks of the transport: the real one (transport/), or a simulated one in
// tests.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/result.hpp"
#include "transport/transport.hpp"

namespace caf {
class actor_system;
}

namespace troupe::actors {

/// All empty: no hand-over between processes. Otherwise as in transport::Transport, but that
/// connect() calls back: once, on any thread, after as long as it takes.
struct TransportPorts {
  std::string address;
  std::function<void(const std::string& address, std::function<void(Result<transport::PeerId>)>)>
      connect;
  std::function<void(transport::PeerId, const transport::ReadRequest&, transport::ReadCallback)>
      read;
  std::function<void(uint64_t session)> cancel_session;
  /// Its reads end; may be empty.
  std::function<void(transport::PeerId)> disconnect;
  std::function<void(uint64_t session, kv::PageId page)> grant;
  std::function<void(uint64_t session)> revoke;
  std::function<void(uint64_t session, kv::PageId page)> revoke_page;
  /// May be empty on its own.
  std::function<transport::TransportStats()> stats;

  [[nodiscard]] bool empty() const { return !read; }
};

/// The real one. The system must outlive the ports.
TransportPorts transport_ports(std::shared_ptr<transport::Transport> transport,
                               caf::actor_system& system);

}  // namespace troupe::actors
