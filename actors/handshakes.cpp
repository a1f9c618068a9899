#include "actors/handshakes.hpp"

#include "actors/limits.hpp"
#include "base/concat.hpp"

namespace troupe::actors {

Admission Handshakes::admit(std::span<const uint8_t> first) {
  // A TLS record of the kind "handshake": 22, then the major version 3.
  constexpr uint8_t kind = 22;
  constexpr uint8_t version = 3;
  if (first.empty()) {
    ++silent_;
    return Admission::silent;
  }
  if (first[0] != kind || (first.size() > 1 && first[1] != version)) {
    ++garbage_;
    return Admission::garbage;
  }
  if (open_.size() >= most_) {
    ++too_many_;
    return Admission::too_many;
  }
  return Admission::take;
}

void Handshakes::begin(const void* connection, int fd, TimeUs now) {
  open_.try_emplace(connection, Open{fd, now, false});
}

int Handshakes::end(const void* connection) {
  const auto found = open_.find(connection);
  if (found == open_.end()) return -1;
  const int fd = found->second.fd;
  open_.erase(found);
  return fd;
}

std::vector<int> Handshakes::take_late(TimeUs now) {
  std::vector<int> late;
  for (auto& [connection, open] : open_) {
    if (open.is_late || now - open.since < limit_us_) continue;
    open.is_late = true;
    ++late_;
    late.push_back(open.fd);
  }
  return late;
}

std::optional<std::string> Handshakes::report(TimeUs now) {
  const uint64_t all = silent_ + garbage_ + too_many_ + late_;
  if (all == 0 || now < next_report_) return std::nullopt;
  next_report_ = now + limits::report_interval_us;
  std::string line =
      concat("turned ", all, " connections away from the control port: ", silent_,
             " said nothing, ", garbage_, " did not speak TLS, ", late_,
             " did not finish their handshake, ", too_many_, " came while too many were under way");
  silent_ = garbage_ = too_many_ = late_ = 0;
  return line;
}

}  // namespace troupe::actors
