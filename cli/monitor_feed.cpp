#include "cli/monitor_feed.hpp"

#include <google/protobuf/util/message_differencer.h>

#include <algorithm>
#include <chrono>

namespace troupe::cli {

int64_t wall_now_us() {
  using namespace std::chrono;
  return duration_cast<microseconds>(system_clock::now().time_since_epoch()).count();
}

Status LiveFeed::record_to(const std::string& path) {
  TROUPE_ASSIGN(writer_, RecordingWriter::create(path, model_.cluster(), wall_now_us()));
  return {};
}

actors::MonitorHandlers LiveFeed::handlers() {
  actors::MonitorHandlers handlers;
  handlers.on_members = [this](const v1::Members& members) { take_members(members); };
  handlers.on_update = [this](const v1::NodeInfo& node, const v1::MetricsUpdate& update) {
    return take_update(node.name(), update);
  };
  handlers.on_refused = [this](const Error& why) {
    const std::lock_guard lock(mutex_);
    failure_ = why;
  };
  return handlers;
}

void LiveFeed::with_model(const std::function<void(const MonitorModel&)>& use) const {
  const std::lock_guard lock(mutex_);
  use(model_);
}

std::optional<Error> LiveFeed::failure() const {
  const std::lock_guard lock(mutex_);
  return failure_;
}

void LiveFeed::note(const Status& written) {
  if (written.ok()) return;
  failure_ = written.error();
  writer_.reset();
}

void LiveFeed::take_members(const v1::Members& members) {
  const std::lock_guard lock(mutex_);
  const int64_t now = wall_now_us();
  model_.take_members(members, now);
  if (!writer_ || google::protobuf::util::MessageDifferencer::Equals(members, recorded_members_)) {
    return;
  }
  recorded_members_ = members;
  note(writer_->add_members(members, now));
}

actors::Taken LiveFeed::take_update(const std::string& node, const v1::MetricsUpdate& update) {
  const std::lock_guard lock(mutex_);
  const int64_t now = wall_now_us();
  const actors::Taken taken = model_.take_update(node, update, now);
  if (taken == actors::Taken::taken && writer_) note(writer_->add_update(node, update, now));
  return taken;
}

Result<ReplayFeed> ReplayFeed::open(const std::string& path) {
  TROUPE_ASSIGN(RecordingReader reader, RecordingReader::open(path));
  ReplayFeed feed(std::move(reader));
  TROUPE_ASSIGN(feed.next_, feed.reader_.next());
  feed.wall_us_ = feed.next_ ? feed.next_->wall_us() : feed.reader_.header().start_wall_us();
  return feed;
}

Status ReplayFeed::take_next() {
  const v1::RecordedEvent& event = *next_;
  last_us_ = event.wall_us();
  if (event.has_members()) {
    model_.take_members(event.members(), event.wall_us());
  } else {
    model_.take_update(event.node(), event.update(), event.wall_us());
  }
  TROUPE_ASSIGN(next_, reader_.next());
  return {};
}

Status ReplayFeed::advance(int64_t us) {
  if (at_end()) return {};
  wall_us_ += us;
  while (next_ && next_->wall_us() <= wall_us_) TROUPE_TRY(take_next());
  // Nothing is known of what came after: rates and silences are those of the last moment.
  if (at_end()) wall_us_ = std::min(wall_us_, last_us_);
  return {};
}

Status ReplayFeed::finish() {
  while (next_) {
    wall_us_ = next_->wall_us();
    TROUPE_TRY(take_next());
  }
  return {};
}

}  // namespace troupe::cli
