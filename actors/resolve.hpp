// From "node X at host:port" to a handle of one of its roles: connect over TLS, say hello, check
// who answered. CAF keeps the connection and reuses it.
#pragma once

#include <caf/openssl/all.hpp>
#include <functional>
#include <set>
#include <string>
#include <utility>

#include "actors/interfaces.hpp"
#include "actors/limits.hpp"
#include "actors/tls_refusals.hpp"
#include "base/concat.hpp"
#include "schemas/convert.hpp"

namespace troupe::actors {

/// Who asks: goes into every hello. A local node answers for itself without the network.
struct Caller {
  std::string cluster;
  std::string name;
  uint64_t incarnation = 0;
  NodeActor local_node;  ///< may be empty (a pure client)
  /// Answers (connect, host, port) as CAF's middleman does; empty: the middleman itself, with TLS.
  caf::actor connector{};
  int connect_timeout_ms = 5'000;
};

using Resolved = std::function<void(Result<std::pair<v1::NodeInfo, caf::strong_actor_ptr>>)>;

template <class Self>
void say_hello(Self* self, const NodeActor& node, const Caller& caller, const std::string& role,
               uint64_t expected_incarnation, Resolved done) {
  v1::Hello hello;
  hello.set_protocol(schemas::protocol_version);
  hello.set_cluster(caller.cluster);
  hello.set_name(caller.name);
  hello.set_incarnation(caller.incarnation);
  hello.set_role(role);
  self->request(node, std::chrono::milliseconds(limits::answer_timeout_ms), std::move(hello))
      .then(
          [done, expected_incarnation](const v1::Welcome& welcome,
                                       const caf::strong_actor_ptr& handle) {
            if (schemas::failed(welcome.failure())) {
              done(schemas::from_wire(welcome.failure()));
            } else if (expected_incarnation != 0 &&
                       welcome.node().incarnation() != expected_incarnation) {
              done(error(Code::unavailable,
                         concat("node ", welcome.node().name(), " was restarted meanwhile")));
            } else {
              done(std::make_pair(welcome.node(), handle));
            }
          },
          [self, done](const caf::error& e) {
            done(error(Code::unavailable,
                       concat("a node did not answer the hello: ", self->system().render(e))));
          });
}

/// Finds the node actor that is published at host:port. Errors: unavailable; failed_precondition
/// (one end does not accept the other's certificate: another attempt would end in the same way).
template <class Self>
void connect_node(Self* self, const Caller& caller, const std::string& host, uint16_t port,
                  std::function<void(Result<NodeActor>)> done, int tries = limits::connect_tries) {
  caf::actor connector = caller.connector;
  if (!connector) {
    if (!self->system().has_middleman() || !self->system().has_openssl_manager()) {
      done(error(Code::unavailable, "this process has no network"));
      return;
    }
    connector = caf::actor_cast<caf::actor>(self->system().openssl_manager().actor_handle());
  }
  const uint64_t refusals_before = tls_refusals_seen();
  self->request(connector, std::chrono::milliseconds(caller.connect_timeout_ms),
                caf::connect_atom_v, host, port)
      .then(
          [=](const caf::node_id&, const caf::strong_actor_ptr& ptr, const std::set<std::string>&) {
            if (!ptr) {
              done(error(Code::unavailable, concat("nobody is published at ", host, ":", port)));
              return;
            }
            done(caf::actor_cast<NodeActor>(ptr));
          },
          [=](const caf::error& e) {
            // CAF 0.17 dates a connection that it makes from the epoch until the first bytes come:
            // when its heartbeat falls into the handshake, it takes the connection for hung.
            if (e == caf::sec::connection_timeout && tries > 1) {
              connect_node(self, caller, host, port, done, tries - 1);
              return;
            }
            if (const auto refusal = tls_refusal(host, port, refusals_before)) {
              done(*refusal);
              return;
            }
            done(error(Code::unavailable, concat("cannot connect to ", host, ":", port, ": ",
                                                 self->system().render(e))));
          });
}

/// Finds the handle of `role` at host:port. expected_incarnation 0: whoever is there.
template <class Self>
void resolve_address(Self* self, const Caller& caller, const std::string& host, uint16_t port,
                     const std::string& role, uint64_t expected_incarnation, Resolved done) {
  connect_node(self, caller, host, port, [=](Result<NodeActor> node) {
    if (!node) {
      done(node.error());
      return;
    }
    say_hello(self, *node, caller, role, expected_incarnation, done);
  });
}

/// Finds the handle of `role` on exactly this node and incarnation.
template <class Self>
void resolve(Self* self, const Caller& caller, const v1::NodeInfo& node, const std::string& role,
             Resolved done) {
  if (caller.local_node && node.incarnation() == caller.incarnation) {
    say_hello(self, caller.local_node, caller, role, node.incarnation(), std::move(done));
    return;
  }
  resolve_address(self, caller, node.host(), static_cast<uint16_t>(node.port()), role,
                  node.incarnation(), std::move(done));
}

/// Asks the directory who is there; port 0: that of the caller's own node.
template <class Self>
void ask_members(Self* self, const Caller& caller, const std::string& host, uint16_t port,
                 std::function<void(Result<v1::Members>)> done) {
  const std::string cluster = caller.cluster;
  const Resolved ask = [self, cluster, done](const auto& resolved) {
    if (!resolved) {
      done(resolved.error());
      return;
    }
    v1::MembersQuery query;
    query.set_cluster(cluster);
    self->request(caf::actor_cast<DirectoryActor>(resolved->second),
                  std::chrono::milliseconds(limits::request_timeout_ms), query)
        .then([done](const v1::Members& members) { done(members); },
              [self, done](const caf::error& e) {
                done(error(Code::unavailable,
                           concat("the directory did not answer: ", self->system().render(e))));
              });
  };
  if (port == 0) {
    say_hello(self, caller.local_node, caller, "directory", 0, ask);
  } else {
    resolve_address(self, caller, host, port, "directory", 0, ask);
  }
}

}  // namespace troupe::actors
