#include "actors/parts.hpp"

#include <doctest/doctest.h>

using namespace troupe;
using namespace troupe::actors;

namespace {

std::string payload_of(size_t bytes) {
  std::string payload(bytes, '\0');
  for (size_t i = 0; i < bytes; ++i) payload[i] = static_cast<char>(i * 7 + i / 256);
  return payload;
}

}  // namespace

TEST_CASE("a payload is cut without a hole, and an empty payload is one part") {
  const std::string payload = payload_of(2 * limits::part_bytes + 5);
  std::string joined;
  const Parts parts(payload);
  REQUIRE(parts.size() == 3);
  for (size_t i = 0; i < parts.size(); ++i) {
    CHECK(parts[i].offset == joined.size());
    joined.append(parts[i].bytes);
  }
  CHECK(joined == payload);
  CHECK(Parts("").size() == 1);
  CHECK(Parts(std::string(limits::part_bytes, 'x')).size() == 1);
}

TEST_CASE("interleaved transfers come together and leave nothing behind") {
  PartsAssembler assembler;
  const std::string a = payload_of(300000);
  const std::string b = payload_of(200000);
  std::optional<std::string> got_a;
  std::optional<std::string> got_b;
  for (size_t at = 0; at < a.size(); at += 50000) {
    auto part = assembler.add(BulkKind::prompt, 1, a.size(), at, a.substr(at, 50000), 0);
    REQUIRE(part.ok());
    if (*part) got_a = *part;
    if (at >= b.size()) continue;
    part = assembler.add(BulkKind::resume, 2, b.size(), at, b.substr(at, 50000), 0);
    REQUIRE(part.ok());
    if (*part) got_b = *part;
  }
  CHECK(got_a == a);
  CHECK(got_b == b);
  CHECK(assembler.num_open() == 0);
  const auto empty = assembler.add(BulkKind::prompt, 3, 0, 0, "", 0);
  REQUIRE(empty.ok());
  CHECK(empty->value_or("nothing") == "");
}

TEST_CASE("what is only announced takes no memory") {
  PartsAssembler assembler;
  REQUIRE(assembler.add(BulkKind::snapshot, 1, limits::snapshot_bytes_max, 0, "abc", 0).ok());
  CHECK(assembler.bytes_held() == 3);
}

TEST_CASE("each kind has its cap, checked when it is announced") {
  PartsAssembler assembler;
  for (const BulkKind kind :
       {BulkKind::prompt, BulkKind::snapshot, BulkKind::schema, BulkKind::resume}) {
    CHECK(assembler.add(kind, 1, bytes_max(kind), 0, "a", 0).ok());
    const auto refused = assembler.add(kind, 2, bytes_max(kind) + 1, 0, "a", 0);
    REQUIRE_FALSE(refused.ok());
    CHECK(refused.error().code == Code::invalid_argument);
    CHECK(refused.error().message().find(name(kind)) != std::string::npos);
    assembler = PartsAssembler();
  }
  CHECK_FALSE(assembler.add(static_cast<BulkKind>(99), 1, 1, 0, "a", 0).ok());
}

TEST_CASE("holes, overlap, excess and contradictions end the transfer") {
  const auto second_part_fails = [](BulkKind kind, uint64_t total, uint64_t offset,
                                    std::string_view bytes) {
    PartsAssembler assembler;
    REQUIRE(assembler.add(BulkKind::prompt, 1, 10, 0, "abcd", 0).ok());
    const auto refused = assembler.add(kind, 1, total, offset, bytes, 0);
    REQUIRE_FALSE(refused.ok());
    CHECK(refused.error().code == Code::invalid_argument);
    CHECK(assembler.num_open() == 0);
    return refused.error().what;
  };
  CHECK(second_part_fails(BulkKind::prompt, 10, 5, "efg") ==
        "a part of a prompt begins at byte 5 where byte 4 is next");
  second_part_fails(BulkKind::prompt, 10, 3, "efg");
  second_part_fails(BulkKind::prompt, 10, UINT64_MAX, "efg");
  second_part_fails(BulkKind::prompt, 10, 4, "efghijk");
  second_part_fails(BulkKind::prompt, 10, 4, "");
  second_part_fails(BulkKind::prompt, 11, 4, "efg");
  second_part_fails(BulkKind::resume, 10, 4, "efg");
  PartsAssembler assembler;
  CHECK_FALSE(assembler.add(BulkKind::prompt, 1, 10, 4, "efg", 0).ok());
  const std::string large(limits::part_bytes + 1, 'x');
  CHECK_FALSE(assembler.add(BulkKind::prompt, 1, 1 << 20, 0, large, 0).ok());
  CHECK(assembler.num_open() == 0);
}

TEST_CASE("a peer has a bounded number of transfers open and silent ones expire") {
  PartsAssembler assembler(2, 100);
  REQUIRE(assembler.add(BulkKind::prompt, 1, 10, 0, "a", 0).ok());
  REQUIRE(assembler.add(BulkKind::prompt, 2, 10, 0, "a", 50).ok());
  const auto refused = assembler.add(BulkKind::prompt, 3, 10, 0, "a", 60);
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().code == Code::exhausted);
  REQUIRE(assembler.add(BulkKind::prompt, 1, 10, 1, "b", 70).ok());
  CHECK(assembler.expire(150) == 1);
  CHECK(assembler.num_open() == 1);
  CHECK(assembler.add(BulkKind::prompt, 3, 10, 0, "a", 160).ok());
  CHECK_FALSE(assembler.add(BulkKind::prompt, 2, 10, 1, "b", 160).ok());
}
