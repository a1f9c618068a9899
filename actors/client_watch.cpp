// What a client watches: whether the workers that it waits for are there, and the time.
#include <set>

#include "actors/client_actor.hpp"
#include "actors/limits.hpp"
#include "base/concat.hpp"

namespace troupe::actors {

void ClientCore::lose_worker(const caf::strong_actor_ptr& worker, const char* why) {
  std::vector<uint64_t> lost;
  for (const auto& [id, request] : requests_) {
    if (request.decode == worker) lost.push_back(id);
  }
  for (const uint64_t id : lost) {
    const auto found = requests_.find(id);
    if (found == requests_.end()) continue;
    ClientRequest& request = found->second;
    exclude(request);
    retry(request, error(Code::unavailable,
                         concat("decode worker ", request.placement.decode().name(), " ", why)));
  }
}

void ClientCore::go_on_elsewhere(uint64_t id, uint32_t attempt) {
  const auto found = requests_.find(id);
  if (found == requests_.end() || !found->second.decode) return;
  if (found->second.resume.attempt() != attempt) return;
  retry(found->second, error(Code::unavailable, "the decode worker does not know it any more"));
}

void ClientCore::watch_workers() {
  const TimeUs now = now_us();
  // Whoever slept himself cannot say that others were silent.
  const bool slept = now - last_tick_us_ > 4 * TimeUs{1000} * limits::renew_interval_ms;
  last_tick_us_ = now;
  std::set<caf::strong_actor_ptr, ByIdentity> needed;
  for (const auto& [id, request] : requests_) {
    if (request.decode) needed.insert(request.decode);
  }
  std::erase_if(heard_, [&](const auto& entry) { return !needed.contains(entry.first); });
  std::vector<caf::strong_actor_ptr> silent;
  for (const caf::strong_actor_ptr& worker : needed) {
    TimeUs& heard = heard_.try_emplace(worker, now).first->second;
    if (slept) heard = now;
    if (now - heard > limits::worker_silence_us) silent.push_back(worker);
    v1::Ping ping;
    ping.set_number(++pings_);
    std::map<uint64_t, uint32_t> asked;  // request -> attempt
    for (const auto& [id, request] : requests_) {
      if (request.decode != worker || request.start_parts) continue;
      ping.add_request_ids(id);
      asked[id] = request.resume.attempt();
    }
    self_
        ->request(caf::actor_cast<DecodeActor>(worker),
                  std::chrono::milliseconds(limits::request_timeout_ms), ping)
        .then(
            [this, worker, asked](const v1::Pong& pong) {
              const auto waited_for = heard_.find(worker);
              if (waited_for == heard_.end()) return;
              waited_for->second = now_us();
              if (pong.stalled()) lose_worker(worker, "does not move");
              for (const uint64_t id : pong.unknown_requests()) {
                const auto attempt = asked.find(id);
                if (attempt != asked.end()) go_on_elsewhere(id, attempt->second);
              }
            },
            [](const caf::error&) {});
  }
  for (const caf::strong_actor_ptr& worker : silent) lose_worker(worker, "does not answer");
}

void ClientCore::end_late_requests() {
  const TimeUs now = now_us();
  std::vector<uint64_t> late;
  for (const auto& [id, request] : requests_) {
    const auto most = static_cast<TimeUs>(request.resume.prepared().timeout_ms()) * 1000;
    if (most > 0 && now - request.started_us > most) late.push_back(id);
  }
  for (const uint64_t id : late) {
    ClientRequest& request = requests_.at(id);
    const uint64_t most_ms = request.resume.prepared().timeout_ms();
    drop_workers(request);
    end(id, error(Code::timeout, concat("the request took longer than ", most_ms, " ms"),
                  "limits.request_timeout of the manifest; ask for fewer tokens"));
  }
}

void ClientCore::end_all(const Error& why) {
  std::vector<uint64_t> all;
  for (const auto& [id, request] : requests_) all.push_back(id);
  for (const uint64_t id : all) {
    const auto found = requests_.find(id);
    if (found == requests_.end()) continue;
    drop_workers(found->second);
    end(id, why);
  }
}

}  // namespace troupe::actors
