#include "transport/ticket.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/sha256.hpp"

namespace troupe::transport {
namespace {

constexpr uint32_t ticket_magic = 0x54505254;  // "TRPT"
constexpr uint16_t ticket_version = 1;

struct Wire {
  uint32_t magic = ticket_magic;
  uint16_t version = ticket_version;
  uint16_t port = 0;
  uint32_t ip = 0;
  uint32_t reserved = 0;
  uint64_t started_us = 0;
  uint64_t incarnation = 0;
  uint64_t number = 0;
  Digest proof{};
};
static_assert(sizeof(Wire) == ticket_bytes);

/// Of everything before it and of the process that it is for.
Digest proof_of(const Wire& wire, std::string_view key, uint64_t target) {
  std::string message(reinterpret_cast<const char*>(&wire), offsetof(Wire, proof));
  message.append(reinterpret_cast<const char*>(&target), sizeof target);
  return hmac_sha256(key, message);
}

/// In a time that does not depend on where they differ.
bool is_same(const Digest& a, const Digest& b) {
  unsigned difference = 0;
  for (size_t i = 0; i < a.size(); ++i) difference |= static_cast<unsigned>(a[i] ^ b[i]);
  return difference == 0;
}

}  // namespace

Ticket make_ticket(std::string_view key, const TicketHolder& holder, uint64_t number,
                   uint64_t target) {
  Wire wire;
  wire.port = holder.socket.port;
  wire.ip = holder.socket.ip;
  wire.started_us = holder.started_us;
  wire.incarnation = holder.incarnation;
  wire.number = number;
  wire.proof = proof_of(wire, key, target);
  Ticket ticket;
  std::memcpy(ticket.data(), &wire, sizeof wire);
  return ticket;
}

TicketVerdict TicketBook::check(std::span<const std::byte> shown, TicketHolder& holder) {
  if (shown.empty()) return TicketVerdict::silent;
  if (shown.size() != ticket_bytes) return TicketVerdict::foreign;
  Wire wire;
  std::memcpy(&wire, shown.data(), sizeof wire);
  if (wire.magic != ticket_magic || wire.version != ticket_version) return TicketVerdict::foreign;
  if (!is_same(wire.proof, proof_of(wire, key_, incarnation_))) return TicketVerdict::forged;
  const TicketHolder shows{wire.started_us, wire.incarnation, {wire.ip, wire.port}};
  if (!is_new(shows, wire.number)) return TicketVerdict::used;
  holder = shows;
  return TicketVerdict::good;
}

bool TicketBook::is_new(const TicketHolder& holder, uint64_t number) {
  const HolderKey key{holder.started_us, holder.incarnation};
  auto found = holders_.find(key);
  if (found == holders_.end()) {
    if (key <= forgotten_) return false;
    if (holders_.size() >= limits::ticket_holders_max) forget_one();
    found = holders_.emplace(key, Seen{}).first;
  }
  Seen& seen = found->second;
  if (number > seen.last) {
    const uint64_t step = number - seen.last;
    seen.before = step < seen.before.size() ? seen.before << step : decltype(seen.before){};
    seen.last = number;
  } else if (seen.last - number >= seen.before.size() || seen.before[seen.last - number]) {
    return false;
  }
  seen.before.set(seen.last - number);
  seen.used_at = ++good_;
  return true;
}

void TicketBook::forget_one() {
  const auto oldest = std::ranges::min_element(
      holders_, {}, [](const auto& entry) { return entry.second.used_at; });
  forgotten_ = std::max(forgotten_, oldest->first);
  holders_.erase(oldest);
}

}  // namespace troupe::transport
