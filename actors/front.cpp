#include "actors/front.hpp"

#include "actors/parts_sender.hpp"
#include "base/log.hpp"

namespace troupe::actors {
namespace {

void count_prepared(FrontState& state, const v1::PreparedRequest& prepared, TimeUs began_us) {
  Metrics& metrics = *state.metrics;
  if (schemas::failed(prepared.failure())) {
    metrics.add(v1::METRIC_REFUSED_REQUESTS);
    return;
  }
  const TimeUs now = now_us();
  metrics.add(v1::METRIC_PREPARED_REQUESTS);
  metrics.add(v1::METRIC_PREPARED_TOKENS, static_cast<uint64_t>(prepared.prompt_size()));
  metrics.observe(v1::DISTRIBUTION_PREPARE, now - began_us);
  metrics.change_request(prepared.request_id(), [&](v1::RequestTimeline& told) {
    told.set_prompt_hash(prompt_hash(prepared, state.hash_salt));
    told.set_prompt_tokens(static_cast<uint32_t>(prepared.prompt_size()));
    reach(told, v1::STAGE_RECEIVED, began_us);
    reach(told, v1::STAGE_PREPARED, now);
  });
}

void answer(FrontActor::stateful_pointer<FrontState> self, const caf::strong_actor_ptr& client,
            const v1::PrepareRequest& request) {
  const TimeUs began_us = now_us();
  v1::PreparedRequest prepared = self->state.preparer->prepare(request, random_u64());
  const bool generates = request.purpose() == v1::PREPARE_PURPOSE_GENERATE;
  if (generates && !schemas::failed(prepared.failure()) && prepared.root().empty()) {
    // Blocks are named after the workers' numerics.
    *prepared.mutable_failure() =
        schemas::to_wire(error(Code::unavailable, "no worker has joined yet"));
  }
  if (generates) count_prepared(self->state, prepared, began_us);
  send_parts(self, caf::actor_cast<PartSink>(client), v1::PART_PREPARED,
             prepared.SerializeAsString(), [](Status status) {
               if (!status)
                 log_debug("front", "an answer was not taken: " + status.error().message());
             });
}

}  // namespace

FrontActor::behavior_type front(FrontActor::stateful_pointer<FrontState> self,
                                std::shared_ptr<Preparer> preparer,
                                std::shared_ptr<Metrics> metrics) {
  self->state.preparer = std::move(preparer);
  self->state.metrics = std::move(metrics);
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
      [self](const v1::Ping& ping) {
        // What a client that stands still has half sent goes without another's question.
        self->state.parts.expire(now_us());
        return pong_of(ping);
      },
  };
}

}  // namespace troupe::actors
