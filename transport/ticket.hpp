// What a process shows at another's data port before a byte of it reaches UCX: proof that it has
// the cluster's key, good for one connection to one start of one process. UCX authenticates nobody:
// whoever speaks its wire form, or repeats what somebody else once said, would be believed.
//
// A ticket names no time, so hosts need no common clock: it is bound to the incarnation of the
// process that it is for, and numbered by the one that shows it. No sockets here (data_port.hpp).
#pragma once

#include <array>
#include <bitset>
#include <compare>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>

#include "transport/address.hpp"
#include "transport/limits.hpp"

namespace troupe::transport {

/// Who shows a ticket: one start of one process, and where its own data port is.
struct TicketHolder {
  uint64_t started_us = 0;  ///< by its own wall clock
  uint64_t incarnation = 0;
  DataSocket socket;

  bool operator==(const TicketHolder&) const = default;
};

inline constexpr size_t ticket_bytes = 72;
using Ticket = std::array<std::byte, ticket_bytes>;

/// `number`: counts the holder's tickets from 1, whomever they are for. `target`: the incarnation
/// of the process that shall accept it.
Ticket make_ticket(std::string_view key, const TicketHolder& holder, uint64_t number,
                   uint64_t target);

enum class TicketVerdict : uint8_t {
  good,
  silent,   ///< nothing was shown
  foreign,  ///< these are no bytes of a ticket, or too few
  forged,   ///< made with another key, for another process, or altered
  used,     ///< shown before, or too old to tell
};

/// Checks tickets at one data port. Only good ones are remembered, so strangers take no memory.
class TicketBook {
 public:
  TicketBook(std::string key, uint64_t incarnation)
      : key_(std::move(key)), incarnation_(incarnation) {}

  /// `holder` is set when the ticket is good.
  TicketVerdict check(std::span<const std::byte> shown, TicketHolder& holder);

 private:
  /// The numbers of one holder's tickets that were seen: as they may overtake one another, the last
  /// ones bit by bit.
  struct Seen {
    uint64_t last = 0;
    std::bitset<limits::tickets_apart_max> before;  ///< bit n: number last - n
    uint64_t used_at = 0;                           ///< in good tickets of this book
  };
  using HolderKey = std::pair<uint64_t, uint64_t>;  ///< its start, its incarnation

  bool is_new(const TicketHolder& holder, uint64_t number);
  void forget_one();

  std::string key_;
  uint64_t incarnation_;
  std::map<HolderKey, Seen> holders_;
  /// Of holders that were forgotten, the one that started last: an unknown one that started no
  /// later may be one of them.
  HolderKey forgotten_{};
  uint64_t good_ = 0;
};

}  // namespace troupe::transport
