// What the engine and whoever knows other sequences (the draft actor) tell one another. All of it
// is advice: a proposal that is wrong, late or made up costs time, never a token.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "engine/acceptance.hpp"
#include "kv/block_name.hpp"

namespace troupe::engine {

using SequenceId = uint64_t;

/// What follows `context`? Asked while a step runs, with the tokens that it is expected to draw in
/// the context.
struct DraftAsk {
  SequenceId sequence = 0;
  uint32_t position = 0;  ///< of the first token asked for: the number of the question
  kv::BlockName group;    ///< the sequence's chain root
  std::vector<int32_t> context;
  uint32_t count = 0;  ///< tokens wanted
};

struct DraftAnswer {
  SequenceId sequence = 0;
  uint32_t position = 0;  ///< as asked
  uint32_t match = 0;     ///< context tokens that matched; 0: nothing is known
  std::vector<int32_t> tokens;
};

/// Tokens worth knowing: a prompt, or an output with the end of its prompt before it.
struct DraftLesson {
  kv::BlockName group;
  std::vector<int32_t> tokens;
};

/// How the answers about one group fared, by match_class().
struct DraftTally {
  kv::BlockName group;
  std::array<uint32_t, num_match_classes> seen{}, right{};
};

}  // namespace troupe::engine
