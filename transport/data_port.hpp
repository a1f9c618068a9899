// Stands before UCX's TCP port: no byte of a connection reaches UCX before the other end has shown
// a ticket (ticket.hpp), which this end puts before the first bytes of every connection that it
// opens.
//
// UCX 1.13 has no authentication of its own and no place to hang one on, and what it reads first
// can end the process: connection requests that were recorded and are sent again fail an assertion
// of its own (tcp_cm.c). So four functions of libucs, which libuct alone calls and finds by name at
// run time, are defined here as well, in the program, where the dynamic linker looks first; each
// goes on to the real one. Nobody else's sockets pass through them. That they are called at all is
// checked when a port is opened. Internal to this folder.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/result.hpp"
#include "transport/address.hpp"
#include "transport/counters.hpp"

namespace troupe::transport {

/// The data port of one UCX worker, and its connections to those of others. Thread-safe.
class DataPort {
 public:
  /// `key`: the same in every process that may connect; empty: a random one of this process.
  DataPort(const std::string& key, uint64_t incarnation, Counters& counters);
  /// From now on everyone is turned away.
  ~DataPort();
  DataPort(const DataPort&) = delete;
  DataPort& operator=(const DataPort&) = delete;

  /// `open` makes the UCX worker, on this thread. Errors: those of `open`; internal: UCX did not
  /// ask us for its socket.
  Status guard(const std::function<Status()>& open);
  [[nodiscard]] DataSocket socket() const;

  /// Tickets to this socket are for the process of this incarnation. To be said before an endpoint
  /// is made; who connects to us is known by its own ticket.
  void name_peer(const DataSocket& socket, uint64_t incarnation);

  struct State;

 private:
  std::unique_ptr<State> state_;
};

}  // namespace troupe::transport
