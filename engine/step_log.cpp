#include "engine/step_log.hpp"

#include <array>
#include <bit>
#include <charconv>
#include <cstdio>
#include <optional>

#include "base/concat.hpp"

namespace troupe::engine {

namespace {

constexpr std::string_view log_title = "troupe-step-log 1 ";

/// The finaliser of SplitMix64 (Steele, Lea, Flood 2014).
uint64_t mixed(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EB;
  return x ^ (x >> 31);
}

uint64_t extended(uint64_t hash, uint64_t value) {
  return mixed(hash * 0x9E3779B97F4A7C15 + value + 1);
}

/// Numbers of a line, each behind one space; nothing may follow the last.
class Words {
 public:
  explicit Words(std::string_view text) : text_(text) {}

  template <class Number>
  bool read(Number& value, int base = 10) {
    if (text_.starts_with(' ')) text_.remove_prefix(1);
    const auto [end, failure] =
        std::from_chars(text_.data(), text_.data() + text_.size(), value, base);
    if (failure != std::errc() || (end != text_.data() + text_.size() && *end != ' ')) return false;
    text_.remove_prefix(static_cast<size_t>(end - text_.data()));
    return true;
  }
  [[nodiscard]] bool at_end() const { return text_.empty(); }

 private:
  std::string_view text_;
};

std::optional<LoggedResult> result_of(std::string_view word, std::string_view rest) {
  LoggedResult result;
  Words words(rest);
  if (!words.read(result.sequence) || !words.read(result.position)) return std::nullopt;
  bool whole = true;
  if (word == "draw") {
    whole = words.read(result.prefix, 16) && words.read(result.sampling, 16) &&
            words.read(result.token) && words.read(result.bits, 16);
  } else if (word == "block") {
    result.kind = LoggedResult::Kind::block;
    whole = words.read(result.prefix, 16) && words.read(result.bits, 16);
  } else {
    result.kind = LoggedResult::Kind::failure;
  }
  if (!whole || !words.at_end()) return std::nullopt;
  return result;
}

}  // namespace

uint64_t extend_prefix(uint64_t prefix, int32_t token) {
  return extended(prefix, static_cast<uint32_t>(token));
}

uint64_t sampling_hash(const SamplingParams& params, uint32_t num_prompt_tokens) {
  uint64_t hash = extended(empty_prefix, num_prompt_tokens);
  for (const float value :
       {params.temperature, params.top_p, params.min_p, params.typical_p, params.repetition_penalty,
        params.presence_penalty, params.frequency_penalty}) {
    hash = extended(hash, std::bit_cast<uint32_t>(value));
  }
  for (const uint64_t value : {static_cast<uint64_t>(static_cast<uint32_t>(params.top_k)),
                               params.seed, uint64_t{params.choice}, uint64_t{params.min_tokens},
                               uint64_t{params.ignore_eos}, uint64_t{params.logit_bias.size()}}) {
    hash = extended(hash, value);
  }
  for (const auto& [token, bias] : params.logit_bias) {
    hash = extended(extend_prefix(hash, token), std::bit_cast<uint32_t>(bias));
  }
  for (const int32_t id : params.stop_ids) hash = extend_prefix(hash, id);
  return hash;
}

std::string step_log_header(std::string_view numerics_id) {
  return concat(log_title, numerics_id, "\n");
}

std::string to_text(const LoggedStep& step) {
  std::string text = concat("step ", step.step, " ", step.compute_us, "\n");
  for (const LoggedSpan& span : step.spans) {
    text += concat("span ", span.sequence, " ", span.first_position, " ", span.tokens, " ",
                   span.draws, "\n");
  }
  std::array<char, 96> tail{};
  for (const LoggedResult& result : step.results) {
    const auto prefix = static_cast<unsigned long long>(result.prefix);
    const auto sampling = static_cast<unsigned long long>(result.sampling);
    const char* word = "fail ";
    tail[0] = '\0';
    if (result.kind == LoggedResult::Kind::draw) {
      word = "draw ";
      std::snprintf(tail.data(), tail.size(), " %016llx %016llx %d %08x", prefix, sampling,
                    result.token, result.bits);
    } else if (result.kind == LoggedResult::Kind::block) {
      word = "block ";
      std::snprintf(tail.data(), tail.size(), " %016llx %08x", prefix, result.bits);
    }
    text +=
        concat(word, result.sequence, " ", result.position, std::string_view(tail.data()), "\n");
  }
  return text;
}

Error StepLogReader::wrong(std::string_view expected) const {
  return error(Code::corrupt, concat("step log, line ", line_, ": this is not what belongs there"),
               concat("expected: ", expected));
}

Status StepLogReader::take_header(std::string_view line) {
  if (!line.starts_with(log_title)) return wrong(concat(log_title, "<numerics id>"));
  numerics_id_ = line.substr(log_title.size());
  return {};
}

Status StepLogReader::take_fact(std::string_view word, std::string_view rest) {
  if (!begun_) return wrong("step <number> <compute us>");
  if (word == "span") {
    LoggedSpan span;
    Words words(rest);
    if (!words.read(span.sequence) || !words.read(span.first_position) ||
        !words.read(span.tokens) || !words.read(span.draws) || !words.at_end()) {
      return wrong("span <sequence> <first position> <tokens> <draws>");
    }
    if (current_.spans.size() >= limits::step_log_spans_max) {
      return error(Code::exhausted, concat("step log, line ", line_, ": a step has too many spans"),
                   concat("at most ", limits::step_log_spans_max));
    }
    current_.spans.push_back(span);
    return {};
  }
  if (word != "draw" && word != "block" && word != "fail") {
    return wrong("a line that begins with step, span, draw, block or fail");
  }
  const std::optional<LoggedResult> result = result_of(word, rest);
  if (!result.has_value()) {
    return wrong(word == "draw"    ? "draw <sequence> <position> <prefix> <sampling> <token> <bits>"
                 : word == "block" ? "block <sequence> <position> <prefix> <checksum>"
                                   : "fail <sequence> <position>");
  }
  if (current_.results.size() >= limits::step_log_results_max) {
    return error(Code::exhausted, concat("step log, line ", line_, ": a step has too many results"),
                 concat("at most ", limits::step_log_results_max));
  }
  current_.results.push_back(*result);
  return {};
}

Result<bool> StepLogReader::take(std::string_view line) {
  ++line_;
  if (line.size() > limits::step_log_line_bytes_max) {
    return wrong(concat("at most ", limits::step_log_line_bytes_max, " bytes a line"));
  }
  if (line_ == 1) {
    TROUPE_TRY(take_header(line));
    return false;
  }
  const size_t space = std::min(line.find(' '), line.size());
  const std::string_view word = line.substr(0, space);
  const std::string_view rest = line.substr(std::min(space + 1, line.size()));
  if (word != "step") {
    TROUPE_TRY(take_fact(word, rest));
    return false;
  }
  LoggedStep next;
  Words words(rest);
  if (!words.read(next.step) || !words.read(next.compute_us) || !words.at_end()) {
    return wrong("step <number> <compute us>");
  }
  const bool whole = begun_;
  complete_ = std::move(current_);
  current_ = std::move(next);
  begun_ = true;
  return whole;
}

}  // namespace troupe::engine
