#include "base/crc32c.hpp"

#include <doctest/doctest.h>

#include <string_view>
#include <vector>

#include "tests/support/pattern.hpp"

using namespace troupe;

namespace {

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

}  // namespace

TEST_CASE("crc32c gives the vectors of RFC 3720") {
  CHECK(crc32c(bytes_of("123456789")) == 0xe3069283u);
  CHECK(crc32c({}) == 0u);
  const std::vector<std::byte> zeros(32);
  CHECK(crc32c(zeros) == 0x8a9136aau);
  const std::vector<std::byte> ones(32, std::byte{0xff});
  CHECK(crc32c(ones) == 0x62a8ab43u);
}

TEST_CASE("both versions of crc32c agree at every length, alignment and seed") {
  if (!cpu_has_crc32()) {
    MESSAGE("SKIPPED: this CPU has no crc32 instruction");
    return;
  }
  const std::vector<std::byte> data = testing::pattern(3 * 4096 * 2 + 3 * 256 + 77, 12345);
  const std::span<const std::byte> all(data);
  for (size_t size = 0; size < 1700; ++size) {
    const auto part = all.subspan(size % 9, size);
    REQUIRE(crc32c_sse42(part, 7) == crc32c_scalar(part, 7));
  }
  for (const size_t size : {size_t{12287}, size_t{12288}, size_t{12289}, data.size() - 1}) {
    const auto part = all.subspan(1, size);
    CHECK(crc32c_sse42(part) == crc32c_scalar(part));
  }
}

TEST_CASE("crc32c can be continued") {
  const std::vector<std::byte> data = testing::pattern(20000, 12345);
  const std::span<const std::byte> all(data);
  for (const size_t cut : {size_t{0}, size_t{1}, size_t{4097}, size_t{19999}}) {
    CHECK(crc32c(all.subspan(cut), crc32c(all.first(cut))) == crc32c(all));
    CHECK(crc32c_scalar(all.subspan(cut), crc32c_scalar(all.first(cut))) == crc32c(all));
  }
}

TEST_CASE("crc32c notices every single flipped bit") {
  std::vector<std::byte> data = testing::pattern(300, 12345);
  const uint32_t right = crc32c(data);
  for (size_t bit = 0; bit < data.size() * 8; ++bit) {
    data[bit / 8] ^= static_cast<std::byte>(1u << (bit % 8));
    REQUIRE(crc32c(data) != right);
    data[bit / 8] ^= static_cast<std::byte>(1u << (bit % 8));
  }
}
