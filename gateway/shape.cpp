#include "gateway/shape.hpp"

#include <algorithm>
#include <cmath>

#include "text/utf8.hpp"

namespace troupe::gateway {
namespace {

const std::string& bytes_of(const actors::ModelCard& card, int32_t token) {
  static const std::string none;
  const auto index = static_cast<size_t>(token);
  return token >= 0 && index < card.token_bytes.size() ? card.token_bytes[index] : none;
}

Json entry_of(const actors::ModelCard& card, int32_t token, float logprob) {
  Json bytes = Json::array();
  for (const char byte : bytes_of(card, token)) bytes.push_back(static_cast<uint8_t>(byte));
  return {{"token", token_text(card, token)}, {"logprob", finite(logprob)}, {"bytes", bytes}};
}

}  // namespace

double finite(float logprob) {
  return std::isfinite(logprob) ? double{logprob} : -9999.0;
}

std::string token_text(const actors::ModelCard& card, int32_t token) {
  return text::replace_invalid_utf8(bytes_of(card, token));
}

Json logprob_json(const actors::ModelCard& card, int32_t token, float logprob,
                  const std::vector<std::pair<int32_t, float>>& top) {
  Json entry = entry_of(card, token, logprob);
  entry["top_logprobs"] = Json::array();
  for (const auto& [other, value] : top) {
    entry["top_logprobs"].push_back(entry_of(card, other, value));
  }
  return entry;
}

Usage usage_of(const std::vector<actors::GenerateResult>& results) {
  Usage usage;
  for (const actors::GenerateResult& result : results) {
    usage.prompt_tokens += result.prompt_tokens;
    usage.cached_tokens += result.cached_tokens;
    usage.pinned_tokens += result.pinned_tokens;
    for (const actors::ChoiceResult& choice : result.choices) {
      usage.output_tokens += choice.token_ids.size();
      usage.drafted += choice.drafted;
      usage.accepted += choice.accepted;
    }
  }
  return usage;
}

uint64_t reasoning_tokens(const std::vector<actors::GenerateResult>& results,
                          const actors::ModelCard& card) {
  uint64_t sum = 0;
  for (const actors::GenerateResult& result : results) {
    for (const actors::ChoiceResult& choice : result.choices) {
      const auto& ids = choice.token_ids;
      const auto find = [&](const char* mark) {
        return std::ranges::find_if(ids, [&](int32_t id) { return bytes_of(card, id) == mark; });
      };
      const auto begin = find("<think>"), end = find("</think>");
      if (end != ids.end()) {
        sum += static_cast<uint64_t>(end - ids.begin()) + 1;
      } else if (begin != ids.end()) {
        sum += static_cast<uint64_t>(ids.end() - begin);
      }
    }
  }
  return sum;
}

std::string stop_that_matched(const actors::ChoiceResult& choice, const actors::ModelCard& card,
                              const std::vector<std::string>& stop) {
  if (choice.finish_reason != "stop" || stop.empty()) return {};
  std::string all;
  for (const int32_t token : choice.token_ids) all += bytes_of(card, token);
  // The first token of some vocabularies begins with a space that the text does not have.
  const size_t from = choice.text.size();
  std::string found;
  size_t first = std::string::npos;
  for (const std::string& text : stop) {
    const size_t at = all.find(text, from);
    if (at < first || (at == first && at != std::string::npos && text.size() > found.size())) {
      first = at;
      found = text;
    }
  }
  return first <= from + 1 ? found : std::string();
}

}  // namespace troupe::gateway
