#include "base/copy_crc32c.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

#include "base/crc32c.hpp"
#include "tests/support/pattern.hpp"

using namespace troupe;

namespace {

constexpr std::byte untouched{0xa5};

/// Copies `part` to `at` bytes behind an aligned address; every version must write exactly it.
void check_copy(std::span<const std::byte> part, size_t at, uint32_t seed) {
  const uint32_t right = crc32c_scalar(part, seed);
  const auto versions = [&](int version, std::byte* to) {
    switch (version) {
      case 0:
        return copy_crc32c(to, part, CopyTo::cache, seed);
      case 1:
        return copy_crc32c(to, part, CopyTo::memory, seed);
      default:
        return copy_crc32c_plain(to, part, seed);
    }
  };
  for (int version = 0; version < 3; ++version) {
    std::vector<std::byte> room(part.size() + 128, untouched);
    std::byte* const to = room.data() + at;
    REQUIRE(versions(version, to) == right);
    REQUIRE(std::equal(part.begin(), part.end(), to));
    REQUIRE(std::all_of(room.data(), to, [](std::byte b) { return b == untouched; }));
    REQUIRE(std::all_of(to + part.size(), room.data() + room.size(),
                        [](std::byte b) { return b == untouched; }));
  }
}

}  // namespace

TEST_CASE("a copy and its checksum, at every length, alignment and seed") {
  if (!cpu_has_vpclmul()) MESSAGE("this CPU has no products of 256 bits: plain copies only");
  const std::vector<std::byte> data = testing::pattern(100'000, 99);
  const std::span<const std::byte> all(data);
  for (size_t size = 0; size < 700; ++size) {
    check_copy(all.subspan(size % 37, size), size % 41, static_cast<uint32_t>(size * 2654435761u));
  }
  for (const size_t size : {size_t{16383}, size_t{16384}, size_t{65536}, data.size() - 40}) {
    check_copy(all.subspan(3, size), 5, 1);
  }
  check_copy({}, 0, 12345);
}

TEST_CASE("a copy in pieces has the checksum of the whole") {
  const std::vector<std::byte> data = testing::pattern(50'000, 99);
  std::vector<std::byte> to(data.size());
  uint32_t crc = 0;
  for (size_t at = 0; at < data.size();) {
    const size_t bytes = std::min<size_t>(at % 7000 + 1, data.size() - at);
    crc = copy_crc32c(to.data() + at, std::span(data).subspan(at, bytes),
                      at % 2 == 0 ? CopyTo::cache : CopyTo::memory, crc);
    at += bytes;
  }
  CHECK(crc == crc32c(data));
  CHECK(to == data);
}
