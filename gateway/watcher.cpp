#include "gateway/watcher.hpp"

#include <algorithm>

#include "base/concat.hpp"
#include "base/log.hpp"
#include "gateway/limits.hpp"

namespace troupe::gateway {

std::string why_unready(const actors::ClusterView& view) {
  const auto plays = [&view](const std::string& node, const char* role) {
    return std::ranges::any_of(view.nodes, [&](const actors::NodeStatus& status) {
      return (node.empty() || status.name == node) &&
             std::ranges::find(status.roles, role) != status.roles.end();
    });
  };
  if (!plays("", "front")) return "no front is there";
  if (!plays("", "router")) return "no router is there";
  std::string why = "no decode worker is there";
  for (const actors::WorkerStatus& worker : view.workers) {
    if (!plays(worker.name, "decode")) continue;
    if (worker.unfit.empty()) return {};
    why = concat("decode worker ", worker.name, ": ", worker.unfit);
  }
  return why;
}

Watcher::Watcher(actors::Client& client) : client_(client) {
  thread_ = std::thread([this] { run(); });
}

Watcher::~Watcher() {
  {
    const std::lock_guard lock(stop_mutex_);
    stops_ = true;
  }
  stop_signal_.notify_all();
  thread_.join();
}

std::shared_ptr<const actors::ModelCard> Watcher::card() const {
  const std::lock_guard lock(state_->mutex);
  return state_->card;
}

std::string Watcher::unready() const {
  const std::lock_guard lock(state_->mutex);
  if (!state_->why.empty()) return state_->why;
  if (!state_->card) return "no front has told its model yet";
  const TimeUs age_us = now_us() - state_->looked_us;
  if (age_us <= limits::ready_age_us) return {};
  return concat("the cluster has not answered for ", age_us / 1000, " ms");
}

void Watcher::ask_card() {
  {
    const std::lock_guard lock(state_->mutex);
    if (state_->card || std::exchange(state_->is_asking, true)) return;
  }
  client_.card([state = state_](Result<actors::ModelCard> card) {
    const std::lock_guard lock(state->mutex);
    state->is_asking = false;
    if (card) {
      state->card = std::make_shared<const actors::ModelCard>(std::move(*card));
    } else if (card.error().code != Code::cancelled) {
      log_warning("gateway", "no front told its model: " + card.error().message());
    }
  });
}

void Watcher::look() {
  const auto view = client_.view(std::chrono::milliseconds(limits::watch_timeout_ms));
  const std::lock_guard lock(state_->mutex);
  state_->looked_us = now_us();
  state_->why = view ? why_unready(*view) : view.error().message();
}

void Watcher::run() {
  for (;;) {
    ask_card();
    look();
    std::unique_lock lock(stop_mutex_);
    const bool told = stop_signal_.wait_for(lock, std::chrono::milliseconds(limits::watch_ms),
                                            [this] { return stops_; });
    if (told) return;
  }
}

}  // namespace troupe::gateway
