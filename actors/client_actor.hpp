// The client actor: drives each request through prepare -> place -> start -> deltas, and again from
// place when a worker is lost. Internal to actors/.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <unordered_map>

#include "actors/client.hpp"
#include "actors/interfaces.hpp"
#include "actors/peer_parts.hpp"
#include "actors/resolve.hpp"
#include "actors/resume_point.hpp"
#include "base/clock.hpp"

namespace troupe::actors {

/// Where the client finds the cluster.
struct ClientSetup {
  Caller caller;
  std::string directory_host;
  uint16_t directory_port = 0;  ///< 0: the directory is on caller.local_node
};

/// One request of the application.
struct ClientRequest {
  uint64_t id = 0;
  GenerateRequest request;
  GenerateHandlers handlers;
  ResumePoint resume;
  v1::Placement placement;
  std::vector<uint64_t> excluded;  ///< incarnations that failed this request
  caf::strong_actor_ptr decode;    ///< empty until started
  uint64_t session = 0;
  uint32_t attempts = 0;
  uint64_t generation = 0;  ///< counted up with each try, so that late answers are told apart
  TimeUs started_us = 0;
  TimeUs first_token_us = 0;
  TimeUs last_token_us = 0;
  TimeUs give_up_us = 0;  ///< deadline of the stage that waits for someone to be there
  bool prepared = false;
  std::string explanation;
};

class ClientCore {
 public:
  ClientCore(ClientActor::pointer self, ClientSetup setup);

  v1::PartAck on_part(const v1::Part& part, const caf::strong_actor_ptr& sender);
  void on_deltas(const v1::Deltas& deltas, const caf::strong_actor_ptr& sender);
  void on_down(const caf::actor_addr& who);
  void on_tick();

  void start(uint64_t id, GenerateRequest request, GenerateHandlers handlers);
  void cancel(uint64_t id);
  void view(std::function<void(Result<ClusterView>)> done);
  /// Ends every request with `cancelled`; the actor is about to go.
  void close();

 private:
  using Requests = std::map<uint64_t, ClientRequest>;

  void refresh_members();
  void take_members(const v1::Members& members);
  const v1::NodeInfo* node_with(const std::string& role) const;
  void with_role(const std::string& role, Resolved done);

  void prepare(ClientRequest& request);
  void on_prepared(const v1::PreparedRequest& prepared);
  void place(ClientRequest& request);
  void on_placement(uint64_t id, uint64_t generation, const v1::Placement& placement);
  void start_decode(ClientRequest& request);
  void send_start(ClientRequest& request, const caf::strong_actor_ptr& decode);
  void send_prefill(ClientRequest& request);
  void retry(ClientRequest& request, const Error& why);
  void end(uint64_t id, Result<GenerateResult> result);
  GenerateResult result_of(const ClientRequest& request) const;
  void update_booking(const v1::Placement& placement, bool done);
  /// The directory has not answered for so long that it is not just being started again.
  [[nodiscard]] bool cluster_is_gone() const;
  [[nodiscard]] Error gone() const;
  void finish_booking(const v1::Placement& placement) { update_booking(placement, true); }
  void drop_worker(ClientRequest& request);
  ClientRequest* find(uint64_t id, uint64_t generation);

  /// Runs `again` on this actor after `ms`, if the request is still at this try.
  void later(const ClientRequest& request, int ms, void (ClientCore::*again)(ClientRequest&));

  ClientActor::pointer self_;
  ClientSetup setup_;
  v1::Members members_;
  bool refreshing_ = false;
  TimeUs directory_heard_us_ = now_us();
  PeerParts parts_;
  Requests requests_;
  caf::strong_actor_ptr router_;
};

/// `core_out` gets the core, for closures that are sent to this actor.
ClientActor::behavior_type client_actor(
    ClientActor::stateful_pointer<std::shared_ptr<ClientCore>> self, ClientSetup setup,
    std::shared_ptr<ClientCore*> core_out);

}  // namespace troupe::actors
