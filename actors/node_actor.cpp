#include "actors/node_actor.hpp"

#include <algorithm>
#include <utility>

#include "actors/limits.hpp"
#include "base/log.hpp"

namespace troupe::actors {
namespace {

void take_members(NodeActor::pointer self, NodeState& state, const v1::Members& members) {
  {
    const std::lock_guard lock(state.refusal_mutex);
    const std::string before = state.refusal ? state.refusal->message() : std::string();
    state.refusal.reset();
    if (schemas::failed(members.failure())) {
      state.refusal = schemas::from_wire(members.failure());
      const std::string now = state.refusal->message();
      if (now != before) log_error("node", "the directory refuses us: " + now);
      return;
    }
  }
  state.joined = true;
  state.lease_ms = members.lease_ms();
  for (const auto& listener : state.member_listeners) {
    self->send(caf::actor_cast<MembersListener>(listener), members);
  }
}

void join_directory(NodeActor::pointer self, std::shared_ptr<NodeState> state,
                    const caf::strong_actor_ptr& directory) {
  v1::Join join;
  *join.mutable_node() = state->info;
  join.set_cluster(state->cluster);
  join.set_manifest_digest(state->manifest_digest);
  self->request(caf::actor_cast<DirectoryActor>(directory),
                std::chrono::milliseconds(limits::request_timeout_ms), join)
      .then([self, state](const v1::Members& members) { take_members(self, *state, members); },
            [self, state](const caf::error& e) {
              log_warning("node", "the directory did not answer: " + self->system().render(e));
            });
}

/// Whoever has not joined yet waits only for what can still come.
void take_failure(NodeState& state, const Error& why) {
  log_debug("node", why.message());
  if (state.joined) return;
  const std::lock_guard lock(state.refusal_mutex);
  state.last_failure = why;
  if (why.code != Code::unavailable) state.refusal = why;
}

void renew(NodeActor::pointer self, std::shared_ptr<NodeState> state) {
  const auto local = state->roles.find("directory");
  if (local != state->roles.end()) {
    join_directory(self, state, local->second);
    return;
  }
  Caller caller;
  caller.cluster = state->cluster;
  caller.name = state->info.name();
  caller.incarnation = state->info.incarnation();
  caller.connector = state->connector;
  caller.connect_timeout_ms = state->connect_timeout_ms;
  resolve_address(self, caller, state->directory_host, state->directory_port, "directory", 0,
                  [self, state](auto resolved) {
                    if (resolved) {
                      join_directory(self, state, resolved->second);
                    } else {
                      take_failure(*state, resolved.error());
                    }
                  });
}

Result<caf::strong_actor_ptr> check_hello(const NodeState& state, const v1::Hello& hello) {
  if (hello.protocol() != schemas::protocol_version) {
    return error(Code::failed_precondition,
                 concat(hello.name(), " speaks protocol version ", hello.protocol(), ", node ",
                        state.info.name(), " speaks ", schemas::protocol_version),
                 "run the same release of troupe on both");
  }
  if (hello.cluster() != state.cluster) {
    return error(Code::invalid_argument,
                 concat(hello.name(), " belongs to cluster \"", hello.cluster(), "\", node ",
                        state.info.name(), " to \"", state.cluster, "\""));
  }
  if (hello.role().empty()) return caf::strong_actor_ptr{};
  const auto found = state.roles.find(hello.role());
  if (found == state.roles.end()) {
    return error(Code::not_found,
                 concat("node ", state.info.name(), " has no role ", hello.role()));
  }
  return found->second;
}

/// A lease that is shorter than the usual rhythm is renewed three times all the same.
std::chrono::milliseconds renew_interval(const NodeState& state) {
  const auto usual = static_cast<uint32_t>(limits::renew_interval_ms);
  return std::chrono::milliseconds(state.lease_ms == 0 ? usual
                                                       : std::min(usual, state.lease_ms / 3));
}

constexpr const char* ready = "ready";
constexpr const char* stalled = "stalled";

/// Asks every role of this process whether its loop moves. The lease is renewed here, so it says
/// only that this actor moves; the rest has to be found out.
void watch_roles(NodeActor::pointer self, const std::shared_ptr<NodeState>& state) {
  const TimeUs now = now_us();
  // Whoever slept himself cannot say that others were silent.
  const bool slept = now - state->last_tick_us > 4 * TimeUs{1000} * limits::renew_interval_ms;
  state->last_tick_us = now;
  std::string silent;
  for (const auto& [name, handle] : state->roles) {
    NodeState::Watched& role =
        state->watched.try_emplace(name, NodeState::Watched{now}).first->second;
    if (slept) role.moved_us = now;
    if (now - role.moved_us > limits::role_silence_us) {
      silent += concat(silent.empty() ? "" : ", ", name);
    }
    // One at a time: they would pile up before a loop that stands.
    if (std::exchange(role.asked, true)) continue;
    v1::Ping ping;
    ping.set_number(++state->pings);
    self->request(caf::actor_cast<PingTarget>(handle), caf::infinite, ping)
        .then(
            [state, &role](const v1::Pong& pong) {
              role.asked = false;
              if (!pong.stalled()) role.moved_us = now_us();
            },
            [state, &role](const caf::error&) { role.asked = false; });
  }
  const std::string health = state->info.health();
  if (silent.empty() && health == stalled) {
    log_info("node", "all roles of this process move again");
    state->info.set_health(ready);
  } else if (!silent.empty() && health == ready) {
    log_error("node", concat("of this process does not move: ", silent));
    state->info.set_health(stalled);
  }
}

v1::DrainReply on_drain(NodeState& state, const v1::Drain& drain) {
  v1::DrainReply reply;
  Status status;
  if (drain.incarnation() != 0 && drain.incarnation() != state.info.incarnation()) {
    status =
        error(Code::unavailable, concat("node ", state.info.name(), " was restarted meanwhile"));
  } else {
    status = begin_drain(state);
  }
  if (!status) *reply.mutable_failure() = schemas::to_wire(status.error());
  reply.set_running(state.busy);
  return reply;
}

}  // namespace

Status begin_drain(NodeState& state) {
  if (!state.drain_role) {
    return error(Code::failed_precondition,
                 concat("node ", state.info.name(),
                        " runs no worker and no store, there is nothing to drain"),
                 "streams do not need a directory, router or front");
  }
  if (state.info.health() != "draining") {
    log_info("node", concat("node ", state.info.name(), " drains"));
  }
  state.info.set_health("draining");
  state.drain_role();
  return {};
}

NodeActor::behavior_type node_actor(NodeActor::pointer self, std::shared_ptr<NodeState> state) {
  return {
      [state](const v1::Hello& hello) -> caf::result<v1::Welcome, caf::strong_actor_ptr> {
        v1::Welcome welcome;
        welcome.set_protocol(schemas::protocol_version);
        *welcome.mutable_node() = state->info;
        auto handle = check_hello(*state, hello);
        if (!handle) {
          *welcome.mutable_failure() = schemas::to_wire(handle.error());
          return {std::move(welcome), caf::strong_actor_ptr{}};
        }
        return {std::move(welcome), std::move(*handle)};
      },
      [state](const v1::Drain& drain) { return on_drain(*state, drain); },
      [](const Closure& closure) { (*closure.run)(); },
      [self, state](caf::tick_atom) {
        watch_roles(self, state);
        renew(self, state);
        self->delayed_send(self, renew_interval(*state), caf::tick_atom_v);
      },
  };
}

}  // namespace troupe::actors
