// What publishes KV events keeps of each router: greeting, events in order, snapshots after a gap,
// load.
// Internal to actors/.
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <string>

#include "actors/interfaces.hpp"
#include "actors/limits.hpp"
#include "actors/parts_sender.hpp"
#include "actors/resolve.hpp"
#include "base/clock.hpp"
#include "base/concat.hpp"
#include "base/log.hpp"
#include "kv/events.hpp"
#include "schemas/convert.hpp"

namespace troupe::actors {

/// What the links ask of the actor that they belong to.
struct RouterLinkPorts {
  /// Its own entry among the members has been filled in.
  std::function<v1::WorkerHello()> hello;
  /// Names and tiers of what is held right now.
  std::function<v1::KvSnapshot()> snapshot;
  std::function<void()> on_known;
};

template <class Self>
class RouterLinks {
 public:
  RouterLinks(Self* self, Caller caller, const kv::EventLog& events, RouterLinkPorts ports)
      : self_(self), caller_(std::move(caller)), events_(events), ports_(std::move(ports)) {}

  void on_members(const v1::Members& members) {
    for (const v1::NodeInfo& node : members.nodes()) {
      if (node.incarnation() == caller_.incarnation) own_ = node;
    }
    if (own_.name().empty()) return;
    for (const v1::NodeInfo& node : members.nodes()) {
      if (std::find(node.roles().begin(), node.roles().end(), "router") == node.roles().end()) {
        continue;
      }
      const auto known = links_.find(node.name());
      const bool same =
          known != links_.end() && known->second.node.incarnation() == node.incarnation();
      if (!same) greet(node);
    }
  }

  void on_down(const caf::actor_addr& who) {
    for (auto it = links_.begin(); it != links_.end();) {
      it = it->second.handle && it->second.handle == who ? links_.erase(it) : std::next(it);
    }
  }

  /// Sends each router what it has not heard.
  void publish() {
    for (auto& [name, link] : links_) send_events(name, link);
  }

  /// Tells each router the load. One that is silent, or that does not know us any more, is dropped:
  /// the next membership greets it anew.
  void report(v1::LoadReport load) {
    load.set_name(own_.name());
    load.set_incarnation(own_.incarnation());
    drop_silent(now_us());
    for (const auto& [name, link] : links_) {
      if (link.handle) report_to(name, link, load);
    }
  }

  /// To every router that knows us.
  template <class Message>
  void tell_all(const Message& message) {
    for (auto& [name, link] : links_) {
      if (link.handle) self_->send(caf::actor_cast<RouterActor>(link.handle), message);
    }
  }

  [[nodiscard]] const v1::NodeInfo& own() const { return own_; }

 private:
  struct Link {
    v1::NodeInfo node;
    caf::strong_actor_ptr handle;
    uint64_t sent = 0;
    bool busy = true;  ///< the hello, a batch or a snapshot is not answered yet
    TimeUs heard_us = 0;
  };

  /// The link, unless the router is another one by now.
  Link* find(const std::string& name, uint64_t incarnation) {
    const auto found = links_.find(name);
    if (found == links_.end() || found->second.node.incarnation() != incarnation) return nullptr;
    return &found->second;
  }

  void greet(const v1::NodeInfo& node) {
    const std::string name = node.name();
    const uint64_t incarnation = node.incarnation();
    links_[name] = Link{node, nullptr, 0, true, now_us()};
    // A link that fails is dropped: the next membership brings another try.
    const auto drop = [this, name, incarnation] {
      if (find(name, incarnation) != nullptr) links_.erase(name);
    };
    resolve(self_, caller_, node, "router", [this, name, incarnation, drop](auto resolved) {
      if (!resolved) {
        drop();
        return;
      }
      const caf::strong_actor_ptr handle = resolved->second;
      v1::WorkerHello hello = ports_.hello();
      *hello.mutable_node() = own_;
      const uint64_t last_event = events_.last_number();
      hello.set_last_event(last_event);
      self_
          ->request(caf::actor_cast<RouterActor>(handle),
                    std::chrono::milliseconds(limits::request_timeout_ms), hello,
                    caf::actor_cast<caf::strong_actor_ptr>(self_))
          .then(
              [this, name, incarnation, handle, last_event](const v1::WorkerHelloReply& reply) {
                on_greeted(name, incarnation, handle, last_event, reply);
              },
              [drop](const caf::error&) { drop(); });
    });
  }

  void on_greeted(const std::string& name, uint64_t incarnation,
                  const caf::strong_actor_ptr& handle, uint64_t last_event,
                  const v1::WorkerHelloReply& reply) {
    Link* link = find(name, incarnation);
    if (link == nullptr) return;
    if (schemas::failed(reply.failure())) {
      log_error("node",
                concat("the router refuses us: ", schemas::from_wire(reply.failure()).message()));
      return;
    }
    link->handle = handle;
    link->busy = false;
    link->heard_us = now_us();
    self_->monitor(handle);
    ports_.on_known();
    link->sent = last_event;
    if (reply.want_snapshot()) send_snapshot(name, *link);
  }

  void drop_silent(TimeUs now) {
    for (auto it = links_.begin(); it != links_.end();) {
      const bool silent =
          it->second.handle && now - it->second.heard_us > limits::router_silence_us;
      if (silent) {
        log_warning("node", concat("router ", it->first, " does not answer; it is greeted anew"));
      }
      it = silent ? links_.erase(it) : std::next(it);
    }
  }

  void report_to(const std::string& name, const Link& link, const v1::LoadReport& load) {
    const uint64_t incarnation = link.node.incarnation();
    self_
        ->request(caf::actor_cast<RouterActor>(link.handle),
                  std::chrono::milliseconds(limits::request_timeout_ms), load)
        .then(
            [this, name, incarnation](const v1::Pong& pong) {
              Link* again = find(name, incarnation);
              if (again == nullptr) return;
              again->heard_us = now_us();
              if (pong.unknown()) links_.erase(name);
            },
            [](const caf::error&) {});
  }

  void send_events(const std::string& name, Link& link) {
    if (!link.handle || link.busy || link.sent == events_.last_number()) return;
    const auto events = events_.since(link.sent, limits::events_max);
    if (!events) {
      send_snapshot(name, link);
      return;
    }
    v1::KvEvents wire = schemas::to_wire(*events);
    wire.set_name(own_.name());
    wire.set_incarnation(own_.incarnation());
    link.busy = true;
    link.sent += events->size();
    const uint64_t incarnation = link.node.incarnation();
    const auto answered = [this, name, incarnation](bool want_snapshot) {
      Link* again = find(name, incarnation);
      if (again == nullptr) return;
      again->busy = false;
      if (want_snapshot) send_snapshot(name, *again);
    };
    self_
        ->request(caf::actor_cast<RouterActor>(link.handle),
                  std::chrono::milliseconds(limits::request_timeout_ms), wire)
        .then([answered](const v1::KvEventsReply& reply) { answered(reply.want_snapshot()); },
              [answered](const caf::error&) { answered(true); });
  }

  void send_snapshot(const std::string& name, Link& link) {
    v1::KvSnapshot snapshot = ports_.snapshot();
    snapshot.set_name(own_.name());
    snapshot.set_incarnation(own_.incarnation());
    snapshot.set_last_number(events_.last_number());
    link.busy = true;
    link.sent = events_.last_number();
    const uint64_t incarnation = link.node.incarnation();
    send_parts(self_, caf::actor_cast<PartSink>(link.handle), v1::PART_SNAPSHOT,
               snapshot.SerializeAsString(), [this, name, incarnation](Status status) {
                 Link* again = find(name, incarnation);
                 if (again == nullptr) return;
                 again->busy = false;
                 if (status) return;
                 log_warning("node", "snapshot: " + status.error().message());
                 // Events alone would never heal it: begin anew.
                 again->sent = UINT64_MAX;
               });
  }

  Self* self_;
  Caller caller_;
  const kv::EventLog& events_;
  RouterLinkPorts ports_;
  v1::NodeInfo own_;  ///< as the directory tells it
  std::map<std::string, Link> links_;
};

}  // namespace troupe::actors
