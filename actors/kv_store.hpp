// The KV store actor: the shell around StoreLogic. It turns messages into calls, moves pages
// through the transport, and tells routers what it holds. Internal to actors/.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "actors/interfaces.hpp"
#include "actors/metrics.hpp"
#include "actors/node_actor.hpp"
#include "actors/router_links.hpp"
#include "actors/store_logic.hpp"
#include "actors/transport_ports.hpp"

namespace troupe::actors {

/// The disk of a store.
struct StoreDiskSetup {
  uint64_t bytes_max = 0;  ///< 0: there is none
  std::vector<kv::FoundSegment> found;
  /// Does the job and tells, from any thread.
  std::function<void(kv::DiskJob, std::function<void(const kv::DiskDone&)>)> submit;
};

/// Whether a store is to write out what it has, and whether it did. Shared with Node.
struct StoreFlush {
  std::atomic<bool> is_wanted{false};
  std::atomic<bool> is_done{false};
};

/// What a store stands on; made by Node, outlives the actor.
struct StoreSetup {
  Caller caller;
  std::shared_ptr<NodeState> node;
  TransportPorts transport;  ///< its address is not used: pages are served later
  /// Serves the region in pages of this size; gives what readers connect to.
  std::function<Result<std::string>(size_t block_bytes, uint32_t num_pages)> serve;
  kv::Region region;
  StoreDiskSetup disk;
  std::shared_ptr<StoreFlush> flush;  ///< may be empty
  double copy_bytes_per_us = 0;
  std::shared_ptr<Metrics> metrics;
};

class StoreCore {
 public:
  StoreCore(KvStoreActor::pointer self, StoreSetup setup);

  v1::OfferReply on_offer(const v1::Offer& offer);
  v1::AttachReply on_attach(const v1::Attach& attach);
  void on_members(const v1::Members& members);
  /// What is here goes to another store of the cluster, if there is one; nothing new comes.
  void leave();
  void on_down(const caf::down_msg& down);
  void on_tick();
  StoreLogic& logic() { return *logic_; }
  /// After every message: events to the routers, and whether all is written that was to be.
  void settle();

 private:
  struct Peer {
    caf::strong_actor_ptr handle;
    std::string address;  ///< of its transport, once it was connected
  };

  StorePorts make_ports();
  RouterLinkPorts make_router_ports();
  void connect(uint64_t session, const std::string& address);
  void read(transport::PeerId peer, const transport::ReadRequest& request, uint32_t index);
  PeerKey key_of(const caf::strong_actor_ptr& peer);
  void send_offer(PeerKey store, const v1::Offer& offer);

  KvStoreActor::pointer self_;
  StoreSetup setup_;
  std::unique_ptr<StoreLogic> logic_;
  std::unique_ptr<RouterLinks<KvStoreActor::base>> routers_;
  v1::Members members_;
  bool is_leaving_ = false;
  bool has_heir_ = false;  ///< or nobody is there to have our blocks
  PeerKey last_key_ = 0;
  std::map<caf::actor_addr, PeerKey> keys_;
  std::unordered_map<PeerKey, Peer> peers_;
  std::unordered_map<std::string, transport::PeerId> links_;  ///< transport address -> peer
};

KvStoreActor::behavior_type kv_store(
    KvStoreActor::stateful_pointer<std::shared_ptr<StoreCore>> self, StoreSetup setup,
    const std::shared_ptr<std::weak_ptr<StoreCore>>& made);

}  // namespace troupe::actors
