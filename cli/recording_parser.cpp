#include "actors/metrics_subscriber.hpp"
#include "base/concat.hpp"
#include "cli/message_json.hpp"
#include "cli/recording.hpp"

namespace troupe::cli {

Result<std::optional<v1::RecordedEvent>> RecordingParser::take_line(std::string_view line) {
  ++line_;
  auto event = read(line);
  if (event) return event;
  const Error& why = event.error();
  return error(why.code, concat("line ", line_, ": ", why.what), why.hint);
}

Result<std::optional<v1::RecordedEvent>> RecordingParser::read(std::string_view line) {
  if (line_ == 1) {
    TROUPE_TRY(from_json_line(line, header_));
    if (header_.troupe_recording() == 0) {
      return error(Code::invalid_argument, "this is no recording of troupe monitor",
                   "its first line says troupe_recording");
    }
    if (header_.troupe_recording() != recording_version) {
      return error(Code::unsupported,
                   concat("the recording has version ", header_.troupe_recording()),
                   concat("this release reads version ", recording_version));
    }
    return std::optional<v1::RecordedEvent>();
  }
  v1::RecordedEvent event;
  TROUPE_TRY(from_json_line(line, event));
  if (event.has_members() == event.has_update()) {
    return error(Code::invalid_argument, "the event has neither members nor update, or both",
                 "exactly one of them");
  }
  if (event.has_update() && event.node().empty()) {
    return error(Code::invalid_argument, "the update does not say of which node it is",
                 "node: its name");
  }
  if (!actors::is_time(event.wall_us())) {
    return error(Code::invalid_argument, "the event has no wall_us, or an impossible one",
                 "microseconds since 1970");
  }
  if (event.wall_us() < last_wall_us_) {
    return error(Code::invalid_argument, "wall_us goes back", "events in the order of their times");
  }
  last_wall_us_ = event.wall_us();
  return std::optional<v1::RecordedEvent>(std::move(event));
}

}  // namespace troupe::cli
