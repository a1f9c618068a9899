#include "model/safetensors.hpp"

#include <cstring>
#include <functional>

#include "tests/model/model_checks.hpp"
#include "tests/support/quantize.hpp"
#include "tests/support/safetensors_writer.hpp"

using namespace troupe;
using namespace troupe::model;
using namespace troupe::testing;

namespace {

SafetensorsWriter two_tensors() {
  SafetensorsWriter writer;
  writer.add("a", "F32", "[2, 3]", quantize(std::vector<float>{1, 2, 3, 4, 5, 6}, TensorType::f32));
  writer.add("b", "BF16", "[2]", quantize(std::vector<float>{0.5f, -2}, TensorType::bf16));
  return writer;
}

void refused(const Bytes& bytes, Code code, const std::string& what) {
  const auto parsed = parse_safetensors(bytes);
  REQUIRE_FALSE(parsed.ok());
  check_error(parsed.error(), code, what, "");
}

void refused_after(const std::function<void(SafetensorsWriter&)>& change, Code code,
                   const std::string& what) {
  SafetensorsWriter writer = two_tensors();
  change(writer);
  refused(writer.build(), code, what);
}

}  // namespace

TEST_CASE("tensors, shapes, bytes and metadata of a safetensors file") {
  SafetensorsWriter writer = two_tensors();
  writer.extra = R"("__metadata__":{"format":"pt"})";
  writer.add("scalar", "I64", "[]", Bytes(8));
  writer.add("empty", "F16", "[4, 0]", {});
  const Bytes bytes = writer.build();
  const auto parsed = parse_safetensors(bytes);
  REQUIRE(parsed.ok());
  REQUIRE(parsed->tensors.size() == 4);
  CHECK(parsed->metadata.at("format") == "pt");
  const StoredTensor& a = parsed->tensors[0];
  CHECK(a.name == "a");
  CHECK(a.type == TensorType::f32);
  CHECK(a.shape == std::vector<uint64_t>{2, 3});
  float last;
  std::memcpy(&last, a.data.data() + 20, 4);
  CHECK(last == 6.0f);
  CHECK(parsed->tensors[1].data.size() == 4);
  CHECK(parsed->tensors[2].shape.empty());
  CHECK(parsed->tensors[3].data.empty());
}

TEST_CASE("a file without tensors is a file") {
  const auto parsed = parse_safetensors(SafetensorsWriter().build());
  REQUIRE(parsed.ok());
  CHECK(parsed->tensors.empty());
}

TEST_CASE("every byte belongs to one tensor") {
  refused_after([](auto& w) { w.entries[1].begin -= 2, w.entries[1].end -= 2; }, Code::corrupt,
                "inside another tensor");
  refused_after([](auto& w) { w.entries[1].begin += 2, w.entries[1].end += 2; }, Code::corrupt,
                "after a gap");
  refused_after([](auto& w) { w.entries.erase(w.entries.begin()); }, Code::corrupt, "after a gap");
  refused_after([](auto& w) { w.entries[1].begin = 0; }, Code::corrupt, "has 28 bytes");
  refused_after([](auto& w) { w.entries[1].begin = w.entries[1].end + 1; }, Code::corrupt,
                "no range");
  refused_after([](auto& w) { w.data.pop_back(); }, Code::corrupt, "ends at byte 28");
  refused_after([](auto& w) { w.data.push_back({}); }, Code::corrupt, "the tensors end at byte 28");
  refused_after([](auto& w) { w.entries[1] = w.entries[0], w.entries[1].name = "c"; },
                Code::corrupt, "inside another tensor");
}

TEST_CASE("shapes and types have to give the bytes that are there") {
  refused_after([](auto& w) { w.entries[0].shape = "[2, 4]"; }, Code::corrupt, "need 32");
  refused_after([](auto& w) { w.entries[0].dtype = "F16"; }, Code::corrupt, "need 12");
  refused_after([](auto& w) { w.entries[0].dtype = "F7"; }, Code::unsupported, "\"F7\"");
  refused_after([](auto& w) { w.entries[0].shape = "[4294967296, 4294967296, 6]"; },
                Code::exhausted, "more elements");
  refused_after([](auto& w) { w.entries[0].shape = "[18446744073709551615, 2]"; }, Code::exhausted,
                "more elements");
  refused_after([](auto& w) { w.entries[0].shape = "[0, 18446744073709551615]"; }, Code::corrupt,
                "need 0");
  refused_after([](auto& w) { w.entries[0].shape = "[-2, -3]"; }, Code::corrupt, "whole number");
  refused_after([](auto& w) { w.entries[0].shape = "[1.5, 4]"; }, Code::corrupt, "whole number");
  refused_after([](auto& w) { w.entries[0].shape = "6"; }, Code::corrupt, "no list shape");
  refused_after([](auto& w) { w.entries[0].shape = "[1,1,1,1,1,1,1,1,6]"; }, Code::exhausted,
                "9 numbers");
}

TEST_CASE("headers that are none") {
  const SafetensorsWriter writer = two_tensors();
  refused({}, Code::corrupt, "0 bytes");
  refused(Bytes(7), Code::corrupt, "7 bytes");
  refused(Bytes(8, std::byte{0xff}), Code::corrupt, "length is 18446744073709551615");
  refused(writer.build("[]      "), Code::corrupt, "begins with \"[\"");
  refused(writer.build(" {}     "), Code::corrupt, "begins with \" \"");
  refused(writer.build("{"), Code::corrupt, "damaged at byte");
  refused(writer.build("{\"a\":5}"), Code::corrupt, "is described by a number");
  refused(writer.build("{\"\":{}}"), Code::corrupt, "0 bytes");
  refused(writer.build("{\"a\":{}}"), Code::corrupt, "no dtype");
  refused(writer.build(R"({"__metadata__":{"a":1}})"), Code::corrupt, "no string");
  refused_after([](auto& w) { w.entries[1].name = "a"; }, Code::corrupt, "\"a\" occurs twice");
  Bytes cut = writer.build();
  for (size_t size = 0; size < cut.size(); ++size) {
    CHECK_FALSE(parse_safetensors(std::span(cut).first(size)).ok());
  }
}
