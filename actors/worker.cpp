#include "actors/worker.hpp"

#include <algorithm>
#include <thread>

#include "actors/limits.hpp"
#include "actors/runtime.hpp"
#include "base/concat.hpp"
#include "base/log.hpp"

namespace troupe::actors {

WorkerCore::WorkerCore(WorkerActor::pointer self, WorkerSetup setup)
    : self_(self), setup_(std::move(setup)) {
  WorkerParts parts{*setup_.engine,       *setup_.pool,       *setup_.index,
                    setup_.tokenizer,     setup_.fingerprint, setup_.transport.address,
                    setup_.page_lease_us, setup_.metrics};
  logic_ = std::make_unique<WorkerLogic>(std::move(parts), make_ports());
  drafts_ = make_draft_link();
  routers_ = std::make_unique<RouterLinks<WorkerActor::base>>(self_, setup_.caller, *setup_.events,
                                                              make_router_ports());
}

WorkerPorts WorkerCore::make_ports() {
  WorkerPorts ports;
  ports.send_deltas = [this](PeerKey client, const v1::Deltas& deltas) {
    const auto found = peers_.find(client);
    if (found != peers_.end()) self_->send(caf::actor_cast<DeltaSink>(found->second), deltas);
  };
  ports.send_announce = [this](PeerKey reader, const v1::Announce& announce) {
    const auto found = peers_.find(reader);
    if (found != peers_.end()) self_->send(caf::actor_cast<AnnounceSink>(found->second), announce);
  };
  ports.submit = [this](engine::StepPlan plan) { submit(std::move(plan)); };
  ports.handover = make_handover_ports();
  ports.grant = [this](uint64_t session, kv::PageId page) {
    if (!setup_.transport.empty()) setup_.transport.grant(session, page);
  };
  ports.revoke_page = [this](uint64_t session, kv::PageId page) {
    if (!setup_.transport.empty()) setup_.transport.revoke_page(session, page);
  };
  ports.revoke = [this](uint64_t session) {
    if (!setup_.transport.empty()) setup_.transport.revoke(session);
  };
  ports.send_offer = [this](PeerKey store, const v1::Offer& offer) { send_offer(store, offer); };
  ports.draw_session = random_u64;
  return ports;
}

HandoverPorts WorkerCore::make_handover_ports() {
  HandoverPorts ports;
  ports.attach = [this](uint64_t session, const v1::NodeInfo& source, const v1::Attach& wire) {
    attach(session, source, wire);
  };
  ports.connect = [this](uint64_t session, const std::string& address) {
    connect(session, address);
  };
  ports.read = [this](transport::PeerId peer, const transport::ReadRequest& request,
                      uint32_t block_index) {
    auto self = caf::actor_cast<WorkerActor>(self_);
    const uint64_t session = request.session_token;
    setup_.transport.read(
        peer, request, [this, self, session, block_index](Result<transport::ReadDone> done) {
          auto run = [this, session, block_index, done] {
            logic_->handovers().on_read(session, block_index, done, now_us());
          };
          caf::anon_send(self, Closure{std::make_shared<std::function<void()>>(std::move(run))});
        });
  };
  ports.cancel_reads = [this](uint64_t session) { setup_.transport.cancel_session(session); };
  ports.tell_source = [this](uint64_t session, const v1::ReadDone& done) {
    const auto found = sources_.find(session);
    if (found == sources_.end()) return;
    self_->send(caf::actor_cast<BlockSource>(found->second), done);
    if (done.all()) sources_.erase(found);
  };
  return ports;
}

void WorkerCore::post(std::function<void()> run) {
  self_->send(caf::actor_cast<WorkerActor>(self_),
              Closure{std::make_shared<std::function<void()>>(std::move(run))});
}

void WorkerCore::submit(engine::StepPlan plan) {
  StepTask task{std::make_shared<engine::StepPlan>(std::move(plan))};
  // Asked first: the answer may be there before the step is.
  drafts_->on_submitted();
  self_->request(setup_.device, caf::infinite, std::move(task))
      .then(
          [this](const StepDone& done) {
            logic_->on_step_done(std::move(*done.result), now_us());
            settle();
          },
          [this](const caf::error& e) {
            logic_->on_step_done(
                error(Code::internal, concat("the device is gone: ", self_->system().render(e))),
                now_us());
            settle();
          });
}

void WorkerCore::attach(uint64_t session, const v1::NodeInfo& source, const v1::Attach& wire) {
  const auto over = [this, session](Result<v1::AttachReply> reply) {
    logic_->handovers().on_attached(session, reply, now_us());
    settle();
  };
  if (setup_.transport.empty()) {
    post([over] { over(error(Code::unavailable, "this worker has no transport")); });
    return;
  }
  const auto plays = [&source](const char* role) {
    return std::ranges::count(source.roles(), role) > 0;
  };
  const char* role = plays("kv_store") ? "kv_store" : plays("prefill") ? "prefill" : "decode";
  resolve(self_, setup_.caller, source, role, [this, session, wire, over](auto resolved) {
    if (!resolved) {
      over(resolved.error());
      return;
    }
    sources_[session] = resolved->second;
    watch_source(resolved->second);
    self_
        ->request(caf::actor_cast<BlockSource>(resolved->second),
                  std::chrono::milliseconds(limits::answer_timeout_ms), wire)
        .then([over](const v1::AttachReply& reply) { over(reply); },
              [this, over](const caf::error& e) {
                over(error(Code::unavailable, concat("the source of blocks did not answer: ",
                                                     self_->system().render(e))));
              });
  });
}

void WorkerCore::connect(uint64_t session, const std::string& address) {
  const auto known = links_.find(address);
  if (known != links_.end()) {
    const transport::PeerId peer = known->second;
    post([this, session, peer] { logic_->handovers().on_connected(session, peer, now_us()); });
    return;
  }
  auto self = caf::actor_cast<WorkerActor>(self_);
  setup_.transport.connect(address, [this, self, session, address](Result<transport::PeerId> peer) {
    auto run = [this, session, address, peer] {
      if (peer) add_link(session, address, *peer);
      logic_->handovers().on_connected(session, peer, now_us());
    };
    caf::anon_send(self, Closure{std::make_shared<std::function<void()>>(std::move(run))});
  });
}

void WorkerCore::watch_source(const caf::strong_actor_ptr& source) {
  // CAF tells of a death once for every time that it was asked to.
  const auto [known, is_new] = watched_.try_emplace(caf::actor_cast<caf::actor_addr>(source));
  if (is_new) self_->monitor(source);
}

void WorkerCore::add_link(uint64_t session, const std::string& address, transport::PeerId peer) {
  const auto source = sources_.find(session);
  if (source == sources_.end()) {
    // The session, or its source, went meanwhile: nobody would tell us to let go of it.
    if (setup_.transport.disconnect) setup_.transport.disconnect(peer);
    return;
  }
  links_[address] = peer;
  Watched& watched = watched_[caf::actor_cast<caf::actor_addr>(source->second)];
  watched.addresses.insert(address);
  watched.peers.push_back(peer);
}

void WorkerCore::drop_links(const caf::actor_addr& source) {
  const auto known = watched_.find(source);
  if (known == watched_.end()) return;
  for (const transport::PeerId peer : known->second.peers) {
    if (setup_.transport.disconnect) setup_.transport.disconnect(peer);
  }
  for (const std::string& address : known->second.addresses) links_.erase(address);
  watched_.erase(known);
}

PeerKey WorkerCore::key_of(const caf::strong_actor_ptr& peer) {
  const auto address = caf::actor_cast<caf::actor_addr>(peer);
  const auto found = keys_.find(address);
  if (found != keys_.end()) return found->second;
  self_->monitor(peer);
  keys_[address] = ++last_key_;
  peers_[last_key_] = peer;
  return last_key_;
}

v1::PartAck WorkerCore::on_part(const v1::Part& part) {
  const caf::strong_actor_ptr sender = self_->current_sender();
  if (!sender) return refuse_part(error(Code::invalid_argument, "a part without a sender"));
  auto [ack, whole] = parts_.take(sender, part, now_us());
  if (!whole) return ack;
  if (part.kind() == v1::PART_START) {
    v1::StartRequest start;
    if (!start.ParseFromString(*whole)) return refuse_part(error(Code::corrupt, "bad start"));
    logic_->on_start(key_of(sender), start, now_us());
  } else if (part.kind() == v1::PART_PREFILL) {
    v1::PrefillRequest request;
    if (!request.ParseFromString(*whole)) return refuse_part(error(Code::corrupt, "bad prefill"));
    if (auto status = logic_->on_prefill(key_of(sender), request, now_us()); !status) {
      return refuse_part(status.error());
    }
  } else {
    return refuse_part(error(Code::invalid_argument, "a worker takes start and prefill"));
  }
  return ack;
}

v1::AttachReply WorkerCore::on_attach(const v1::Attach& attach) {
  return logic_->on_attach(key_of(self_->current_sender()), attach, now_us());
}

void WorkerCore::on_down(const caf::down_msg& down) {
  std::vector<uint64_t> lost;
  for (const auto& [session, source] : sources_) {
    if (source == down.source) lost.push_back(session);
  }
  for (uint64_t session : lost) {
    sources_.erase(session);
    logic_->handovers().on_source_down(session, now_us());
  }
  drop_links(down.source);
  if (draft_.handle && draft_.handle == down.source) lose_draft();
  const auto known = keys_.find(down.source);
  if (known != keys_.end()) {
    // It may only be the connection that is gone: the next membership greets it again.
    if (logic_->offers().store() == known->second) store_incarnation_ = 0;
    logic_->on_peer_down(known->second);
    peers_.erase(known->second);
    keys_.erase(known);
  }
  routers_->on_down(down.source);
}

void WorkerCore::on_tick() {
  const TimeUs now = now_us();
  parts_.expire(now);
  logic_->on_tick(now);
  drafts_->on_tick();
  if (setup_.transport.stats) logic_->metrics().on_transport(setup_.transport.stats());
  const bool stalled = logic_->is_stalled(now);
  if (stalled && !stall_told_) log_error("worker", "a step takes too long: this worker stands");
  stall_told_ = stalled;
  routers_->report(logic_->load(now));
}

v1::Pong WorkerCore::on_ping(const v1::Ping& ping) {
  v1::Pong pong;
  pong.set_number(ping.number());
  pong.set_stalled(logic_->is_stalled(now_us()));
  const PeerKey client = key_of(self_->current_sender());
  logic_->on_client_heard(client, now_us());
  for (const uint64_t id : ping.request_ids()) {
    if (!logic_->has(client, id)) pong.add_unknown_requests(id);
  }
  return pong;
}

void WorkerCore::drain() {
  draining_ = true;
  logic_->drain();
  move_if_drained();
  setup_.node->busy = logic_->num_busy();
  setup_.node->draining = true;
}

void WorkerCore::move_if_drained() {
  if (draining_ && is_elsewhere_) logic_->move_all();
}

void WorkerCore::settle() {
  logic_->pump();
  drafts_->pump();
  setup_.node->busy = logic_->num_busy();
  routers_->publish();
}

WorkerActor::behavior_type worker(WorkerActor::stateful_pointer<std::shared_ptr<WorkerCore>> self,
                                  WorkerSetup setup,
                                  std::shared_ptr<std::weak_ptr<WorkerCore>> core_out) {
  self->state = std::make_shared<WorkerCore>(self, std::move(setup));
  *core_out = self->state;
  auto core = self->state;
  self->set_down_handler([core](const caf::down_msg& down) {
    core->on_down(down);
    core->settle();
  });
  self->send(self, caf::tick_atom_v);
  return {
      [core](const v1::Part& part) {
        auto ack = core->on_part(part);
        core->settle();
        return ack;
      },
      [core](const v1::Attach& attach) {
        auto reply = core->on_attach(attach);
        core->settle();
        return reply;
      },
      [core](const v1::ReadDone& done) {
        core->logic().on_read_done(done, now_us());
        core->settle();
      },
      [core](const v1::Cancel& cancel) {
        core->logic().on_cancel(cancel.request_id(), cancel.attempt());
        core->settle();
      },
      [core, self](const v1::DeltasAck& ack) {
        core->logic().on_deltas_ack(core->key_of(self->current_sender()), ack.number(), now_us());
      },
      [core](const v1::Announce& announce) {
        core->logic().handovers().on_announce(announce, now_us());
        core->settle();
      },
      [core](const v1::Ping& ping) { return core->on_ping(ping); },
      [core](const v1::Members& members) {
        core->on_members(members);
        core->settle();
      },
      [core](const Closure& closure) {
        (*closure.run)();
        core->settle();
      },
      [core, self](caf::tick_atom) {
        core->on_tick();
        core->settle();
        self->delayed_send(self, std::chrono::milliseconds(limits::renew_interval_ms),
                           caf::tick_atom_v);
      },
  };
}

}  // namespace troupe::actors
