#include "actors/kv_store.hpp"

#include "actors/ask_store.hpp"
#include "actors/limits.hpp"
#include "actors/resolve.hpp"
#include "actors/runtime.hpp"
#include "actors/store_for.hpp"
#include "base/concat.hpp"
#include "base/log.hpp"

namespace troupe::actors {
namespace {

Closure closure(std::function<void()> run) {
  return {std::make_shared<std::function<void()>>(std::move(run))};
}

}  // namespace

StoreCore::StoreCore(KvStoreActor::pointer self, StoreSetup setup)
    : self_(self), setup_(std::move(setup)) {
  logic_ = std::make_unique<StoreLogic>(setup_.region, make_ports());
  if (setup_.disk.bytes_max > 0) logic_->use_disk(setup_.disk.bytes_max, setup_.disk.found);
  setup_.disk.found = {};
  routers_ = std::make_unique<RouterLinks<KvStoreActor::base>>(
      self_, setup_.caller, logic_->events(), make_router_ports());
}

RouterLinkPorts StoreCore::make_router_ports() {
  RouterLinkPorts ports;
  ports.hello = [this] {
    v1::WorkerHello hello;
    hello.mutable_profile()->set_transfer_bytes_per_us(setup_.copy_bytes_per_us);
    return hello;
  };
  ports.snapshot = [this] {
    std::vector<kv::BlockName> names;
    std::string tiers;
    for (const kv::Residence& residence : logic_->residences()) {
      names.push_back(residence.name);
      tiers.push_back(static_cast<char>(residence.tier));
    }
    v1::KvSnapshot snapshot;
    snapshot.set_names(schemas::pack_names(names));
    snapshot.set_tiers(tiers);
    return snapshot;
  };
  ports.on_known = [this] { setup_.node->worker_known = true; };
  return ports;
}

StorePorts StoreCore::make_ports() {
  StorePorts ports;
  ports.serve = setup_.serve;
  ports.connect = [this](uint64_t session, const std::string& address) {
    connect(session, address);
  };
  ports.read = [this](transport::PeerId peer, const transport::ReadRequest& request,
                      uint32_t index) { read(peer, request, index); };
  ports.cancel_reads = [this](uint64_t session) { setup_.transport.cancel_session(session); };
  ports.tell_worker = [this](PeerKey worker, const v1::ReadDone& done) {
    const auto found = peers_.find(worker);
    if (found == peers_.end()) return;
    self_->send(caf::actor_cast<BlockSource>(found->second.handle), done);
  };
  ports.send_announce = [this](PeerKey reader, const v1::Announce& announce) {
    const auto found = peers_.find(reader);
    if (found == peers_.end()) return;
    self_->send(caf::actor_cast<AnnounceSink>(found->second.handle), announce);
  };
  ports.grant = [this](uint64_t session, kv::PageId page) {
    setup_.transport.grant(session, page);
  };
  ports.revoke = [this](uint64_t session) { setup_.transport.revoke(session); };
  ports.revoke_page = [this](uint64_t session, kv::PageId page) {
    setup_.transport.revoke_page(session, page);
  };
  ports.send_offer = [this](PeerKey store, const v1::Offer& offer) { send_offer(store, offer); };
  ports.draw_session = random_u64;
  ports.disk = [this](kv::DiskJob job) {
    auto self = caf::actor_cast<KvStoreActor>(self_);
    setup_.disk.submit(std::move(job), [this, self](const kv::DiskDone& done) {
      caf::anon_send(self, closure([this, done] { logic_->on_disk_done(done, now_us()); }));
    });
  };
  return ports;
}

namespace {

/// To who does not say where news about the blocks would go.
template <class Reply>
Reply refused() {
  Reply reply;
  *reply.mutable_failure() =
      schemas::to_wire(error(Code::invalid_argument, "a message without a sender"));
  return reply;
}

}  // namespace

void StoreCore::connect(uint64_t session, const std::string& address) {
  auto self = caf::actor_cast<KvStoreActor>(self_);
  const auto known = links_.find(address);
  if (known != links_.end()) {
    const transport::PeerId peer = known->second;
    self_->send(self,
                closure([this, session, peer] { logic_->on_connected(session, peer, now_us()); }));
    return;
  }
  setup_.transport.connect(address, [this, self, session, address](Result<transport::PeerId> peer) {
    caf::anon_send(self, closure([this, session, address, peer] {
                     if (peer) links_[address] = *peer;
                     logic_->on_connected(session, peer, now_us());
                   }));
  });
}

void StoreCore::read(transport::PeerId peer, const transport::ReadRequest& request,
                     uint32_t index) {
  auto self = caf::actor_cast<KvStoreActor>(self_);
  const uint64_t session = request.session_token;
  setup_.transport.read(peer, request,
                        [this, self, session, index](Result<transport::ReadDone> done) {
                          caf::anon_send(self, closure([this, session, index, done] {
                                           logic_->on_read(session, index, done, now_us());
                                         }));
                        });
}

PeerKey StoreCore::key_of(const caf::strong_actor_ptr& peer) {
  const auto address = caf::actor_cast<caf::actor_addr>(peer);
  const auto found = keys_.find(address);
  if (found != keys_.end()) return found->second;
  self_->monitor(peer);
  keys_[address] = ++last_key_;
  peers_[last_key_] = {peer, {}};
  return last_key_;
}

void StoreCore::on_members(const v1::Members& members) {
  members_ = members;
  routers_->on_members(members);
}

void StoreCore::leave() {
  if (std::exchange(is_leaving_, true)) return;
  const v1::NodeInfo* heir = store_for(members_, routers_->own());
  if (heir == nullptr) {
    log_info("store", "drains; no other store is there to have its blocks");
    has_heir_ = true;
    return;
  }
  resolve(self_, setup_.caller, *heir, "kv_store", [this](auto resolved) {
    has_heir_ = true;
    if (resolved) {
      logic_->begin_leaving(key_of(resolved->second), now_us());
    } else {
      log_warning("store",
                  concat("the store that was to have our blocks: ", resolved.error().message()));
    }
    settle();
  });
}

void StoreCore::send_offer(PeerKey store, const v1::Offer& offer) {
  const auto answered = [this, session = offer.session()](const Result<v1::OfferReply>& reply) {
    logic_->on_offer_reply(session, reply, now_us());
    settle();
  };
  ask_store(self_, peers_.at(store).handle, offer, answered);
}

v1::OfferReply StoreCore::on_offer(const v1::Offer& offer) {
  const caf::strong_actor_ptr sender = self_->current_sender();
  if (!sender) return refused<v1::OfferReply>();
  const PeerKey worker = key_of(sender);
  peers_[worker].address = offer.transport_address();
  return logic_->on_offer(worker, offer, now_us());
}

v1::AttachReply StoreCore::on_attach(const v1::Attach& attach) {
  const caf::strong_actor_ptr sender = self_->current_sender();
  if (!sender) return refused<v1::AttachReply>();
  return logic_->on_attach(key_of(sender), attach, now_us());
}

void StoreCore::on_down(const caf::down_msg& down) {
  routers_->on_down(down.source);
  const auto known = keys_.find(down.source);
  if (known == keys_.end()) return;
  logic_->on_peer_down(known->second);
  const auto link = links_.find(peers_[known->second].address);
  if (link != links_.end()) {
    if (setup_.transport.disconnect) setup_.transport.disconnect(link->second);
    links_.erase(link);
  }
  peers_.erase(known->second);
  keys_.erase(known);
}

namespace {

void measure(Metrics& metrics, const v1::StoreReport& report) {
  metrics.set(v1::METRIC_STORE_BLOCKS, report.blocks());
  metrics.set(v1::METRIC_STORE_BLOCKS_TOTAL, report.blocks_total());
  metrics.set(v1::METRIC_STORE_BLOCK_BYTES, report.block_bytes());
  metrics.set(v1::METRIC_STORE_HITS, report.hits());
  metrics.set(v1::METRIC_STORE_MISSES, report.misses());
  metrics.set(v1::METRIC_STORE_STORED, report.stored());
  metrics.set(v1::METRIC_STORE_EVICTED, report.evicted());
  metrics.set(v1::METRIC_STORE_REFUSED, report.refused());
  metrics.set(v1::METRIC_STORE_CORRUPT, report.corrupt());
  metrics.set(v1::METRIC_TRANSFER_SESSIONS, report.sessions());
  metrics.set(v1::METRIC_STORE_DISK_BLOCKS, report.disk_blocks());
  metrics.set(v1::METRIC_STORE_DISK_BYTES, report.disk_bytes());
  metrics.set(v1::METRIC_STORE_DISK_BYTES_MAX, report.disk_bytes_max());
  metrics.set(v1::METRIC_STORE_DISK_WAITING, report.disk_waiting());
  metrics.set(v1::METRIC_STORE_DISK_READ, report.disk_read());
  metrics.set(v1::METRIC_STORE_DISK_WRITTEN, report.disk_written());
  metrics.set(v1::METRIC_STORE_DISK_DROPPED, report.disk_dropped());
  metrics.set(v1::METRIC_STORE_DISK_CORRUPT, report.disk_corrupt());
  metrics.set(v1::METRIC_STORE_DISK_FAILED, report.disk_failed());
}

}  // namespace

void StoreCore::settle() {
  routers_->publish();
  if (is_leaving_) {
    setup_.node->busy = static_cast<uint32_t>(logic_->num_leaving());
    setup_.node->draining = has_heir_;
  }
  if (!setup_.flush || !setup_.flush->is_wanted || setup_.flush->is_done) return;
  logic_->begin_flush(now_us());
  setup_.flush->is_done = logic_->is_flushed();
}

void StoreCore::on_tick() {
  logic_->on_tick(now_us());
  v1::StoreReport report = logic_->report();
  measure(*setup_.metrics, report);
  if (setup_.transport.stats) {
    setup_.metrics->set(v1::METRIC_REFUSED_CONNECTIONS,
                        setup_.transport.stats().connections_refused);
  }
  report.set_name(routers_->own().name());
  report.set_incarnation(routers_->own().incarnation());
  report.set_draining(is_leaving_);
  report.set_blocks_leaving(static_cast<uint32_t>(logic_->num_leaving()));
  routers_->tell_all(report);
  // Answered, unlike a store's report: a router that does not know us any more says so.
  routers_->report(v1::LoadReport());
}

KvStoreActor::behavior_type kv_store(
    KvStoreActor::stateful_pointer<std::shared_ptr<StoreCore>> self, StoreSetup setup,
    const std::shared_ptr<std::weak_ptr<StoreCore>>& made) {
  self->state = std::make_shared<StoreCore>(self, std::move(setup));
  *made = self->state;
  auto core = self->state;
  self->set_down_handler([core](const caf::down_msg& down) {
    core->on_down(down);
    core->settle();
  });
  self->send(self, caf::tick_atom_v);
  return {
      [core](const v1::Offer& offer) {
        auto reply = core->on_offer(offer);
        core->settle();
        return reply;
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
      [core](const v1::Members& members) { core->on_members(members); },
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
      [](const v1::Ping& ping) { return pong_of(ping); },
  };
}

}  // namespace troupe::actors
