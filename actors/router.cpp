#include "actors/router.hpp"

#include <algorithm>

#include "actors/limits.hpp"
#include "base/concat.hpp"
#include "base/log.hpp"
#include "schemas/convert.hpp"

namespace troupe::actors {
namespace {

bool has_role(const v1::NodeInfo& node, const char* role) {
  return std::find(node.roles().begin(), node.roles().end(), role) != node.roles().end();
}

WorkerInfo to_info(const v1::WorkerHello& hello) {
  WorkerInfo info;
  info.id = hello.node().name();
  info.incarnation = hello.node().incarnation();
  const bool decode = has_role(hello.node(), "decode");
  const bool prefill = has_role(hello.node(), "prefill");
  info.role = decode && prefill ? WorkerRole::both
              : decode          ? WorkerRole::decode
                                : WorkerRole::prefill;
  info.kv_fingerprint = hello.node().kv_fingerprint();
  info.profile.prefill_us_per_token = hello.profile().prefill_us_per_token();
  info.profile.attention_ns_per_token_per_context =
      hello.profile().attention_ns_per_token_per_context();
  info.profile.decode_us_per_step = hello.profile().decode_us_per_step();
  info.profile.transfer_bytes_per_us = hello.profile().transfer_bytes_per_us();
  info.block_bytes = hello.block_bytes();
  info.blocks_free = hello.blocks_free();
  info.blocks_total = hello.blocks_total();
  info.sequence_blocks_max =
      hello.sequence_blocks_max() != 0 ? hello.sequence_blocks_max() : hello.blocks_total();
  return info;
}

v1::WorkerHelloReply welcome_store(RouterState& state, const v1::WorkerHello& hello,
                                   const caf::strong_actor_ptr& handle) {
  v1::WorkerHelloReply reply;
  const StoreInfo info{hello.node().name(), hello.node().incarnation(),
                       hello.profile().transfer_bytes_per_us()};
  if (auto status = state.placement.on_store(info, now_us()); !status) {
    *reply.mutable_failure() = schemas::to_wire(status.error());
    return reply;
  }
  RouterState::Store& store = state.stores[info.id];
  store = {hello.node(), {}, handle};
  store.report.set_name(info.id);
  reply.set_want_snapshot(state.placement.index().last_number(info.id).value_or(0) !=
                          hello.last_event());
  log_info("router", concat("store ", info.id, " is here"));
  return reply;
}

v1::WorkerHelloReply welcome_worker(RouterState& state, const v1::WorkerHello& hello,
                                    const caf::strong_actor_ptr& handle) {
  if (has_role(hello.node(), "kv_store")) return welcome_store(state, hello, handle);
  v1::WorkerHelloReply reply;
  const WorkerInfo info = to_info(hello);
  if (auto status = state.placement.on_worker(info); !status) {
    *reply.mutable_failure() = schemas::to_wire(status.error());
    return reply;
  }
  state.workers[info.id] = {hello.node(), {}, handle, now_us()};
  v1::LoadReport& load = state.workers[info.id].load;
  load.set_name(info.id);
  load.set_blocks_total(info.blocks_total);
  load.set_blocks_free(info.blocks_free);
  reply.set_want_snapshot(state.placement.index().last_number(info.id).value_or(0) !=
                          hello.last_event());
  log_info("router", concat("worker ", info.id, " is here: ", info.blocks_total, " blocks, ",
                            info.profile.prefill_us_per_token, " us per prompt token"));
  return reply;
}

v1::KvEventsReply take_events(RouterState& state, const v1::KvEvents& wire) {
  v1::KvEventsReply reply;
  auto events = schemas::from_wire(wire);
  if (!events) {
    log_warning("router", events.error().message());
    reply.set_want_snapshot(true);
    return reply;
  }
  for (const kv::Event& event : *events) {
    const auto applied = state.placement.index().apply(wire.name(), wire.incarnation(), event);
    if (applied == kv::Applied::gap) {
      reply.set_want_snapshot(true);
      break;
    }
  }
  return reply;
}

void take_snapshot(RouterState& state, const std::string& payload) {
  v1::KvSnapshot snapshot;
  if (!snapshot.ParseFromString(payload)) return;
  auto blocks = schemas::from_wire(snapshot);
  if (!blocks) {
    log_warning("router", concat("snapshot of ", snapshot.name(), ": ", blocks.error().message()));
    return;
  }
  state.placement.index().apply_snapshot(snapshot.name(), snapshot.incarnation(),
                                         snapshot.last_number(), *blocks);
}

bool knows_store(const RouterState& state, const std::string& name, uint64_t incarnation) {
  const auto found = state.stores.find(name);
  return found != state.stores.end() && found->second.node.incarnation() == incarnation;
}

v1::Pong take_load(RouterState& state, const v1::LoadReport& load) {
  v1::Pong pong;
  // A store has no load, it wants to hear that it is known.
  if (knows_store(state, load.name(), load.incarnation())) return pong;
  const auto found = state.workers.find(load.name());
  if (found == state.workers.end() || found->second.node.incarnation() != load.incarnation()) {
    pong.set_unknown(true);
    return pong;
  }
  found->second.load = load;
  found->second.heard_us = now_us();
  state.placement.on_load(load.name(), load.incarnation(), load.blocks_free(),
                          load.fetch_bytes_per_us());
  return pong;
}

/// Why nothing can be had from a worker at this time; empty: it answers.
std::string why_lost(const RouterState::Worker& worker, TimeUs now) {
  if (worker.load.stalled()) return "its step loop does not move";
  const TimeUs silence = now - worker.heard_us;
  if (silence > limits::load_silence_us) {
    return concat("nothing was heard of it for ", silence / 1000, " ms");
  }
  return {};
}

/// Why a worker gets no new requests at this time; empty: it does.
std::string unfit(const RouterState::Worker& worker, TimeUs now) {
  return worker.load.draining() ? "it drains" : why_lost(worker, now);
}

v1::Placement place(RouterState& state, const v1::PlaceRequest& wire) {
  v1::Placement reply;
  const auto refuse = [&reply](const Error& why) {
    *reply.mutable_failure() = schemas::to_wire(why);
    return reply;
  };
  auto names = schemas::unpack_names(wire.names());
  if (!names) return refuse(names.error());
  if (names->size() > limits::names_max) {
    return refuse(error(Code::invalid_argument, concat(names->size(), " block names"),
                        concat("at most ", limits::names_max)));
  }
  PlaceRequest request;
  request.names = std::move(*names);
  request.num_tokens = wire.num_tokens();
  request.max_tokens = wire.max_tokens();
  request.choices = wire.choices();
  request.kv_fingerprint = wire.kv_fingerprint();
  request.exclude.assign(wire.exclude().begin(), wire.exclude().end());
  const TimeUs now = now_us();
  for (const auto& [id, worker] : state.workers) {
    // Who drains takes nothing new, and still gives its blocks.
    state.placement.set_unfit(id, unfit(worker, now), why_lost(worker, now).empty());
  }
  auto decision = state.placement.place(request, now);
  if (!decision) return refuse(decision.error());
  *reply.mutable_decode() = state.workers.at(decision->decode_worker).node;
  if (decision->prefill_worker) {
    *reply.mutable_prefill() = state.workers.at(*decision->prefill_worker).node;
  }
  if (decision->fetch_source) {
    const auto store = state.stores.find(*decision->fetch_source);
    *reply.mutable_fetch() = store != state.stores.end()
                                 ? store->second.node
                                 : state.workers.at(*decision->fetch_source).node;
    reply.set_fetch_blocks(decision->fetch_blocks);
  }
  reply.set_booking(decision->booking);
  reply.set_predicted_us(decision->predicted_us);
  if (wire.explain()) reply.set_explanation(explain(*decision));
  return reply;
}

void measure(RouterState& state) {
  state.metrics->set(v1::METRIC_BOOKINGS, state.placement.num_bookings());
  state.metrics->set(v1::METRIC_KNOWN_WORKERS, state.placement.num_workers());
  state.metrics->set(v1::METRIC_KNOWN_BLOCKS, state.placement.index().num_blocks());
}

void expire(RouterState& state) {
  state.ledger.forget(state.placement.expire(now_us()));
}

void count_placement(RouterState& state, const v1::PlaceRequest& request,
                     const v1::Placement& placement, TimeUs began_us) {
  measure(state);
  if (schemas::failed(placement.failure())) {
    state.metrics->add(v1::METRIC_REFUSED_PLACEMENTS);
    return;
  }
  const TimeUs now = now_us();
  state.metrics->add(v1::METRIC_PLACEMENTS);
  if (placement.has_prefill()) state.metrics->add(v1::METRIC_SPLIT_PLACEMENTS);
  state.metrics->observe(v1::DISTRIBUTION_PLACEMENT, now - began_us);
  state.metrics->change_request(request.request_id(), [&](v1::RequestTimeline& told) {
    told.set_attempt(request.attempt());
    told.set_decode_worker(placement.decode().name());
    told.set_prefill_worker(placement.prefill().name());
    told.set_predicted_us(static_cast<uint64_t>(std::max(0.0, placement.predicted_us())));
    reach(told, v1::STAGE_PLACED, now);
  });
}

void member_down(RouterState& state, const caf::actor_addr& who) {
  for (auto it = state.workers.begin(); it != state.workers.end(); ++it) {
    if (!(it->second.handle == who)) continue;
    log_warning("router", concat("worker ", it->first, " is gone"));
    state.placement.on_worker_gone(it->first, it->second.node.incarnation());
    state.workers.erase(it);
    return;
  }
  for (auto it = state.stores.begin(); it != state.stores.end(); ++it) {
    if (!(it->second.handle == who)) continue;
    log_warning("router", concat("store ", it->first, " is gone"));
    state.placement.on_store_gone(it->first, it->second.node.incarnation());
    state.stores.erase(it);
    return;
  }
}

void client_down(RouterState& state, const caf::actor_addr& who) {
  const auto found = state.clients.find(who);
  if (found == state.clients.end()) return;
  for (const uint64_t booking : state.ledger.on_client_gone(found->second)) {
    state.placement.finish(booking);
  }
  state.clients.erase(found);
}

/// A question that comes twice, or after the end of what it asked for, books nothing.
v1::Placement place_once(RouterState& state, const v1::PlaceRequest& request, PeerKey client) {
  if (!state.ledger.is_new(request.request_id(), request.number())) {
    v1::Placement reply;
    *reply.mutable_failure() = schemas::to_wire(
        error(Code::unavailable, "this question was asked, or its request ended, before"));
    return reply;
  }
  v1::Placement placement = place(state, request);
  if (placement.booking() == 0) return placement;
  const auto before =
      state.ledger.book(client, request.request_id(), request.number(), placement.booking());
  if (before) state.placement.finish(*before);
  return placement;
}

void take_update(RouterState& state, const v1::BookingUpdate& update) {
  if (update.done()) {
    const auto booking = state.ledger.end(update.request_id(), update.number());
    if (booking) state.placement.finish(*booking);
  } else if (const auto booking = state.ledger.find(update.request_id())) {
    state.placement.progress(*booking, UINT32_MAX, now_us());
  }
}

void take_report(RouterState& state, const v1::StoreReport& report) {
  if (!knows_store(state, report.name(), report.incarnation())) return;
  state.stores.at(report.name()).report = report;
  state.placement.on_store_heard(report.name(), report.incarnation(), now_us(),
                                 report.disk_bytes_per_us());
}

v1::RouterStatus status_of(RouterState& state) {
  v1::RouterStatus status;
  const kv::ClusterIndex& index = state.placement.index();
  for (const auto& [name, worker] : state.workers) {
    v1::LoadReport& load = *status.add_workers();
    load = worker.load;
    load.set_name(name);
    load.set_unfit(unfit(worker, now_us()));
  }
  for (const auto& [name, store] : state.stores) {
    v1::StoreReport& report = *status.add_stores();
    report = store.report;
    report.set_blocks_known(index.num_blocks_of(name));
  }
  status.set_blocks_known(index.num_blocks());
  status.set_bookings(static_cast<uint32_t>(state.placement.num_bookings()));
  return status;
}

}  // namespace

RouterActor::behavior_type router(RouterActor::stateful_pointer<std::shared_ptr<RouterState>> self,
                                  PlacementOptions options, std::shared_ptr<Metrics> metrics) {
  self->state = std::make_shared<RouterState>(options, std::move(metrics));
  auto state = self->state;
  self->set_down_handler([state](const caf::down_msg& down) {
    member_down(*state, down.source);
    client_down(*state, down.source);
    measure(*state);
  });
  return {
      [self, state](const v1::WorkerHello& hello, const caf::strong_actor_ptr& handle) {
        self->monitor(handle);
        return welcome_worker(*state, hello, handle);
      },
      [state](const v1::KvEvents& events) { return take_events(*state, events); },
      [state](const v1::LoadReport& load) {
        auto heard = take_load(*state, load);
        expire(*state);
        measure(*state);
        return heard;
      },
      [state](const v1::StoreReport& report) { take_report(*state, report); },
      [self, state](const v1::Part& part) {
        state->parts.expire(now_us());
        auto [ack, whole] = state->parts.take(self->current_sender(), part, now_us());
        if (whole && part.kind() == v1::PART_SNAPSHOT) take_snapshot(*state, *whole);
        return ack;
      },
      [self, state](const v1::PlaceRequest& request) {
        const TimeUs began_us = now_us();
        const caf::strong_actor_ptr sender = self->current_sender();
        PeerKey client = 0;
        if (sender) {
          const auto [known, is_new] = state->clients.try_emplace(
              caf::actor_cast<caf::actor_addr>(sender), state->last_client + 1);
          if (is_new) {
            ++state->last_client;
            self->monitor(sender);
          }
          client = known->second;
        }
        v1::Placement placement = place_once(*state, request, client);
        count_placement(*state, request, placement, began_us);
        return placement;
      },
      [state](const v1::BookingUpdate& update) {
        take_update(*state, update);
        measure(*state);
      },
      [state](const v1::StatusQuery&) {
        expire(*state);
        return status_of(*state);
      },
      [state](const v1::Ping& ping) {
        // What a client or worker that stands still holds here goes without another's question.
        state->parts.expire(now_us());
        expire(*state);
        return pong_of(ping);
      },
  };
}

}  // namespace troupe::actors
