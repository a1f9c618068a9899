#include "actors/metrics_publisher.hpp"

#include <algorithm>

#include "base/concat.hpp"

namespace troupe::actors {
namespace {

/// Turns come at about the right time; one that is a little early must not wait for the next.
constexpr TimeUs half_turn_us = limits::update_interval_ms_min * 1000 / 2;

}  // namespace

Result<uint32_t> MetricsPublisher::on_subscribe(Key key, const v1::Subscribe& subscribe,
                                                TimeUs now) {
  if (subscribers_.size() >= limits::subscribers_max && !subscribers_.contains(key)) {
    return error(Code::exhausted, concat(subscribers_.size(), " watch this process already"),
                 "end a troupe monitor elsewhere");
  }
  Subscriber& subscriber = subscribers_[key];
  subscriber.interval_ms = std::clamp(subscribe.interval_ms(), limits::update_interval_ms_min,
                                      limits::update_interval_ms_max);
  subscriber.sent_change = 0;
  subscriber.acknowledged = subscriber.sent;
  subscriber.heard_us = now;
  subscriber.next_us = now;
  metrics_->set(v1::METRIC_SUBSCRIBERS, subscribers_.size());
  return subscriber.interval_ms;
}

void MetricsPublisher::on_ack(Key key, uint64_t number, TimeUs now) {
  const auto found = subscribers_.find(key);
  if (found == subscribers_.end() || number > found->second.sent) return;
  found->second.acknowledged = std::max(found->second.acknowledged, number);
  found->second.heard_us = now;
}

void MetricsPublisher::on_gone(Key key) {
  subscribers_.erase(key);
  metrics_->set(v1::METRIC_SUBSCRIBERS, subscribers_.size());
}

std::vector<std::pair<MetricsPublisher::Key, v1::MetricsUpdate>> MetricsPublisher::due(
    TimeUs now, int64_t wall_us) {
  std::vector<Key> silent;
  std::vector<std::pair<Key, v1::MetricsUpdate>> messages;
  for (auto& [key, subscriber] : subscribers_) {
    if (now - subscriber.heard_us > limits::subscriber_silence_us) {
      silent.push_back(key);
      continue;
    }
    if (!subscriber.is_due(now)) continue;
    v1::MetricsUpdate update =
        metrics_->changes_after(subscriber.sent_change, limits::update_bytes);
    update.set_incarnation(incarnation_);
    update.set_number(++subscriber.sent);
    update.set_at_us(now);
    update.set_wall_us(wall_us);
    // What did not fit follows at once, as far as the window allows.
    const bool whole = update.last() == metrics_->last_change();
    subscriber.next_us = whole ? now + TimeUs{subscriber.interval_ms} * 1000 - half_turn_us : now;
    subscriber.sent_change = update.last();
    metrics_->add(v1::METRIC_UPDATES_SENT);
    messages.emplace_back(key, std::move(update));
  }
  for (const Key key : silent) on_gone(key);
  return messages;
}

bool MetricsPublisher::is_due(TimeUs now) const {
  return std::any_of(subscribers_.begin(), subscribers_.end(),
                     [now](const auto& entry) { return entry.second.is_due(now); });
}

}  // namespace troupe::actors
