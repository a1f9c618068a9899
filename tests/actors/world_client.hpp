// What tests of the cast ask for, and the client that keeps its resume point.
#pragma once

#include <doctest/doctest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "actors/peer_key.hpp"
#include "actors/resume_point.hpp"
#include "schemas/convert.hpp"
#include "tests/text/small_tokenizer.hpp"
#include "text/tokenizer.hpp"

namespace troupe::testing {

inline std::shared_ptr<const text::Tokenizer> world_tokenizer() {
  static const auto tokenizer = *text::Tokenizer::make(text::small_spec());
  return tokenizer;
}

/// What a test asks for.
struct WorldRequest {
  std::vector<int32_t> prompt;
  uint32_t max_tokens = 24;
  uint32_t choices = 1;
  std::vector<std::string> stop{};
  std::vector<int32_t> stop_ids{};
  float temperature = 1.0f;
  uint64_t seed = 7;
  bool drafts = false;
  uint32_t top_logprobs = 0;
  std::string salt{};          ///< of its tenant
  uint32_t pinned_tokens = 0;  ///< what of the prompt is to be kept, and for how long
  uint32_t pin_ttl_s = 0;

  [[nodiscard]] actors::ResumePoint resume_point(uint64_t id) const {
    engine::SamplingParams sampling;
    sampling.max_tokens = max_tokens;
    sampling.temperature = temperature;
    sampling.seed = seed;
    sampling.stop_ids = stop_ids;
    sampling.top_logprobs = top_logprobs;
    v1::PreparedRequest prepared;
    prepared.set_request_id(id);
    prepared.mutable_prompt()->Add(prompt.begin(), prompt.end());
    *prepared.mutable_sampling() = schemas::to_wire(sampling);
    prepared.set_root(schemas::pack_name(kv::root_name(Digest{}, salt)));
    if (pinned_tokens > 0) {
      v1::CachePin* pin = prepared.add_cache_pins();
      pin->set_tokens(pinned_tokens);
      pin->set_ttl_s(pin_ttl_s);
    }
    actors::GenerateRequest request;
    request.choices = choices;
    request.stop = stop;
    request.drafts = drafts;
    return {std::move(prepared), request};
  }
};

/// A client of one request.
struct WorldClient {
  actors::PeerKey key = 0;
  uint64_t request_id = 0;
  actors::ResumePoint resume;
  bool acks = true;
  std::vector<v1::Deltas> inbox;
  std::vector<Error> failures;

  [[nodiscard]] const actors::ChoiceResult& choice(size_t i = 0) const {
    return resume.choices().at(i);
  }
};

}  // namespace troupe::testing
