#include "launch/amounts.hpp"

#include <doctest/doctest.h>

#include "launch/nearest.hpp"

namespace troupe::launch {
namespace {

TEST_CASE("bytes with units") {
  CHECK(*parse_bytes("0B") == 0);
  CHECK(*parse_bytes("512MiB") == 512ull << 20);
  CHECK(*parse_bytes("1.5GiB") == 1536ull << 20);
  CHECK(*parse_bytes("2GB") == 2'000'000'000);
  CHECK(*parse_bytes("16777215TiB") == 16777215ull << 40);
  for (const char* bad : {"", "512", "MiB", "-1MiB", "1.MiB", ".5MiB", "1.5B", "1 MiB", "1MiBs",
                          "16777216TiB", "99999999999999999999B", "1e3B", "0x1B"}) {
    CHECK_MESSAGE(!parse_bytes(bad).ok(), bad);
  }
}

TEST_CASE("durations with units") {
  CHECK(*parse_duration_ms("250ms") == 250);
  CHECK(*parse_duration_ms("1.5s") == 1500);
  CHECK(*parse_duration_ms("10m") == 600'000);
  CHECK(*parse_duration_ms("1d") == 86'400'000);
  CHECK_FALSE(parse_duration_ms("30").ok());
  CHECK_FALSE(parse_duration_ms("1us").ok());
  CHECK(*parse_duration_ms("365d") == 31'536'000'000);
  for (const char* endless : {"366d", "9999999999d", "106751991167d", "9223372036854775807ms"}) {
    const auto refused = parse_duration_ms(endless);
    REQUIRE_FALSE(refused.ok());
    CHECK(refused.error().what.find("expected") != std::string::npos);
  }
}

TEST_CASE("amounts are written as they are read") {
  for (const char* text : {"0B", "1B", "1023B", "1KiB", "256MiB", "3GiB", "1TiB"}) {
    CHECK(format_bytes(*parse_bytes(text)) == text);
  }
  for (const char* text : {"0ms", "250ms", "30s", "10m", "2h", "365d"}) {
    CHECK(format_duration_ms(*parse_duration_ms(text)) == text);
  }
}

TEST_CASE("the nearest name is one that was probably meant") {
  CHECK(edit_distance("abc", "acb") == 1);
  CHECK(edit_distance("kitten", "sitting") == 3);
  CHECK(edit_distance("", "abc") == 3);
  CHECK(nearest("threds", {"run", "threads", "host"}) == "threads");
  CHECK(nearest("temperature", {"run", "threads", "host"}).empty());
  CHECK(nearest("", {"run"}).empty());
  CHECK(nearest("x", {"run"}).empty());
  CHECK(list_of({"a", "b", "c"}) == "a, b or c");
  CHECK(in_quotes("a\nb") == "\"a?b\"");
}

}  // namespace
}  // namespace troupe::launch
