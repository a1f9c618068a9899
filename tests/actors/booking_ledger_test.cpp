// One booking a request, in every order of questions, ends and lost connections.
#include "actors/booking_ledger.hpp"

#include <doctest/doctest.h>

#include <random>
#include <set>

#include "actors/limits.hpp"

using namespace troupe::actors;

TEST_CASE("whatever comes twice, late or never, no booking is forgotten and none stands twice") {
  for (uint32_t seed = 0; seed < 200; ++seed) {
    std::mt19937 random(seed);
    BookingLedger ledger;
    std::set<uint64_t> open;
    uint64_t last_booking = 0;
    uint64_t last_number = 0;
    const auto finish = [&open](std::optional<uint64_t> booking) {
      if (booking) CHECK(open.erase(*booking) == 1);
    };
    for (int i = 0; i < 200; ++i) {
      const uint64_t request = random() % 5;
      switch (random() % 4) {
        case 0:
        case 1: {
          // Some are questions from before.
          const uint64_t number = random() % 3 == 0 ? random() % (last_number + 1) : ++last_number;
          if (!ledger.is_new(request, number)) break;
          open.insert(++last_booking);
          finish(ledger.book(request % 2, request, number, last_booking));
          CHECK(ledger.find(request) == last_booking);
          CHECK_FALSE(ledger.is_new(request, number));
          break;
        }
        case 2:
          finish(ledger.end(request, random() % (last_number + 2)));
          break;
        default:
          for (const uint64_t booking : ledger.on_client_gone(random() % 2)) finish(booking);
      }
      CHECK(open.size() <= 5);
    }
    for (uint64_t request = 0; request < 5; ++request) finish(ledger.end(request, UINT64_MAX));
    CHECK(open.empty());
  }
}

TEST_CASE("ended requests are remembered up to a limit, and those that go on are never forgotten") {
  BookingLedger ledger;
  (void)ledger.book(1, 7, 1, 100);
  for (uint64_t request = 1000; request < 21'000; ++request) {
    (void)ledger.book(1, request, 1, request);
    CHECK(ledger.end(request, 1) == request);
  }
  CHECK(ledger.size() <= limits::ended_requests_max + 1);
  CHECK(ledger.find(7) == 100);
  CHECK_FALSE(ledger.is_new(20'999, 1));
  const std::vector<uint64_t> expired = {100};
  ledger.forget(expired);
  CHECK_FALSE(ledger.find(7).has_value());
}
