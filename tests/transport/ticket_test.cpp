// Tickets: who is let in at a data port, and how often.
#include "transport/ticket.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

using namespace troupe;
using namespace troupe::transport;

namespace {

constexpr uint64_t here = 11;
const std::string key = "a key";
const TicketHolder holder{1000, 77, {0x0a000001, 4000}};

TicketVerdict check(TicketBook& book, const Ticket& ticket) {
  TicketHolder ignored;
  return book.check(ticket, ignored);
}

}  // namespace

TEST_CASE("a ticket is good once, and says who shows it") {
  TicketBook book(key, here);
  const Ticket ticket = make_ticket(key, holder, 1, here);
  TicketHolder shown;
  CHECK(book.check(ticket, shown) == TicketVerdict::good);
  CHECK(shown == holder);
  CHECK(check(book, ticket) == TicketVerdict::used);
  CHECK(check(book, make_ticket(key, holder, 2, here)) == TicketVerdict::good);
  CHECK(check(book, ticket) == TicketVerdict::used);
}

TEST_CASE("no ticket, half a ticket and more than one are refused") {
  TicketBook book(key, here);
  const Ticket ticket = make_ticket(key, holder, 1, here);
  TicketHolder shown;
  CHECK(book.check({}, shown) == TicketVerdict::silent);
  for (size_t size = 1; size < ticket.size(); ++size) {
    CHECK(book.check(std::span(ticket).first(size), shown) == TicketVerdict::foreign);
  }
  std::vector<std::byte> longer(ticket.begin(), ticket.end());
  longer.push_back({});
  CHECK(book.check(longer, shown) == TicketVerdict::foreign);
  CHECK(shown == TicketHolder{});
  CHECK(check(book, ticket) == TicketVerdict::good);
}

TEST_CASE("a ticket of which a bit was changed is refused") {
  TicketBook book(key, here);
  const Ticket ticket = make_ticket(key, holder, 1, here);
  for (size_t bit = 0; bit < 8 * ticket.size(); ++bit) {
    Ticket altered = ticket;
    altered[bit / 8] ^= std::byte(1 << (bit % 8));
    const TicketVerdict verdict = check(book, altered);
    CHECK(verdict == (bit / 8 < 6 ? TicketVerdict::foreign : TicketVerdict::forged));
  }
  CHECK(check(book, ticket) == TicketVerdict::good);
}

TEST_CASE("a ticket of another cluster, for another process or for an earlier start is refused") {
  TicketBook book(key, here);
  CHECK(check(book, make_ticket("another key", holder, 1, here)) == TicketVerdict::forged);
  CHECK(check(book, make_ticket("", holder, 1, here)) == TicketVerdict::forged);
  const Ticket ticket = make_ticket(key, holder, 1, here);
  CHECK(check(book, ticket) == TicketVerdict::good);
  TicketBook restarted(key, here + 1);
  CHECK(check(restarted, ticket) == TicketVerdict::forged);
}

TEST_CASE("tickets may overtake one another a little") {
  TicketBook book(key, here);
  const auto show = [&](uint64_t number) {
    return check(book, make_ticket(key, holder, number, here));
  };
  CHECK(show(5) == TicketVerdict::good);
  CHECK(show(3) == TicketVerdict::good);
  CHECK(show(3) == TicketVerdict::used);
  CHECK(show(5) == TicketVerdict::used);
  CHECK(show(300) == TicketVerdict::good);
  CHECK(show(299) == TicketVerdict::good);
  CHECK(show(300 - limits::tickets_apart_max + 1) == TicketVerdict::good);
  CHECK(show(300 - limits::tickets_apart_max) == TicketVerdict::used);
  CHECK(show(5) == TicketVerdict::used);
  CHECK(show(UINT64_MAX) == TicketVerdict::good);
  CHECK(show(UINT64_MAX) == TicketVerdict::used);
  CHECK(show(301) == TicketVerdict::used);
}

TEST_CASE("starts of processes are remembered in bounded memory, and none is let in twice") {
  TicketBook book(key, here);
  const auto show = [&](uint64_t start, uint64_t number) {
    return check(book, make_ticket(key, {start, start % 7, {}}, number, here));
  };
  const uint64_t most = limits::ticket_holders_max;
  for (uint64_t start = 1; start <= most; ++start) REQUIRE(show(start, 1) == TicketVerdict::good);
  CHECK(show(1, 2) == TicketVerdict::good);         // so 2 is the longest unused
  CHECK(show(most + 1, 1) == TicketVerdict::good);  // and goes
  CHECK(show(2, 1) == TicketVerdict::used);
  CHECK(show(2, 2) == TicketVerdict::used);
  CHECK(show(1, 2) == TicketVerdict::used);
  CHECK(show(1, 3) == TicketVerdict::good);
  CHECK(show(3, 1) == TicketVerdict::used);
  CHECK(show(3, 2) == TicketVerdict::good);
  for (uint64_t start = most + 2; start < 3 * most; ++start) {
    REQUIRE(show(start, 1) == TicketVerdict::good);
  }
  for (uint64_t start = 1; start < 3 * most; ++start) {
    REQUIRE(show(start, 1) == TicketVerdict::used);
  }
}
