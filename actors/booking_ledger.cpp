#include "actors/booking_ledger.hpp"

#include <algorithm>
#include <utility>

#include "actors/limits.hpp"

namespace troupe::actors {

bool BookingLedger::is_new(uint64_t request, uint64_t number) const {
  const auto found = requests_.find(request);
  return found == requests_.end() || found->second.number < number;
}

std::optional<uint64_t> BookingLedger::book(PeerKey client, uint64_t request, uint64_t number,
                                            uint64_t booking) {
  Entry& entry = requests_[request];
  entry.client = client;
  entry.number = number;
  return std::exchange(entry.booking, booking);
}

std::optional<uint64_t> BookingLedger::find(uint64_t request) const {
  const auto found = requests_.find(request);
  return found == requests_.end() ? std::nullopt : found->second.booking;
}

std::optional<uint64_t> BookingLedger::end(uint64_t request, uint64_t number) {
  Entry& entry = requests_[request];
  if (entry.number > number) return std::nullopt;
  entry.number = number;
  remember_ended(request);
  return std::exchange(entry.booking, std::nullopt);
}

void BookingLedger::remember_ended(uint64_t request) {
  ended_.push_back(request);
  if (ended_.size() <= limits::ended_requests_max) return;
  const auto oldest = requests_.find(ended_.front());
  ended_.pop_front();
  // One that was asked for again since is not over.
  if (oldest != requests_.end() && !oldest->second.booking) requests_.erase(oldest);
}

std::vector<uint64_t> BookingLedger::on_client_gone(PeerKey client) {
  std::vector<uint64_t> gone, bookings;
  for (auto& [request, entry] : requests_) {
    if (entry.client != client || !entry.booking) continue;
    bookings.push_back(*std::exchange(entry.booking, std::nullopt));
    gone.push_back(request);
  }
  // What it asked may come once more when only its connection is gone.
  for (const uint64_t request : gone) remember_ended(request);
  return bookings;
}

void BookingLedger::forget(std::span<const uint64_t> bookings) {
  if (bookings.empty()) return;
  std::erase_if(requests_, [&](const auto& entry) {
    return entry.second.booking && std::ranges::count(bookings, *entry.second.booking) > 0;
  });
}

}  // namespace troupe::actors
