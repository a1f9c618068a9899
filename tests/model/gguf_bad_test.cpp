#include <doctest/doctest.h>

#include <functional>
#include <string>

#include "model/gguf.hpp"
#include "tests/model/model_checks.hpp"

using namespace troupe;
using namespace troupe::testing;

namespace {

constexpr uint64_t huge = ~uint64_t{0};
constexpr uint64_t half = uint64_t{1} << 32;

GgufWriter small() {
  return tiny_llama(smallest());
}

/// A small model with one change.
void refused_after(const std::function<void(GgufWriter&)>& change, Code code,
                   const std::string& what, const std::string& hint) {
  GgufWriter writer = small();
  change(writer);
  check_refused(writer, code, what, hint);
}

}  // namespace

TEST_CASE("the unchanged small model is accepted") {
  CHECK(parse_error(small().build()).code == Code::ok);
}

TEST_CASE("wrong magic and version") {
  refused_after([](GgufWriter& w) { w.magic = "GGML"; }, Code::corrupt, "begins with \"GGML\"",
                "\"GGUF\"");
  refused_after(
      [](GgufWriter& w) {
        w.magic = std::string(
            "\x7f"
            "ELF");
      },
      Code::corrupt, "\\x7fELF", "GGUF");
  refused_after([](GgufWriter& w) { w.version = 1; }, Code::unsupported, "version 1", "2 and 3");
  refused_after([](GgufWriter& w) { w.version = 4; }, Code::unsupported, "version 4", "2 and 3");
  refused_after([](GgufWriter& w) { w.version = 0x03000000; }, Code::unsupported, "big-endian",
                "little-endian");
}

TEST_CASE("counts that the file cannot hold are refused before anything is read") {
  refused_after([](GgufWriter& w) { w.tensor_count = huge; }, Code::corrupt, "announces",
                "truncated");
  refused_after([](GgufWriter& w) { w.pair_count = huge; }, Code::corrupt, "announces",
                "truncated");
  refused_after([](GgufWriter& w) { w.tensor_count = w.tensors.size() + 1; }, Code::corrupt,
                "tensor", "");
  refused_after(
      [](GgufWriter& w) {
        Bytes array;
        put<uint32_t>(array, 8);
        put<uint64_t>(array, huge / 8);
        w.pairs.push_back({"big", 9, array});
      },
      Code::corrupt, "announces 2305843009213693951 elements of type string", "truncated");
  refused_after(
      [](GgufWriter& w) {
        Bytes text;
        put<uint64_t>(text, huge - 3);
        w.pairs.push_back({"big", 8, text});
      },
      Code::corrupt, "the file ends inside metadata \"big\"", "truncated");
}

TEST_CASE("bad metadata") {
  refused_after([](GgufWriter& w) { w.add_u32("general.name", 1); }, Code::corrupt,
                "\"general.name\" occurs twice", "once");
  refused_after(
      [](GgufWriter& w) {
        w.pairs.push_back({"odd", 13, Bytes(8)});
      },
      Code::corrupt, "\"odd\" at byte", "0 to 12");
  refused_after(
      [](GgufWriter& w) {
        w.pairs.push_back({"odd", 7, Bytes(1, std::byte{2})});
      },
      Code::corrupt, "boolean", "0 or 1");
  refused_after([](GgufWriter& w) { w.add_u32("", 1); }, Code::corrupt, "length of 0",
                "1 to 65535");
  refused_after([](GgufWriter& w) { w.add_u32(std::string(65536, 'k'), 1); }, Code::corrupt,
                "length of 65536", "1 to 65535");
  for (const uint32_t alignment : {0u, 1u, 4u, 24u, 131072u, 0xffffffffu}) {
    refused_after([&](GgufWriter& w) { w.add_u32("general.alignment", alignment); }, Code::corrupt,
                  "general.alignment is", "power of two from 8 to 65536");
  }
}

TEST_CASE("bad tensor descriptions") {
  refused_after([](GgufWriter& w) { w.tensors[0].name = std::string(65, 'n'); }, Code::corrupt,
                "length of 65", "1 to 64");
  refused_after([](GgufWriter& w) { w.tensors[0].name = ""; }, Code::corrupt, "length of 0",
                "1 to 64");
  refused_after([](GgufWriter& w) { w.tensors[1].name = w.tensors[0].name; }, Code::corrupt,
                "\"token_embd.weight\" occurs twice", "once");
  refused_after([](GgufWriter& w) { w.tensors[0].dims = {}; }, Code::corrupt, "0 dimensions",
                "1 to 4");
  refused_after(
      [](GgufWriter& w) {
        w.tensors[0].dims = {32, 1, 1, 1, 8};
      },
      Code::corrupt, "5 dimensions", "1 to 4");
  refused_after(
      [](GgufWriter& w) {
        w.tensors[0].dims = {32, 0};
      },
      Code::corrupt, "dimension 1 of tensor \"token_embd.weight\" is 0", "at least 1");
  refused_after(
      [](GgufWriter& w) {
        w.tensors[0].dims = {33, 8};
      },
      Code::corrupt, "no whole number of Q8_0 blocks", "multiple of 32");
}

TEST_CASE("dimensions whose product overflows") {
  refused_after(
      [](GgufWriter& w) {
        w.tensors[0].dims = {half, half};
      },
      Code::exhausted, "more elements than can be read", "at most");
  refused_after(
      [](GgufWriter& w) {
        w.tensors[0].dims = {half, half, half, half};
      },
      Code::exhausted, "more elements than can be read", "at most");
  refused_after([](GgufWriter& w) { w.tensors[0].dims = {~uint64_t{0} - 31}; }, Code::exhausted,
                "more elements than can be read", "at most");
}

TEST_CASE("tensors beyond the file, off the alignment and on top of one another") {
  refused_after([](GgufWriter& w) { w.tensors.back().offset = uint64_t{1} << 20; }, Code::corrupt,
                "reaches beyond the file", "truncated");
  refused_after([](GgufWriter& w) { w.tensors.back().offset = ~uint64_t{0} - 31; }, Code::corrupt,
                "reaches beyond the file", "truncated");
  refused_after([](GgufWriter& w) { w.tensors[0].dims[1] = 1 << 20; }, Code::corrupt,
                "reaches beyond the file", "truncated");
  refused_after([](GgufWriter& w) { w.tensors[1].offset = 273; }, Code::corrupt,
                "lies at offset 273", "multiples of the file's alignment, 32");
  refused_after([](GgufWriter& w) { w.tensors[1].offset = 256; }, Code::corrupt, "overlap",
                "damaged");
  refused_after([](GgufWriter& w) { w.tensors[1].offset = 0; }, Code::corrupt, "overlap",
                "damaged");
}

TEST_CASE("the reader refuses an address that is not aligned") {
  Bytes shifted = small().build();
  shifted.insert(shifted.begin(), std::byte{0});
  const auto parsed = model::GgufFile::parse(std::span(shifted).subspan(1));
  REQUIRE_FALSE(parsed.ok());
  CHECK(parsed.error().code == Code::invalid_argument);
}
