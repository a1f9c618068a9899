#include "actors/metrics_actor.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <fstream>

#include "actors/message_sizes.hpp"
#include "schemas/convert.hpp"

namespace troupe::actors {
namespace {

using Self = MetricsActor::stateful_pointer<MetricsActorState>;

int64_t wall_now_us() {
  using namespace std::chrono;
  return duration_cast<microseconds>(system_clock::now().time_since_epoch()).count();
}

/// What the operating system knows of this process.
void measure_process(Metrics& metrics) {
  rusage usage{};
  if (::getrusage(RUSAGE_SELF, &usage) == 0) {
    const auto us = [](const timeval& time) {
      return static_cast<uint64_t>(time.tv_sec) * 1'000'000 + static_cast<uint64_t>(time.tv_usec);
    };
    metrics.set(v1::METRIC_CPU_US, us(usage.ru_utime) + us(usage.ru_stime));
  }
  metrics.set(v1::METRIC_LARGEST_MESSAGE_BYTES, largest_message_bytes());
  std::ifstream file("/proc/self/statm");
  uint64_t pages = 0;
  uint64_t resident = 0;
  if (file >> pages >> resident) {
    metrics.set(v1::METRIC_MEMORY_BYTES, resident * static_cast<uint64_t>(::sysconf(_SC_PAGESIZE)));
  }
}

void forget(MetricsActorState& state, const caf::actor_addr& who) {
  const auto found = state.keys.find(who);
  if (found == state.keys.end()) return;
  state.publisher->on_gone(found->second);
  state.sinks.erase(found->second);
  state.keys.erase(found);
}

v1::SubscribeReply subscribe(Self self, const v1::Subscribe& wanted,
                             const caf::strong_actor_ptr& sink) {
  MetricsActorState& state = self->state;
  v1::SubscribeReply reply;
  if (!sink) {
    *reply.mutable_failure() =
        schemas::to_wire(error(Code::invalid_argument, "a subscription without a subscriber"));
    return reply;
  }
  const auto [entry, is_new] =
      state.keys.try_emplace(caf::actor_cast<caf::actor_addr>(sink), state.last_key + 1);
  auto interval = state.publisher->on_subscribe(entry->second, wanted, now_us());
  if (!interval) {
    if (is_new) state.keys.erase(entry);
    *reply.mutable_failure() = schemas::to_wire(interval.error());
    return reply;
  }
  reply.set_interval_ms(*interval);
  if (is_new) {
    ++state.last_key;
    state.sinks[entry->second] = sink;
    self->monitor(sink);
  }
  if (!state.ticking) self->send(self, caf::tick_atom_v);
  state.ticking = true;
  return reply;
}

void publish(Self self) {
  MetricsActorState& state = self->state;
  if (state.publisher->is_due(now_us())) measure_process(*state.metrics);
  for (auto& [key, update] : state.publisher->due(now_us(), wall_now_us())) {
    self->send(caf::actor_cast<MetricsSink>(state.sinks.at(key)), std::move(update));
  }
  // Those that were silent for too long are not known to the publisher any more.
  for (auto it = state.keys.begin(); it != state.keys.end();) {
    const bool known = state.publisher->knows(it->second);
    if (!known) state.sinks.erase(it->second);
    it = known ? std::next(it) : state.keys.erase(it);
  }
  state.ticking = state.publisher->num_subscribers() > 0;
  if (!state.ticking) return;
  self->delayed_send(self, std::chrono::milliseconds(limits::update_interval_ms_min),
                     caf::tick_atom_v);
}

}  // namespace

MetricsActor::behavior_type metrics_actor(Self self, std::shared_ptr<Metrics> metrics,
                                          uint64_t incarnation) {
  metrics->set(v1::METRIC_START_WALL_US, static_cast<uint64_t>(wall_now_us()));
  self->state.metrics = metrics;
  self->state.publisher = std::make_unique<MetricsPublisher>(std::move(metrics), incarnation);
  self->set_down_handler([self](const caf::down_msg& down) { forget(self->state, down.source); });
  return {
      [self](const v1::Subscribe& wanted, const caf::strong_actor_ptr& sink) {
        return subscribe(self, wanted, sink);
      },
      [self](const v1::MetricsAck& ack) {
        const auto sender = caf::actor_cast<caf::actor_addr>(self->current_sender());
        const auto found = self->state.keys.find(sender);
        if (found == self->state.keys.end()) return;
        self->state.publisher->on_ack(found->second, ack.number(), now_us());
      },
      [self](caf::tick_atom) { publish(self); },
      [](const v1::Ping& ping) { return pong_of(ping); },
  };
}

}  // namespace troupe::actors
