#include "actors/front.hpp"

#include "actors/parts_sender.hpp"
#include "base/log.hpp"

namespace troupe::actors {
namespace {

void answer(FrontActor::stateful_pointer<FrontState> self, const caf::strong_actor_ptr& client,
            const v1::PrepareRequest& request) {
  v1::PreparedRequest prepared = self->state.preparer->prepare(request, random_u64());
  if (!schemas::failed(prepared.failure()) && prepared.root().empty()) {
    // Blocks are named after the workers' numerics.
    *prepared.mutable_failure() =
        schemas::to_wire(error(Code::unavailable, "no worker has joined yet"));
  }
  send_parts(self, caf::actor_cast<PartSink>(client), v1::PART_PREPARED,
             prepared.SerializeAsString(), [](Status status) {
               if (!status)
                 log_debug("front", "an answer was not taken: " + status.error().message());
             });
}

}  // namespace

FrontActor::behavior_type front(FrontActor::stateful_pointer<FrontState> self,
                                std::shared_ptr<Preparer> preparer) {
  self->state.preparer = std::move(preparer);
  return {
      [self](const v1::Part& part) {
        self->state.parts.expire(now_us());
        const caf::strong_actor_ptr client = self->current_sender();
        auto [ack, whole] = self->state.parts.take(client, part, now_us());
        v1::PrepareRequest request;
        if (whole && (part.kind() != v1::PART_PREPARE || !request.ParseFromString(*whole))) {
          return refuse_part(error(Code::corrupt, "a front takes prepare requests"));
        }
        if (whole) answer(self, client, request);
        return ack;
      },
      [self](const v1::Members& members) {
        for (const v1::NodeInfo& node : members.nodes()) {
          if (node.kv_fingerprint().empty()) continue;
          self->state.preparer->set_fingerprint(node.kv_fingerprint(), node.tokens_per_block());
          return;
        }
      },
  };
}

}  // namespace troupe::actors
