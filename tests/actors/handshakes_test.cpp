// Who may begin a TLS handshake, how many, and for how long.
#include "actors/handshakes.hpp"

#include <doctest/doctest.h>

#include "actors/limits.hpp"

using namespace troupe;
using namespace troupe::actors;

namespace {

Admission admit(Handshakes& handshakes, const std::string& first) {
  return handshakes.admit({reinterpret_cast<const uint8_t*>(first.data()), first.size()});
}

}  // namespace

TEST_CASE("only what begins like a TLS handshake is taken") {
  Handshakes handshakes(10, 1000);
  CHECK(admit(handshakes, "\x16\x03\x01") == Admission::take);
  CHECK(admit(handshakes, "\x16\x03\x03") == Admission::take);
  CHECK(admit(handshakes, "\x16") == Admission::take);
  CHECK(admit(handshakes, "") == Admission::silent);
  for (int byte = 0; byte < 256; ++byte) {
    if (byte == 0x16) continue;
    CHECK(admit(handshakes, std::string(3, static_cast<char>(byte))) == Admission::garbage);
  }
  CHECK(admit(handshakes, "\x16\x02\x01") == Admission::garbage);
  CHECK(admit(handshakes, "GET") == Admission::garbage);
}

TEST_CASE("handshakes are bounded in number and in time, and each ends once") {
  Handshakes handshakes(3, 1000);
  int connections[4] = {};
  for (int i = 0; i < 3; ++i) {
    REQUIRE(admit(handshakes, "\x16\x03\x01") == Admission::take);
    handshakes.begin(&connections[i], 10 + i, i * 100);
    handshakes.begin(&connections[i], 99, i * 100);
  }
  CHECK(handshakes.num_open() == 3);
  CHECK(admit(handshakes, "\x16\x03\x01") == Admission::too_many);
  CHECK(handshakes.end(&connections[1]) == 11);
  CHECK(handshakes.end(&connections[1]) == -1);
  CHECK(handshakes.end(&connections[3]) == -1);
  CHECK(admit(handshakes, "\x16\x03\x01") == Admission::take);
  CHECK(handshakes.take_late(999).empty());
  CHECK(handshakes.take_late(1000) == std::vector<int>{10});
  CHECK(handshakes.take_late(1100).empty());
  CHECK(handshakes.take_late(1200) == std::vector<int>{12});
  CHECK(handshakes.num_open() == 2);
  CHECK(handshakes.end(&connections[0]) == 10);
  CHECK(handshakes.end(&connections[2]) == 12);
  CHECK(handshakes.num_open() == 0);
}

TEST_CASE("the log hears of many connections in one line, and not too often") {
  Handshakes handshakes(1, 1000);
  CHECK_FALSE(handshakes.report(0).has_value());
  for (int i = 0; i < 3000; ++i) (void)admit(handshakes, i % 3 == 0 ? "" : "GET");
  const auto line = handshakes.report(5);
  REQUIRE(line.has_value());
  CHECK(line->find("3000 connections") != std::string::npos);
  CHECK(line->find("1000 said nothing") != std::string::npos);
  (void)admit(handshakes, "");
  CHECK_FALSE(handshakes.report(5 + limits::report_interval_us - 1).has_value());
  CHECK(handshakes.report(5 + limits::report_interval_us)->find("turned 1 ") != std::string::npos);
}
