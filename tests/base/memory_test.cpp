#include "base/memory.hpp"

#include <doctest/doctest.h>

using namespace troupe;

TEST_CASE("what the system calls available, in bytes") {
  CHECK(parse_available("MemTotal:  100 kB\nMemFree: 5 kB\nMemAvailable:   20 kB\n") == 20'480u);
  CHECK_FALSE(parse_available("MemTotal: 100 kB\n"));
  CHECK_FALSE(parse_available("MemAvailable: many kB\n"));
  const auto available = available_memory();
  REQUIRE(available);
  CHECK(*available > 0u);
}

TEST_CASE("amounts for people") {
  CHECK(bytes_text(0) == "0 B");
  CHECK(bytes_text(1023) == "1023 B");
  CHECK(bytes_text(1024) == "1.0 KiB");
  CHECK(bytes_text(1'288'490'188) == "1.1 GiB");
  CHECK(bytes_text(130ull << 30) == "130 GiB");
  CHECK(bytes_text(~0ull) == "16777215 TiB");
}
