// A log of steps that can be compared with another run's. What a step brought is named by what it
// depends on (all tokens up to there, sampling parameters, seed), never by sequence or step
// numbers: two runs that batched, cut or cached differently must agree wherever their names meet
// (numerics.md section 1). Text, one fact a line:
//
//   troupe-step-log 1 <numerics id>
//   step <number> <compute us>
//   span <sequence> <first position> <tokens> <draws>
//   draw <sequence> <position> <prefix> <sampling> <token> <bits of the log-probability>
//   block <sequence> <position> <prefix> <CRC-32C of the KV block that ends before position>
//   fail <sequence> <position>
//
// Prefixes and samplings are 64-bit hashes: a log does not tell a prompt.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "engine/step_plan.hpp"

namespace troupe::engine {

namespace limits {
/// Spans, and results, of one step of a log that is read; a line of it.
inline constexpr size_t step_log_spans_max = size_t{1} << 16;
inline constexpr size_t step_log_results_max = size_t{1} << 20;
inline constexpr size_t step_log_line_bytes_max = 256;
/// Results of a whole log that is compared, about 100 bytes each.
inline constexpr size_t step_log_compared_max = size_t{1} << 24;
}  // namespace limits

struct LoggedSpan {
  uint64_t sequence = 0;
  uint32_t first_position = 0;
  uint32_t tokens = 0;
  uint32_t draws = 0;

  bool operator==(const LoggedSpan&) const = default;
};

struct LoggedResult {
  enum class Kind : uint8_t { draw, block, failure };
  Kind kind = Kind::draw;
  uint64_t sequence = 0;
  uint32_t position = 0;  ///< of the token that was drawn; of the first token behind the block
  uint64_t prefix = 0;    ///< hash of the tokens before `position`
  uint64_t sampling = 0;  ///< hash of what a draw depends on besides; of a block 0
  int32_t token = 0;
  uint32_t bits = 0;  ///< of the log-probability, or the checksum

  bool operator==(const LoggedResult&) const = default;
};

struct LoggedStep {
  uint64_t step = 0;
  int64_t compute_us = 0;
  std::vector<LoggedSpan> spans;
  std::vector<LoggedResult> results;

  bool operator==(const LoggedStep&) const = default;
};

/// Hash of a list of tokens, and of the list with one more behind it.
inline constexpr uint64_t empty_prefix = 0x243F6A8885A308D3;
uint64_t extend_prefix(uint64_t prefix, int32_t token);

/// Hash of everything in `params` that a draw depends on.
uint64_t sampling_hash(const SamplingParams& params, uint32_t num_prompt_tokens);

std::string step_log_header(std::string_view numerics_id);
std::string to_text(const LoggedStep& step);

/// Reads a log line by line. Errors: corrupt, with the line's number and what belongs there.
class StepLogReader {
 public:
  /// Takes a line without its end. True: `step()` holds the step before this line, complete.
  Result<bool> take(std::string_view line);
  /// The end of the log: whether `step()` holds a last step.
  [[nodiscard]] bool finish() const { return begun_; }
  [[nodiscard]] const LoggedStep& step() const { return complete_; }
  /// After finish(): the last step.
  [[nodiscard]] const LoggedStep& last() const { return current_; }
  [[nodiscard]] const std::string& numerics_id() const { return numerics_id_; }

 private:
  Status take_header(std::string_view line);
  Status take_fact(std::string_view word, std::string_view rest);
  Error wrong(std::string_view expected) const;

  uint64_t line_ = 0;
  bool begun_ = false;
  std::string numerics_id_;
  LoggedStep current_;
  LoggedStep complete_;
};

}  // namespace troupe::engine
