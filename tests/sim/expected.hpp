// The right answer to a request, from one plain run of the engine, and whether a stream keeps to
// it. No CAF.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "actors/client.hpp"
#include "engine/sim_backend.hpp"
#include "text/tokenizer.hpp"

namespace troupe::sim {

std::shared_ptr<const text::Tokenizer> tokenizer();
engine::SimOptions device_options();
/// From now on draws depend on so many newest tokens; 0: on all. A few make text that repeats
/// itself, which can be guessed.
void set_memory_tokens(uint32_t count);
/// Windows of the devices' further layer groups, for the next rigs.
void set_windows(std::vector<uint32_t> of_groups);
/// Holds every request of a plan.
inline constexpr uint32_t context_max = 4096;

/// The right answer to one choice, computed as far as somebody asks: alone, cold, in whole chunks,
/// without drafts.
class PlainRun {
 public:
  PlainRun(const actors::GenerateRequest& request, uint64_t seed, uint32_t choice);
  ~PlainRun();

  /// At least so many tokens and bytes, unless it ends before.
  const actors::ChoiceResult& up_to(size_t tokens, size_t text_bytes);
  const actors::ChoiceResult& whole() { return up_to(SIZE_MAX, SIZE_MAX); }

 private:
  struct Parts;
  void step();

  std::unique_ptr<Parts> parts_;
  actors::ChoiceResult answer_;
};

/// One request as its application sees it. What it finds wrong is kept in `violation`.
class Watched {
 public:
  explicit Watched(actors::GenerateRequest request);

  void on_delta(const actors::ClientDelta& delta);
  void on_end(const Result<actors::GenerateResult>& result);

  [[nodiscard]] const actors::GenerateRequest& request() const { return request_; }
  [[nodiscard]] bool ended() const { return ended_; }
  [[nodiscard]] TimeUs ended_us() const { return ended_us_; }
  [[nodiscard]] const std::optional<Error>& failure() const { return failure_; }
  [[nodiscard]] uint32_t attempts() const { return attempts_; }
  [[nodiscard]] size_t num_tokens() const;
  [[nodiscard]] uint32_t blocks_moved() const { return blocks_moved_; }
  [[nodiscard]] uint64_t accepted() const { return accepted_; }

  std::string violation;

 private:
  struct Stream {
    std::vector<int32_t> tokens;
    std::vector<float> logprobs;
    std::string text;
    std::unique_ptr<PlainRun> right;
  };

  PlainRun& right_of(uint32_t choice, uint64_t seed);
  void compare(uint32_t choice, uint64_t seed);
  void compare_end(const actors::ChoiceResult& result, uint64_t seed);

  actors::GenerateRequest request_;
  std::map<uint32_t, Stream> streams_;
  bool ended_ = false;
  TimeUs ended_us_ = 0;
  std::optional<Error> failure_;
  uint32_t attempts_ = 0;
  uint32_t blocks_moved_ = 0;
  uint64_t accepted_ = 0;  ///< drafts
};

}  // namespace troupe::sim
