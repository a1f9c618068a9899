// The part of Placement that keeps account: workers, their load and the bookings.
#include <algorithm>
#include <cmath>

#include "actors/placement.hpp"
#include "base/concat.hpp"

namespace troupe::actors {

Status Placement::on_worker(const WorkerInfo& info) {
  if (info.id.empty() || !plausible(info.profile) || info.block_bytes == 0) {
    return error(Code::invalid_argument,
                 concat("worker '", info.id, "' presented itself without a usable profile"),
                 "a name, block bytes, and finite positive times and bandwidth are needed");
  }
  const auto found = workers_.find(info.id);
  if (found != workers_.end() && found->second.info.incarnation == info.incarnation) {
    found->second.info = info;
    found->second.blocks_booked = 0;
    return {};
  }
  if (found != workers_.end()) on_worker_gone(info.id, found->second.info.incarnation);
  if (!index_.begin(info.id, info.incarnation)) {
    return error(Code::exhausted,
                 concat("worker '", info.id, "' is one more than the ", kv::limits::workers_max,
                        " that one router can follow"),
                 "use several routers");
  }
  workers_[info.id].info = info;
  return {};
}

void Placement::on_worker_gone(const std::string& id, uint64_t incarnation) {
  const auto found = workers_.find(id);
  if (found == workers_.end() || found->second.info.incarnation != incarnation) return;
  workers_.erase(found);
  index_.remove_worker(id);
  // A request is dead with either of its workers: its client asks for a new placement.
  std::erase_if(bookings_, [&](const auto& entry) {
    const Booking& booking = entry.second;
    if (booking.decode.worker != id && booking.prefill.worker != id) return false;
    unbook(booking);
    return true;
  });
}

void Placement::on_load(const std::string& id, uint64_t incarnation, uint32_t blocks_free,
                        double fetch_bytes_per_us) {
  const auto found = workers_.find(id);
  if (found == workers_.end() || found->second.info.incarnation != incarnation) return;
  found->second.info.blocks_free = blocks_free;
  found->second.blocks_booked = 0;
  const bool usable = std::isfinite(fetch_bytes_per_us) && fetch_bytes_per_us > 0;
  found->second.fetch_bytes_per_us = usable ? fetch_bytes_per_us : 0;
}

void Placement::set_unfit(const std::string& id, std::string why, bool gives) {
  const auto found = workers_.find(id);
  if (found == workers_.end()) return;
  found->second.gives = gives || why.empty();
  found->second.unfit = std::move(why);
}

uint64_t Placement::book(const PlaceRequest& request, const Choice& decode, const Choice* prefill,
                         TimeUs now) {
  Booking booking;
  booking.mentioned = now;
  booking.sequences = request.choices;
  booking.decode = {decode.worker->info.id, decode.range, 0};
  if (prefill != nullptr) booking.prefill = {prefill->worker->info.id, prefill->range, 0};
  Worker& worker = workers_.at(booking.decode.worker);
  worker.running += request.choices;
  worker.blocks_booked += request.names.size() - decode.candidate.matched_blocks;
  set_remaining(booking.decode, 0);
  set_remaining(booking.prefill, 0);
  bookings_.emplace(++last_booking_, std::move(booking));
  return last_booking_;
}

void Placement::set_remaining(Share& share, uint32_t prefilled) {
  const auto found = workers_.find(share.worker);
  if (found == workers_.end()) return;
  Worker& worker = found->second;
  share.range.begin = std::min(std::max(share.range.begin, prefilled), share.range.end);
  const double remaining = work_us(worker.info.profile, share.range);
  // Sums of differences drift in the last bits; less than nothing is never booked.
  worker.queued_us = std::max(0.0, worker.queued_us + remaining - share.work_us);
  share.work_us = remaining;
}

void Placement::unbook(const Booking& booking) {
  for (Share share : {booking.decode, booking.prefill}) set_remaining(share, UINT32_MAX);
  const auto found = workers_.find(booking.decode.worker);
  if (found != workers_.end()) {
    found->second.running -= std::min(found->second.running, booking.sequences);
  }
}

void Placement::progress(uint64_t id, uint32_t prefilled, TimeUs now) {
  const auto found = bookings_.find(id);
  if (found == bookings_.end()) return;
  found->second.mentioned = now;
  set_remaining(found->second.decode, prefilled);
  set_remaining(found->second.prefill, prefilled);
}

void Placement::finish(uint64_t id) {
  const auto found = bookings_.find(id);
  if (found == bookings_.end()) return;
  unbook(found->second);
  bookings_.erase(found);
}

std::vector<uint64_t> Placement::expire(TimeUs now) {
  std::vector<uint64_t> expired;
  std::erase_if(bookings_, [&](const auto& entry) {
    if (now - entry.second.mentioned < options_.booking_timeout_us) return false;
    unbook(entry.second);
    expired.push_back(entry.first);
    return true;
  });
  return expired;
}

double Placement::queued_us(const std::string& id) const {
  const auto found = workers_.find(id);
  return found == workers_.end() ? 0 : found->second.queued_us;
}

}  // namespace troupe::actors
