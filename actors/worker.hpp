// The worker actor: the shell around WorkerLogic. It turns messages into calls, gives plans to the
// device, and tells routers what it holds. Internal to actors/.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "actors/draft_link.hpp"
#include "actors/interfaces.hpp"
#include "actors/node_actor.hpp"
#include "actors/peer_parts.hpp"
#include "actors/resolve.hpp"
#include "actors/router_links.hpp"
#include "actors/transport_ports.hpp"
#include "actors/worker_logic.hpp"

namespace troupe::actors {

/// What a worker stands on; made by Node, outlives the actor.
struct WorkerSetup {
  Caller caller;
  std::shared_ptr<NodeState> node;
  TransportPorts transport;  ///< empty: no hand-over between processes
  std::shared_ptr<kv::Pool> pool;
  std::shared_ptr<kv::EventLog> events;
  std::shared_ptr<kv::LocalIndex> index;
  std::shared_ptr<engine::Engine> engine;
  std::shared_ptr<const text::Tokenizer> tokenizer;
  std::string fingerprint;
  v1::DeviceProfile profile;
  DeviceActor device;
  TimeUs page_lease_us = transport::limits::lease_us;
  std::shared_ptr<Metrics> metrics;
};

class WorkerCore {
 public:
  WorkerCore(WorkerActor::pointer self, WorkerSetup setup);

  v1::PartAck on_part(const v1::Part& part);
  v1::AttachReply on_attach(const v1::Attach& attach);
  void on_members(const v1::Members& members);
  /// The store to offer blocks to: on our host before others, then by name.
  void choose_store(const v1::Members& members);
  void on_down(const caf::down_msg& down);
  void on_tick();
  v1::Pong on_ping(const v1::Ping& ping);
  /// Nothing new from now on; what runs moves as soon as there is another worker for it.
  void drain();
  WorkerLogic& logic() { return *logic_; }
  PeerKey key_of(const caf::strong_actor_ptr& peer);
  /// After every message: next plan to the device, events to the routers.
  void settle();

 private:
  struct Draft {
    v1::NodeInfo node;
    caf::strong_actor_ptr handle;  ///< empty until it was found
  };

  struct Watched {
    std::set<std::string> addresses;  ///< where the source was read from
    /// Sessions that connect at the same time get a peer each.
    std::vector<transport::PeerId> peers;
  };

  WorkerPorts make_ports();
  HandoverPorts make_handover_ports();
  void submit(engine::StepPlan plan);
  void attach(uint64_t session, const v1::NodeInfo& source, const v1::Attach& attach);
  void connect(uint64_t session, const std::string& address);
  void watch_source(const caf::strong_actor_ptr& source);
  void add_link(uint64_t session, const std::string& address, transport::PeerId peer);
  /// The source is gone: its restart has another address.
  void drop_links(const caf::actor_addr& source);
  RouterLinkPorts make_router_ports();
  void move_if_drained();
  std::unique_ptr<DraftLink> make_draft_link();
  void follow_draft(const v1::Members& members);
  void lose_draft();
  void greet_store(const v1::NodeInfo& node);
  void send_offer(PeerKey store, const v1::Offer& offer);
  void post(std::function<void()> run);

  WorkerActor::pointer self_;
  WorkerSetup setup_;
  std::unique_ptr<WorkerLogic> logic_;
  std::unique_ptr<DraftLink> drafts_;
  Draft draft_;
  PeerParts parts_;
  PeerKey last_key_ = 0;
  std::map<caf::actor_addr, PeerKey> keys_;
  std::unordered_map<PeerKey, caf::strong_actor_ptr> peers_;
  std::unordered_map<uint64_t, caf::strong_actor_ptr> sources_;  ///< session -> its prefill actor
  std::unordered_map<std::string, transport::PeerId> links_;     ///< transport address -> peer
  /// Sources that we want to hear the death of.
  std::map<caf::actor_addr, Watched> watched_;
  std::unique_ptr<RouterLinks<WorkerActor::base>> routers_;
  uint64_t store_incarnation_ = 0;  ///< of the store that was chosen; 0: none
  bool draining_ = false;
  bool is_elsewhere_ = false;  ///< another worker could take over what runs here
  bool stall_told_ = false;
};

/// `core_out` gets the core, for closures that are sent to this actor.
WorkerActor::behavior_type worker(WorkerActor::stateful_pointer<std::shared_ptr<WorkerCore>> self,
                                  WorkerSetup setup,
                                  std::shared_ptr<std::weak_ptr<WorkerCore>> core_out);

}  // namespace troupe::actors
