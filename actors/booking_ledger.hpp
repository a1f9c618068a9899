// Which booking stands for which request: at most one a request, whatever comes twice, late or not
// at all. No CAF.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "actors/peer_key.hpp"

namespace troupe::actors {

/// A client counts its questions about a request; what it says at the end names the last one.
class BookingLedger {
 public:
  /// Whether the question may book: neither it nor a later one was asked or ended.
  [[nodiscard]] bool is_new(uint64_t request, uint64_t number) const;
  /// Gives the booking that this one takes the place of: its answer did not arrive.
  std::optional<uint64_t> book(PeerKey client, uint64_t request, uint64_t number, uint64_t booking);
  /// The booking that stands for the request now.
  [[nodiscard]] std::optional<uint64_t> find(uint64_t request) const;
  /// The client wants nothing more of questions up to this number; gives what is to be finished.
  std::optional<uint64_t> end(uint64_t request, uint64_t number);
  std::vector<uint64_t> on_client_gone(PeerKey client);
  /// These bookings are gone by themselves.
  void forget(std::span<const uint64_t> bookings);

  /// Requests that something is known of, ended ones included.
  [[nodiscard]] size_t size() const { return requests_.size(); }

 private:
  struct Entry {
    PeerKey client = 0;
    uint64_t number = 0;
    std::optional<uint64_t> booking;
  };

  void remember_ended(uint64_t request);

  std::unordered_map<uint64_t, Entry> requests_;
  std::deque<uint64_t> ended_;  ///< oldest first
};

}  // namespace troupe::actors
