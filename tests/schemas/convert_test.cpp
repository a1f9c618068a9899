#include "schemas/convert.hpp"

#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <limits>

using namespace troupe;

namespace {

engine::SamplingParams all_fields() {
  engine::SamplingParams params;
  params.temperature = 0.7f;
  params.top_k = 40;
  params.top_p = 0.9f;
  params.min_p = 0.05f;
  params.typical_p = 0.8f;
  params.repetition_penalty = 1.1f;
  params.presence_penalty = -0.5f;
  params.frequency_penalty = 0.25f;
  params.logit_bias = {{5, -1.5f}, {1, 2.0f}, {5, 0.0f}};
  params.seed = 0xFEDCBA9876543210u;
  params.max_tokens = 77;
  params.min_tokens = 3;
  params.ignore_eos = true;
  params.stop_ids = {2, 0, 9};
  params.top_logprobs = 6;
  return params;
}

void check_equal(const engine::SamplingParams& a, const engine::SamplingParams& b) {
  const auto bits = [](float x) { return std::bit_cast<uint32_t>(x); };
  CHECK(bits(a.temperature) == bits(b.temperature));
  CHECK(a.top_k == b.top_k);
  CHECK(bits(a.top_p) == bits(b.top_p));
  CHECK(bits(a.min_p) == bits(b.min_p));
  CHECK(bits(a.typical_p) == bits(b.typical_p));
  CHECK(bits(a.repetition_penalty) == bits(b.repetition_penalty));
  CHECK(bits(a.presence_penalty) == bits(b.presence_penalty));
  CHECK(bits(a.frequency_penalty) == bits(b.frequency_penalty));
  CHECK(a.logit_bias == b.logit_bias);
  CHECK(a.seed == b.seed);
  CHECK(a.max_tokens == b.max_tokens);
  CHECK(a.min_tokens == b.min_tokens);
  CHECK(a.ignore_eos == b.ignore_eos);
  CHECK(a.stop_ids == b.stop_ids);
  CHECK(a.top_logprobs == b.top_logprobs);
}

v1::Sampling through_bytes(const v1::Sampling& wire) {
  v1::Sampling parsed;
  REQUIRE(parsed.ParseFromString(wire.SerializeAsString()));
  return parsed;
}

kv::BlockName name_of(uint8_t byte) {
  kv::BlockName name;
  name.bytes.fill(byte);
  return name;
}

}  // namespace

TEST_CASE("every sampling parameter survives the wire, bit for bit") {
  const v1::Sampling wire = schemas::to_wire(all_fields());
  const auto back = schemas::from_wire(through_bytes(wire));
  REQUIRE(back.ok());
  check_equal(*back, all_fields());
  // No field was left at its default, so none can be missing in the conversion unnoticed. The
  // choice index is the one that travels elsewhere.
  const auto* description = v1::Sampling::descriptor();
  for (int i = 0; i < description->field_count(); ++i) {
    const auto* field = description->field(i);
    const auto* reflection = wire.GetReflection();
    CHECK_MESSAGE((field->is_repeated() ? reflection->FieldSize(wire, field) > 0
                                        : reflection->HasField(wire, field)),
                  field->name());
  }
  const auto defaults =
      schemas::from_wire(through_bytes(schemas::to_wire(engine::SamplingParams{})));
  REQUIRE(defaults.ok());
  check_equal(*defaults, {});
}

TEST_CASE("odd floats survive too: judging them is validate()'s business") {
  for (float odd : {std::numeric_limits<float>::infinity(), -0.0f, 1e-40f, std::nanf("3")}) {
    engine::SamplingParams params = all_fields();
    params.temperature = odd;
    params.min_p = -odd;
    const auto back = schemas::from_wire(through_bytes(schemas::to_wire(params)));
    REQUIRE(back.ok());
    check_equal(*back, params);
  }
}

TEST_CASE("sampling whose lists contradict each other or are too long is refused") {
  v1::Sampling wire = schemas::to_wire(all_fields());
  wire.add_bias_token(1);
  const auto uneven = schemas::from_wire(wire);
  REQUIRE_FALSE(uneven.ok());
  CHECK(uneven.error().code == Code::invalid_argument);
  CHECK(uneven.error().what.find("4 tokens but 3 values") != std::string::npos);
  v1::Sampling biased;
  for (uint32_t i = 0; i <= engine::limits::logit_bias_max; ++i) {
    biased.add_bias_token(1);
    biased.add_bias_value(1.0f);
  }
  REQUIRE_FALSE(schemas::from_wire(biased).ok());
  CHECK(schemas::from_wire(biased).error().message().find("1024") != std::string::npos);
  v1::Sampling stopping;
  for (uint32_t i = 0; i <= engine::limits::stop_ids_max; ++i) stopping.add_stop_ids(1);
  REQUIRE_FALSE(schemas::from_wire(stopping).ok());
  CHECK(schemas::from_wire(stopping).error().message().find("64") != std::string::npos);
}

TEST_CASE("errors keep code, sentence and hint; codes from nowhere become internal") {
  for (int code = 1; code <= static_cast<int>(Code::internal); ++code) {
    const Error before = error(static_cast<Code>(code), "what", "hint");
    const v1::Failure wire = schemas::to_wire(before);
    CHECK(schemas::failed(wire));
    const Error after = schemas::from_wire(wire);
    CHECK(after.code == before.code);
    CHECK(after.what == "what");
    CHECK(after.hint == "hint");
  }
  CHECK_FALSE(schemas::failed(v1::Failure{}));
  for (uint32_t code : {static_cast<uint32_t>(Code::internal) + 1, 256u, 0xFFFFFFFFu}) {
    v1::Failure strange;
    strange.set_code(code);
    CHECK(schemas::failed(strange));
    CHECK(schemas::from_wire(strange).code == Code::internal);
  }
}

TEST_CASE("block names are sixteen bytes each, and nothing else is taken for them") {
  const std::vector<kv::BlockName> names{name_of(1), name_of(0), name_of(255)};
  const std::string packed = schemas::pack_names(names);
  CHECK(packed.size() == 48);
  CHECK(schemas::unpack_names(packed).value() == names);
  CHECK(schemas::unpack_names("").value().empty());
  CHECK(schemas::unpack_name(schemas::pack_name(name_of(7))).value() == name_of(7));
  for (size_t bytes : {1u, 15u, 17u, 47u}) {
    const auto bad = schemas::unpack_names(std::string(bytes, 'x'));
    REQUIRE_FALSE(bad.ok());
    CHECK(bad.error().code == Code::corrupt);
  }
  CHECK(schemas::unpack_name("").error().code == Code::corrupt);
  CHECK(schemas::unpack_name(packed).error().code == Code::corrupt);
}

TEST_CASE("KV events keep number, kind, tier and name") {
  std::vector<kv::Event> events;
  uint64_t number = 1000;
  for (kv::Tier tier : {kv::Tier::device, kv::Tier::host, kv::Tier::disk}) {
    for (bool stored : {true, false}) {
      events.push_back({number, stored, tier, name_of(static_cast<uint8_t>(number))});
      ++number;
    }
  }
  const auto back = schemas::from_wire(schemas::to_wire(events));
  REQUIRE(back.ok());
  REQUIRE(back->size() == events.size());
  for (size_t i = 0; i < events.size(); ++i) {
    CHECK((*back)[i].number == events[i].number);
    CHECK((*back)[i].stored == events[i].stored);
    CHECK((*back)[i].tier == events[i].tier);
    CHECK((*back)[i].name == events[i].name);
  }
  CHECK(schemas::from_wire(schemas::to_wire(std::vector<kv::Event>{})).value().empty());
}

TEST_CASE("KV events of uneven lengths, unknown tiers and bits are refused") {
  v1::KvEvents wire = schemas::to_wire(std::vector<kv::Event>{{1, true, kv::Tier::disk, {}}});
  v1::KvEvents uneven = wire;
  uneven.mutable_flags()->push_back('\1');
  CHECK(schemas::from_wire(uneven).error().code == Code::corrupt);
  v1::KvEvents cut = wire;
  cut.mutable_names()->pop_back();
  CHECK(schemas::from_wire(cut).error().code == Code::corrupt);
  for (int flags = 0; flags < 256; ++flags) {
    wire.set_flags(std::string(1, static_cast<char>(flags)));
    CHECK(schemas::from_wire(wire).ok() == (flags >> 1 <= 2));
  }
}

TEST_CASE("a snapshot says what is where; without tiers all is on the device") {
  v1::KvSnapshot wire;
  wire.set_names(std::string(16, 'a') + std::string(16, 'b'));
  auto blocks = schemas::from_wire(wire);
  REQUIRE(blocks.ok());
  REQUIRE(blocks->size() == 2);
  CHECK((*blocks)[1].tier == kv::Tier::device);
  CHECK((*blocks)[1].name.bytes[15] == 'b');
  wire.set_tiers(std::string("\1\2", 2));
  blocks = schemas::from_wire(wire);
  REQUIRE(blocks.ok());
  CHECK((*blocks)[0].tier == kv::Tier::host);
  CHECK((*blocks)[1].tier == kv::Tier::disk);
  for (const std::string& bad : {std::string("\1", 1), std::string("\1\3", 2)}) {
    wire.set_tiers(bad);
    const auto refused = schemas::from_wire(wire);
    REQUIRE_FALSE(refused.ok());
    CHECK(refused.error().code == Code::corrupt);
  }
  wire.set_tiers("");
  wire.set_names("short");
  CHECK_FALSE(schemas::from_wire(wire).ok());
}
