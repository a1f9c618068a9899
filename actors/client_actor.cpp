#include "actors/client_actor.hpp"

#include <algorithm>
#include <utility>

#include "actors/limits.hpp"
#include "base/concat.hpp"
#include "base/log.hpp"

namespace troupe::actors {

ClientCore::ClientCore(ClientActor::pointer self, ClientSetup setup)
    : self_(self), setup_(std::move(setup)) {}

void ClientCore::take_members(const v1::Members& members) {
  directory_heard_us_ = now_us();
  members_ = members;
  refusal_.reset();
  if (members_.closing()) end_all(going_down());
}

void ClientCore::take_refusal(const Error& why) {
  // A directory that was there may come back; at the start only what can still come is waited for.
  if (members_.nodes_size() > 0 || why.code == Code::unavailable) return;
  refusal_ = why;
  end_all(why);
}

bool ClientCore::cluster_is_gone() const {
  return now_us() - directory_heard_us_ > limits::directory_silence_us;
}

Error ClientCore::gone() const {
  return error(Code::unavailable,
               concat("the directory of cluster ", setup_.caller.cluster, " has not answered for ",
                      limits::directory_silence_us / 1'000'000, " s"),
               "was the cluster stopped? troupe status shows what runs");
}

Error ClientCore::going_down() const {
  return error(Code::unavailable, concat("cluster ", setup_.caller.cluster, " is going down"),
               "ask again when it is up");
}

const v1::NodeInfo* ClientCore::node_with(const std::string& role) const {
  const v1::NodeInfo* any = nullptr;
  for (const v1::NodeInfo& node : members_.nodes()) {
    if (std::find(node.roles().begin(), node.roles().end(), role) == node.roles().end()) continue;
    const auto avoided = avoided_.find(node.incarnation());
    const bool silent = avoided != avoided_.end() && now_us() < avoided->second;
    if (!silent && node.health() != "stalled") return &node;
    if (any == nullptr) any = &node;
  }
  return any;
}

void ClientCore::avoid(uint64_t incarnation) {
  if (incarnation == 0) return;
  const TimeUs now = now_us();
  std::erase_if(avoided_, [now](const auto& entry) { return entry.second < now; });
  avoided_[incarnation] = now + limits::avoid_us;
}

void ClientCore::refresh_members() {
  if (refreshing_) return;
  refreshing_ = true;
  ask_members(self_, setup_.caller, setup_.directory_host, setup_.directory_port,
              [this](const Result<v1::Members>& members) {
                refreshing_ = false;
                if (members) {
                  take_members(*members);
                } else {
                  take_refusal(members.error());
                }
                for (const auto& go_on : std::exchange(awaiting_members_, {})) go_on();
              });
}

void ClientCore::resolve_role(const std::string& role, Resolved done) {
  if (const v1::NodeInfo* node = node_with(role)) {
    resolve(self_, setup_.caller, *node, role,
            [this, incarnation = node->incarnation(), done](auto resolved) {
              if (!resolved) avoid(incarnation);
              done(std::move(resolved));
            });
  } else {
    done(error(Code::unavailable, concat("no node with the role ", role, " is there")));
  }
}

void ClientCore::with_role(const std::string& role, Resolved done) {
  const bool is_there = node_with(role) != nullptr;
  if (is_there || members_.nodes_size() > 0) {
    resolve_role(role, std::move(done));
  } else {
    // Whoever has just come hears in a moment who is there: trying again later takes longer.
    awaiting_members_.push_back([this, role, done] { resolve_role(role, done); });
  }
  if (!is_there) refresh_members();
}

void ClientCore::ask_again(std::function<void()> ask) {
  refresh_members();
  auto again = std::make_shared<std::function<void()>>(std::move(ask));
  self_->delayed_send(caf::actor_cast<ClientActor>(self_), std::chrono::milliseconds(20),
                      Closure{again});
}

v1::PartAck ClientCore::on_part(const v1::Part& part, const caf::strong_actor_ptr& sender) {
  auto [ack, whole] = parts_.take(sender, part, now_us());
  if (whole && part.kind() == v1::PART_PREPARED) {
    v1::PreparedRequest prepared;
    if (prepared.ParseFromString(*whole)) on_prepared(prepared);
  }
  return ack;
}

void ClientCore::on_deltas(const v1::Deltas& deltas, const caf::strong_actor_ptr& sender) {
  if (sender) {
    v1::DeltasAck ack;
    ack.set_number(deltas.number());
    self_->send(caf::actor_cast<DecodeActor>(sender), ack);
    const auto waited_for = heard_.find(sender);
    if (waited_for != heard_.end()) waited_for->second = now_us();
  }
  for (const v1::Delta& delta : deltas.deltas()) {
    const auto found = requests_.find(delta.request_id());
    if (found == requests_.end()) continue;
    ClientRequest& request = found->second;
    const bool first = request.first_token_us == 0;
    ResumePoint::Accepted accepted = request.resume.accept(delta);
    if (accepted.gap) {
      retry(request, error(Code::internal, "a delta is missing"));
      continue;
    }
    if (!accepted.delta.tokens.empty()) {
      request.last_token_us = now_us();
      if (first) {
        request.first_token_us = request.last_token_us;
        update_booking(request.router, request.id, request.generation, false);
      }
      // What prefill held for us was read, or is not wanted any more.
      drop_prefill(request);
      // A worker that was given up may still be heard while another one is looked for.
      request.give_up_us = request.decode ? 0 : now_us() + limits::place_timeout_us;
    }
    const bool news =
        !accepted.delta.tokens.empty() || !accepted.delta.text.empty() || accepted.choice_finished;
    if (news && request.handlers.on_delta) request.handlers.on_delta(accepted.delta);
    if (accepted.closing) {
      end(request.id, going_down());
      continue;
    }
    if (accepted.failure) {
      // What another worker could do is tried there; what is wrong with the request is not.
      const bool elsewhere = accepted.failure->code == Code::unavailable;
      if (elsewhere) {
        exclude(request);
        retry(request, *accepted.failure);
      } else {
        drop_workers(request);
        end(request.id, *accepted.failure);
      }
      continue;
    }
    if (accepted.choice_finished && request.resume.all_finished()) {
      drop_prefill(request);
      end(request.id, result_of(request));
    }
  }
}

void ClientCore::on_down(const caf::actor_addr& who) {
  for (auto& [id, request] : requests_) {
    if (request.prefill && request.prefill == who) request.prefill = nullptr;
    if (!request.decode || !(request.decode == who)) continue;
    const caf::strong_actor_ptr gone = request.decode;
    lose_worker(gone, "is gone");
    return;
  }
}

void ClientCore::on_tick() {
  refresh_members();
  parts_.expire(now_us());
  watch_workers();
  end_late_requests();
}

void ClientCore::update_booking(const caf::strong_actor_ptr& router, uint64_t request_id,
                                uint64_t number, bool done) {
  if (!router) return;
  v1::BookingUpdate update;
  update.set_request_id(request_id);
  update.set_number(number);
  update.set_done(done);
  self_->send(caf::actor_cast<RouterActor>(router), update);
}

GenerateResult ClientCore::result_of(const ClientRequest& request) const {
  GenerateResult result;
  result.choices = request.resume.choices();
  const v1::PreparedRequest& prepared = request.resume.prepared();
  const v1::ChoiceStats stats = request.resume.stats();
  result.seed = prepared.sampling().seed();
  result.prompt_tokens = static_cast<uint32_t>(prepared.prompt_size());
  result.cached_tokens = stats.cached_tokens();
  result.pinned_tokens = stats.pinned_tokens();
  // Only what really came from there counts.
  if (stats.blocks_moved() > 0) result.prefill_worker = request.prefill_name;
  result.decode_worker = request.placement.decode().name();
  result.blocks_moved = stats.blocks_moved();
  result.bytes_moved = stats.bytes_moved();
  result.transport = stats.transport().empty() ? "none" : stats.transport();
  result.transfer_ms = static_cast<double>(stats.transfer_us()) / 1e3;
  result.handover_ms = static_cast<double>(stats.handover_us()) / 1e3;
  result.ttft_ms = static_cast<double>(request.first_token_us - request.started_us) / 1e3;
  result.queue_ms = static_cast<double>(stats.queue_us()) / 1e3;
  result.prefill_ms = static_cast<double>(stats.prefill_us()) / 1e3;
  size_t tokens = 0;
  for (const ChoiceResult& choice : result.choices) tokens += choice.token_ids.size();
  const TimeUs streamed_us = request.last_token_us - request.first_token_us;
  result.decode_ms = static_cast<double>(streamed_us) / 1e3;
  if (tokens > 1 && streamed_us > 0) {
    result.tokens_per_s = static_cast<double>(tokens - 1) * 1e6 / static_cast<double>(streamed_us);
  }
  result.attempts = request.attempts;
  result.explanation = request.explanation;
  return result;
}

void ClientCore::end(uint64_t id, Result<GenerateResult> result) {
  const auto found = requests_.find(id);
  if (found == requests_.end()) return;
  finish_booking(found->second);
  auto on_end = std::move(found->second.handlers.on_end);
  requests_.erase(found);
  if (on_end) on_end(std::move(result));
}

void ClientCore::close() {
  while (!requests_.empty()) cancel(requests_.begin()->first);
}

ClientActor::behavior_type client_actor(
    ClientActor::stateful_pointer<std::shared_ptr<ClientCore>> self, ClientSetup setup,
    std::shared_ptr<ClientCore*> core_out) {
  self->state = std::make_shared<ClientCore>(self, std::move(setup));
  *core_out = self->state.get();
  auto core = self->state;
  self->set_down_handler([core](const caf::down_msg& down) { core->on_down(down.source); });
  self->send(self, caf::tick_atom_v);
  return {
      [core, self](const v1::Part& part) { return core->on_part(part, self->current_sender()); },
      [core, self](const v1::Deltas& deltas) { core->on_deltas(deltas, self->current_sender()); },
      [](const Closure& closure) { (*closure.run)(); },
      [core, self](caf::tick_atom) {
        core->on_tick();
        self->delayed_send(self, std::chrono::milliseconds(limits::renew_interval_ms),
                           caf::tick_atom_v);
      },
  };
}

}  // namespace troupe::actors
