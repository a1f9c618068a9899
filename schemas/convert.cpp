#include "schemas/convert.hpp"

#include <cstring>

#include "base/concat.hpp"

namespace troupe::schemas {
namespace {

constexpr size_t name_bytes = 16;

}  // namespace

v1::Failure to_wire(const Error& e) {
  v1::Failure failure;
  failure.set_code(static_cast<uint32_t>(e.code));
  failure.set_what(e.what);
  failure.set_hint(e.hint);
  return failure;
}

Error from_wire(const v1::Failure& failure) {
  Code code = Code::internal;
  if (failure.code() > 0 && failure.code() <= static_cast<uint32_t>(Code::internal)) {
    code = static_cast<Code>(failure.code());
  }
  return error(code, failure.what(), failure.hint());
}

v1::Sampling to_wire(const engine::SamplingParams& params) {
  v1::Sampling wire;
  wire.set_temperature(params.temperature);
  wire.set_top_k(params.top_k);
  wire.set_top_p(params.top_p);
  wire.set_min_p(params.min_p);
  wire.set_typical_p(params.typical_p);
  wire.set_repetition_penalty(params.repetition_penalty);
  wire.set_presence_penalty(params.presence_penalty);
  wire.set_frequency_penalty(params.frequency_penalty);
  for (const auto& [token, value] : params.logit_bias) {
    wire.add_bias_token(token);
    wire.add_bias_value(value);
  }
  wire.set_seed(params.seed);
  wire.set_max_tokens(params.max_tokens);
  wire.set_min_tokens(params.min_tokens);
  wire.set_ignore_eos(params.ignore_eos);
  for (int32_t id : params.stop_ids) wire.add_stop_ids(id);
  wire.set_top_logprobs(params.top_logprobs);
  return wire;
}

Result<engine::SamplingParams> from_wire(const v1::Sampling& wire) {
  if (wire.bias_token_size() != wire.bias_value_size()) {
    return error(Code::invalid_argument, concat("logit_bias has ", wire.bias_token_size(),
                                                " tokens but ", wire.bias_value_size(), " values"));
  }
  if (wire.bias_token_size() > static_cast<int>(engine::limits::logit_bias_max)) {
    return error(Code::invalid_argument,
                 concat("logit_bias has ", wire.bias_token_size(), " entries"),
                 concat("at most ", engine::limits::logit_bias_max));
  }
  if (wire.stop_ids_size() > static_cast<int>(engine::limits::stop_ids_max)) {
    return error(Code::invalid_argument, concat("stop_ids has ", wire.stop_ids_size(), " entries"),
                 concat("at most ", engine::limits::stop_ids_max));
  }
  engine::SamplingParams params;
  params.temperature = wire.temperature();
  params.top_k = wire.top_k();
  params.top_p = wire.top_p();
  params.min_p = wire.min_p();
  params.typical_p = wire.typical_p();
  params.repetition_penalty = wire.repetition_penalty();
  params.presence_penalty = wire.presence_penalty();
  params.frequency_penalty = wire.frequency_penalty();
  for (int i = 0; i < wire.bias_token_size(); ++i) {
    params.logit_bias.emplace_back(wire.bias_token(i), wire.bias_value(i));
  }
  params.seed = wire.seed();
  params.max_tokens = wire.max_tokens();
  params.min_tokens = wire.min_tokens();
  params.ignore_eos = wire.ignore_eos();
  params.stop_ids.assign(wire.stop_ids().begin(), wire.stop_ids().end());
  params.top_logprobs = wire.top_logprobs();
  return params;
}

std::string pack_name(const kv::BlockName& name) {
  return std::string(reinterpret_cast<const char*>(name.bytes.data()), name_bytes);
}

std::string pack_names(const std::vector<kv::BlockName>& names) {
  std::string bytes;
  bytes.reserve(names.size() * name_bytes);
  for (const kv::BlockName& name : names) bytes += pack_name(name);
  return bytes;
}

Result<std::vector<kv::BlockName>> unpack_names(std::string_view bytes) {
  if (bytes.size() % name_bytes != 0) {
    return error(Code::corrupt, concat("block names take ", bytes.size(), " bytes"),
                 "16 bytes each");
  }
  std::vector<kv::BlockName> names(bytes.size() / name_bytes);
  for (size_t i = 0; i < names.size(); ++i) {
    std::memcpy(names[i].bytes.data(), bytes.data() + i * name_bytes, name_bytes);
  }
  return names;
}

Result<kv::BlockName> unpack_name(std::string_view bytes) {
  TROUPE_ASSIGN(const auto names, unpack_names(bytes));
  if (names.size() != 1) return error(Code::corrupt, concat(names.size(), " block names, not one"));
  return names[0];
}

v1::KvEvents to_wire(const std::vector<kv::Event>& events) {
  v1::KvEvents wire;
  if (events.empty()) return wire;
  wire.set_first_number(events.front().number);
  for (const kv::Event& event : events) {
    *wire.mutable_names() += pack_name(event.name);
    const int flags = (event.stored ? 1 : 0) | (static_cast<int>(event.tier) << 1);
    wire.mutable_flags()->push_back(static_cast<char>(flags));
  }
  return wire;
}

Result<std::vector<kv::Event>> from_wire(const v1::KvEvents& wire) {
  TROUPE_ASSIGN(const auto names, unpack_names(wire.names()));
  if (names.size() != wire.flags().size()) {
    return error(Code::corrupt,
                 concat(names.size(), " block names but ", wire.flags().size(), " flags"));
  }
  std::vector<kv::Event> events(names.size());
  for (size_t i = 0; i < names.size(); ++i) {
    const auto flags = static_cast<uint8_t>(wire.flags()[i]);
    if ((flags >> 1) > static_cast<uint8_t>(kv::Tier::disk)) {
      return error(Code::corrupt, concat("KV event with tier ", flags >> 1), "0, 1 or 2");
    }
    events[i] = {wire.first_number() + i, (flags & 1) != 0, static_cast<kv::Tier>(flags >> 1),
                 names[i]};
  }
  return events;
}

Result<std::vector<kv::Residence>> from_wire(const v1::KvSnapshot& wire) {
  TROUPE_ASSIGN(const auto names, unpack_names(wire.names()));
  if (!wire.tiers().empty() && wire.tiers().size() != names.size()) {
    return error(Code::corrupt,
                 concat(names.size(), " block names but ", wire.tiers().size(), " tiers"));
  }
  std::vector<kv::Residence> blocks(names.size());
  for (size_t i = 0; i < names.size(); ++i) {
    const uint8_t tier = wire.tiers().empty() ? 0 : static_cast<uint8_t>(wire.tiers()[i]);
    if (tier > static_cast<uint8_t>(kv::Tier::disk)) {
      return error(Code::corrupt, concat("a block in tier ", unsigned{tier}), "0, 1 or 2");
    }
    blocks[i] = {names[i], static_cast<kv::Tier>(tier)};
  }
  return blocks;
}

}  // namespace troupe::schemas
