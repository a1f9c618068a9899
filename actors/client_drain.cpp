// Asking a node to drain.
#include "actors/client_actor.hpp"
#include "actors/limits.hpp"
#include "base/concat.hpp"

namespace troupe::actors {

void ClientCore::drain(const std::string& name, std::function<void(Result<uint32_t>)> done) {
  if (members_.nodes_size() == 0) {
    await_members(done, [this, name, done] { drain(name, done); });
    return;
  }
  std::string known;
  for (const v1::NodeInfo& node : members_.nodes()) {
    if (node.name() == name) {
      send_drain(node, std::move(done));
      return;
    }
    known += concat(known.empty() ? "" : ", ", node.name());
  }
  done(error(Code::not_found, concat("the cluster has no node \"", name, "\""),
             concat("one of ", known)));
}

void ClientCore::send_drain(const v1::NodeInfo& node, std::function<void(Result<uint32_t>)> done) {
  v1::Drain drain;
  drain.set_incarnation(node.incarnation());
  const auto ask = [this, drain, done](const NodeActor& actor) {
    self_->request(actor, std::chrono::milliseconds(limits::answer_timeout_ms), drain)
        .then(
            [done](const v1::DrainReply& reply) {
              if (schemas::failed(reply.failure())) {
                done(schemas::from_wire(reply.failure()));
              } else {
                done(reply.running());
              }
            },
            [this, done](const caf::error& e) {
              done(error(Code::unavailable,
                         concat("the node did not answer: ", self_->system().render(e))));
            });
  };
  if (setup_.caller.local_node && node.incarnation() == setup_.caller.incarnation) {
    ask(setup_.caller.local_node);
    return;
  }
  connect_node(self_, setup_.caller, node.host(), static_cast<uint16_t>(node.port()),
               [ask, done](Result<NodeActor> actor) {
                 if (actor) {
                   ask(*actor);
                 } else {
                   done(actor.error());
                 }
               });
}

}  // namespace troupe::actors
