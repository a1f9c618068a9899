// Actors of other processes as a process sees them: proxies that put each message on the simulated
// wire, serialised as CAF's network does. Only tests/sim/*.cpp that need CAF include this.
#pragma once

#include <caf/actor_proxy.hpp>
#include <caf/all.hpp>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "actors/caf_messages.hpp"
#include "tests/sim/links.hpp"

namespace troupe::sim {

class Fabric;

/// An actor at the other end of one connection. Dead once the connection is.
class Proxy : public caf::actor_proxy {
 public:
  Proxy(caf::actor_config& config, Fabric& fabric, LifeId holder, LinkId link,
        caf::strong_actor_ptr target)
      : actor_proxy(config), fabric_(fabric), holder_(holder), link_(link), target_(target) {}

  void enqueue(caf::mailbox_element_ptr what, caf::execution_unit* unit) override;
  void kill_proxy(caf::execution_unit* unit, caf::error reason) override;

 private:
  Fabric& fabric_;
  LifeId holder_;
  LinkId link_;
  caf::strong_actor_ptr target_;  ///< the real one; empty when dead
};

/// The way from a worker to its own device, which takes the time of a step.
class DevicePath : public caf::actor_proxy {
 public:
  DevicePath(caf::actor_config& config, Fabric& fabric, std::function<TimeUs()> step_us,
             caf::strong_actor_ptr device)
      : actor_proxy(config), fabric_(fabric), step_us_(std::move(step_us)), device_(device) {}

  void enqueue(caf::mailbox_element_ptr what, caf::execution_unit* unit) override;
  void kill_proxy(caf::execution_unit* unit, caf::error reason) override;

 private:
  Fabric& fabric_;
  std::function<TimeUs()> step_us_;
  caf::strong_actor_ptr device_;
};

/// A request that went over the wire: whoever sent it must have a timer for it.
struct SentRequest {
  caf::strong_actor_ptr sender;
  caf::message_id id;
  std::string what;
};

class Fabric {
 public:
  Fabric(caf::actor_system& system, Events& events, Links& links);

  /// Which process an actor belongs to; said right after it was spawned.
  void settle(const caf::strong_actor_ptr& actor, LifeId life) { homes_[actor->id()] = life; }
  [[nodiscard]] LifeId home(caf::actor_id actor) const;
  /// What whoever connects to the process gets.
  void publish(LifeId life, const caf::strong_actor_ptr& node) { published_[life] = node; }
  const caf::strong_actor_ptr& published(LifeId life) { return published_[life]; }
  /// `target` as the process at the link's other end sees it.
  caf::strong_actor_ptr proxy(LifeId holder, LinkId link, const caf::strong_actor_ptr& target);
  caf::strong_actor_ptr device_path(std::function<TimeUs()> step_us, caf::strong_actor_ptr device);
  void forward(LifeId from, LinkId link, const caf::strong_actor_ptr& target,
               caf::mailbox_element_ptr what);
  /// Everything that the process knew over the link is gone.
  void lose(LifeId holder, LinkId link);
  /// Breaks all references, so that actors can be destroyed.
  void clear();

  Events& events() { return events_; }

  std::vector<SentRequest> sent_requests;  ///< since the last look
  std::string violation;
  uint64_t messages = 0;
  uint64_t bytes = 0;
  std::function<void(LifeId from, LifeId to, const std::string& what)> trace;

 private:
  /// One element as it travels: its serialised bytes, or an actor of the sender's process.
  struct Element {
    caf::rtti_pair type;
    std::vector<char> bytes;
    caf::strong_actor_ptr actor;
    bool is_actor = false;
  };

  bool encode(const caf::type_erased_tuple& content, LifeId from, std::vector<Element>& out);
  bool decode(const std::vector<Element>& elements, LifeId to, LinkId link, caf::message& out);

  caf::actor_system& system_;
  Events& events_;
  Links& links_;
  std::map<caf::actor_id, LifeId> homes_;
  std::map<LifeId, caf::strong_actor_ptr> published_;
  std::map<std::tuple<LifeId, LinkId, caf::actor_id>, caf::strong_actor_ptr> proxies_;
  std::vector<caf::strong_actor_ptr> paths_;
};

}  // namespace troupe::sim
