#include "actors/transport_ports.hpp"

#include <caf/all.hpp>

namespace troupe::actors {

TransportPorts transport_ports(std::shared_ptr<transport::Transport> transport,
                               caf::actor_system& system) {
  TransportPorts ports;
  ports.address = transport->address();
  // Connecting waits for the peer: on a thread of its own.
  ports.connect = [transport, &system](const std::string& address, auto done) {
    system.spawn<caf::detached>(
        [transport, address, done](caf::event_based_actor*) { done(transport->connect(address)); });
  };
  ports.read = [transport](auto peer, const auto& request, auto done) {
    transport->read(peer, request, std::move(done));
  };
  ports.cancel_session = [transport](uint64_t session) { transport->cancel_session(session); };
  ports.disconnect = [transport](transport::PeerId peer) { transport->disconnect(peer); };
  ports.grant = [transport](uint64_t session, kv::PageId page) { transport->grant(session, page); };
  ports.revoke = [transport](uint64_t session) { transport->revoke(session); };
  ports.revoke_page = [transport](uint64_t session, kv::PageId page) {
    transport->revoke_page(session, page);
  };
  ports.stats = [transport] { return transport->stats(); };
  return ports;
}

}  // namespace troupe::actors
