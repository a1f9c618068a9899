// The client actor: drives each request through prepare -> place -> start -> deltas, and again from
// place when a worker is lost. Internal to actors/.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "actors/client.hpp"
#include "actors/interfaces.hpp"
#include "actors/parts_sender.hpp"
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

/// An order that is the same in every run: not that of addresses in memory.
struct ByIdentity {
  bool operator()(const caf::strong_actor_ptr& a, const caf::strong_actor_ptr& b) const {
    return caf::actor_cast<caf::actor_addr>(a) < caf::actor_cast<caf::actor_addr>(b);
  }
};

/// One request of the application.
struct ClientRequest {
  uint64_t id = 0;
  GenerateRequest request;
  GenerateHandlers handlers;
  ResumePoint resume;
  v1::Placement placement;
  std::map<uint64_t, TimeUs> excluded;  ///< incarnations that failed this request -> until when
  caf::strong_actor_ptr router;         ///< the last one that was asked for a placement
  caf::strong_actor_ptr decode;         ///< empty until started
  caf::strong_actor_ptr prefill;        ///< while it may hold something for this request
  std::shared_ptr<PartsTransfer> start_parts, prefill_parts;  ///< under way
  std::string prefill_name;                                   ///< the last one that was asked
  uint64_t session = 0;
  uint32_t attempts = 0;
  uint64_t generation = 0;   ///< counted up with each try, so that late answers are told apart
  uint64_t asked_front = 0;  ///< incarnation of the one whose answer is waited for
  TimeUs started_us = 0;
  TimeUs first_token_us = 0;
  TimeUs last_token_us = 0;
  TimeUs give_up_us = 0;  ///< deadline of the stage that waits for someone to be there
  bool prepared = false;
  std::string explanation;
  /// Of a question that ends with the front's answer; failures go to handlers.on_end.
  std::function<void(const v1::PreparedRequest&)> answered;
  v1::PreparePurpose purpose = v1::PREPARE_PURPOSE_GENERATE;
  bool without_special = false;
};

/// A question to the front.
struct FrontQuestion {
  v1::PreparePurpose purpose = v1::PREPARE_PURPOSE_CARD;
  GenerateRequest request;
  bool without_special = false;
  std::function<void(const v1::PreparedRequest&)> answered;
  std::function<void(Error)> failed;
};

class ClientCore {
 public:
  ClientCore(ClientActor::pointer self, ClientSetup setup);

  v1::PartAck on_part(const v1::Part& part, const caf::strong_actor_ptr& sender);
  void on_deltas(const v1::Deltas& deltas, const caf::strong_actor_ptr& sender);
  void on_down(const caf::actor_addr& who);
  void on_tick();

  void start(uint64_t id, GenerateRequest request, GenerateHandlers handlers);
  void ask(FrontQuestion question);
  void cancel(uint64_t id);
  void view(std::function<void(Result<ClusterView>)> done);
  void drain(const std::string& node, std::function<void(Result<uint32_t>)> done);
  /// Ends every request with `cancelled`; the actor is about to go.
  void close();

 private:
  using Requests = std::map<uint64_t, ClientRequest>;

  void refresh_members();
  void take_members(const v1::Members& members);
  void take_refusal(const Error& why);
  /// One whose loops move and that has answered lately, if there is one.
  const v1::NodeInfo* node_with(const std::string& role) const;
  /// It did not answer: another one is asked for a while, where there is one.
  void avoid(uint64_t incarnation);
  /// Finds the actor of a role, among the members that are known.
  void resolve_role(const std::string& role, Resolved done);
  /// As resolve_role; before the first answer of the directory it waits for that.
  void with_role(const std::string& role, Resolved done);
  void ask_again(std::function<void()> ask);
  /// Nobody is known yet: `ask` is called again in a moment, unless that is no remedy.
  template <class T>
  void await_members(const std::function<void(Result<T>)>& done, std::function<void()> ask) {
    refusal_ ? done(*refusal_) : ask_again(std::move(ask));
  }
  void send_drain(const v1::NodeInfo& node, std::function<void(Result<uint32_t>)> done);

  void prepare(ClientRequest& request);
  void on_prepared(const v1::PreparedRequest& prepared);
  void place(ClientRequest& request);
  void on_placement(uint64_t id, uint64_t generation, const caf::strong_actor_ptr& router,
                    const v1::Placement& placement);
  void start_decode(ClientRequest& request);
  void send_start(ClientRequest& request, const caf::strong_actor_ptr& decode);
  void send_prefill(ClientRequest& request);
  void retry(ClientRequest& request, const Error& why);
  void end(uint64_t id, Result<GenerateResult> result);
  GenerateResult result_of(const ClientRequest& request) const;
  void update_booking(const caf::strong_actor_ptr& router, uint64_t request_id, uint64_t number,
                      bool done);
  /// The directory has not answered for so long that it is not just being started again.
  [[nodiscard]] bool cluster_is_gone() const;
  [[nodiscard]] Error gone() const;
  /// Nothing is wanted any more of whatever was booked for the request up to now.
  void finish_booking(const ClientRequest& request) {
    update_booking(request.router, request.id, request.generation, true);
  }
  /// Tells the workers of the request's attempt that nobody waits for them any more.
  void drop_workers(ClientRequest& request);
  void drop_prefill(ClientRequest& request);
  static void exclude(ClientRequest& request);
  /// The decode worker is gone or says nothing: its requests go on elsewhere.
  void lose_worker(const caf::strong_actor_ptr& worker, const char* why);
  void watch_workers();
  /// The worker says that it does not have the attempt.
  void go_on_elsewhere(uint64_t id, uint32_t attempt);
  void end_late_requests();
  void end_all(const Error& why);
  [[nodiscard]] Error going_down() const;
  ClientRequest* find(uint64_t id, uint64_t generation);

  /// Runs `again` on this actor after `ms`, if the request is still at this try.
  void later(const ClientRequest& request, int ms, void (ClientCore::*again)(ClientRequest&));

  ClientActor::pointer self_;
  ClientSetup setup_;
  v1::Members members_;
  bool refreshing_ = false;
  std::vector<std::function<void()>> awaiting_members_;  ///< until the directory's first answer
  std::optional<Error> refusal_;  ///< why the directory was never reached, if waiting is no remedy
  TimeUs directory_heard_us_ = now_us();
  PeerParts parts_;
  Requests requests_;
  std::map<uint64_t, TimeUs> avoided_;  ///< incarnations -> until when
  std::map<caf::strong_actor_ptr, TimeUs, ByIdentity>
      heard_;  ///< of the decode workers that we wait for
  uint64_t pings_ = 0;
  TimeUs last_tick_us_ = 0;
};

/// `core_out` gets the core, for closures that are sent to this actor.
ClientActor::behavior_type client_actor(
    ClientActor::stateful_pointer<std::shared_ptr<ClientCore>> self, ClientSetup setup,
    std::shared_ptr<ClientCore*> core_out);

}  // namespace troupe::actors
