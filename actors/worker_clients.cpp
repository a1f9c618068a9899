// Flow control towards clients: numbered messages, a window, and output held for those that are
// behind it.
#include <algorithm>

#include "actors/limits.hpp"
#include "actors/worker_logic.hpp"
#include "base/concat.hpp"
#include "base/log.hpp"
#include "schemas/convert.hpp"

namespace troupe::actors {

bool WorkerLogic::has(PeerKey client, uint64_t request_id) const {
  for (auto it = choices_.lower_bound({request_id, 0});
       it != choices_.end() && it->first.first == request_id; ++it) {
    if (it->second.client == client) return true;
  }
  const auto known = clients_.find(client);
  if (known == clients_.end()) return false;
  return std::any_of(known->second.held.begin(), known->second.held.end(),
                     [&](const v1::Delta& delta) { return delta.request_id() == request_id; });
}

void WorkerLogic::queue(PeerKey client, v1::Delta delta, std::map<PeerKey, v1::Deltas>& outgoing) {
  *outgoing[client].add_deltas() = std::move(delta);
}

void WorkerLogic::flush(std::map<PeerKey, v1::Deltas> outgoing, TimeUs now) {
  for (auto& [key, deltas] : outgoing) {
    const auto found = clients_.find(key);
    if (found == clients_.end()) continue;
    Client& client = found->second;
    const bool full = client.next_number - client.acknowledged > limits::deltas_unacked_max;
    if (!full && client.held.empty()) {
      deltas.set_number(client.next_number++);
      ports_.send_deltas(key, deltas);
      continue;
    }
    if (client.waiting_since_us == 0) client.waiting_since_us = now;
    for (v1::Delta& delta : *deltas.mutable_deltas()) hold(client, std::move(delta));
  }
}

void WorkerLogic::hold(Client& client, v1::Delta delta) {
  client.held_bytes += delta.ByteSizeLong();
  const ChoiceKey key{delta.request_id(), delta.choice()};
  const auto newest = client.newest_held.find(key);
  if (newest != client.newest_held.end()) {
    v1::Delta& held = client.held[newest->second];
    if (held.attempt() == delta.attempt() && held.ByteSizeLong() < limits::held_delta_bytes) {
      held.mutable_tokens()->MergeFrom(delta.tokens());
      held.mutable_logprob_bits()->MergeFrom(delta.logprob_bits());
      held.mutable_top_logprobs()->MergeFrom(delta.top_logprobs());
      held.mutable_text()->append(delta.text());
      if (delta.has_stats()) *held.mutable_stats() = delta.stats();
      if (delta.finish().empty()) return;
      held.set_finish(delta.finish());
      *held.mutable_failure() = delta.failure();
      return;
    }
  }
  client.newest_held[key] = client.held.size();
  client.held.push_back(std::move(delta));
}

void WorkerLogic::release_held(PeerKey key, Client& client) {
  while (!client.held.empty() &&
         client.next_number - client.acknowledged <= limits::deltas_unacked_max) {
    v1::Deltas deltas;
    size_t bytes = 0;
    while (!client.held.empty()) {
      const size_t next = client.held.front().ByteSizeLong();
      if (bytes > 0 && bytes + next > limits::deltas_bytes) break;
      bytes += next;
      *deltas.add_deltas() = std::move(client.held.front());
      client.held.pop_front();
    }
    client.held_bytes -= std::min(client.held_bytes, bytes);
    deltas.set_number(client.next_number++);
    ports_.send_deltas(key, deltas);
  }
  client.newest_held.clear();
  if (client.held.empty()) client.held_bytes = 0;
}

void WorkerLogic::on_deltas_ack(PeerKey key, uint64_t number, TimeUs now) {
  const auto found = clients_.find(key);
  if (found == clients_.end()) return;
  Client& client = found->second;
  if (number >= client.next_number) return;
  client.heard_us = now;
  client.acknowledged = std::max(client.acknowledged, number);
  client.waiting_since_us = client.held.empty() ? 0 : now;
  if (client.held.empty() ||
      client.next_number - client.acknowledged > limits::deltas_unacked_max / 2) {
    return;
  }
  release_held(key, client);
  if (client.held.empty()) client.waiting_since_us = 0;
}

void WorkerLogic::on_client_heard(PeerKey key, TimeUs now) {
  const auto found = clients_.find(key);
  if (found != clients_.end()) found->second.heard_us = now;
}

void WorkerLogic::drop_client(PeerKey key, const char* why) {
  log_warning("worker", concat(why, "; its requests end"));
  v1::Deltas last;
  last.set_number(clients_.at(key).next_number);
  for (const auto& [id, choice] : choices_) {
    if (choice.client != key) continue;
    v1::Delta* delta = last.add_deltas();
    delta->set_request_id(choice.request_id);
    delta->set_choice(choice.choice);
    delta->set_attempt(choice.attempt);
    delta->set_finish("failed");
    *delta->mutable_failure() = schemas::to_wire(error(Code::unavailable, why));
  }
  on_peer_down(key);
  // One message beyond the window, so that a client that wakes up knows to go elsewhere.
  ports_.send_deltas(key, last);
}

void WorkerLogic::drop_lost_clients(TimeUs now) {
  // Whoever slept himself cannot say that others were silent.
  const bool slept = now - last_tick_us_ > 4 * TimeUs{1000} * limits::renew_interval_ms;
  last_tick_us_ = now;
  std::set<PeerKey> busy;
  for (const auto& [id, choice] : choices_) busy.insert(choice.client);
  std::vector<std::pair<PeerKey, const char*>> lost;
  for (auto& [key, client] : clients_) {
    if (slept) client.heard_us = now;
    const bool waits = !client.held.empty();
    if (client.waiting_since_us != 0 && now - client.waiting_since_us > limits::slow_client_us) {
      lost.emplace_back(key, "a client took no output for too long");
    } else if (client.held_bytes > limits::held_bytes_max) {
      lost.emplace_back(key, "too much output waits for a client");
    } else if ((waits || busy.contains(key)) && now - client.heard_us > limits::client_silence_us) {
      lost.emplace_back(key, "nothing was heard of a client for too long");
    }
  }
  for (const auto& [key, why] : lost) drop_client(key, why);
}

}  // namespace troupe::actors
