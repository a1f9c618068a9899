// The limits of drafting, each with what happens at it.
#pragma once

#include <cstddef>
#include <cstdint>

namespace troupe::engine::limits {

/// Newest tokens of a sequence that a look-up compares; a longer match counts as this long.
inline constexpr uint32_t match_tokens_max = 32;
/// Places that a look-up follows in one chain; older ones are not looked at.
inline constexpr uint32_t match_places_max = 64;
/// Groups of one index; the one that was silent for longest goes when there is one more.
inline constexpr size_t index_groups_max = 4096;
/// A stretch of this many tokens that is known word for word is not stored again.
inline constexpr uint32_t known_tokens_min = 128;

/// Tokens asked for at a time: several steps' worth, so that not every step asks.
inline constexpr uint32_t run_tokens = 48;
/// With fewer than this ahead of the running step, the next ones are asked for.
inline constexpr uint32_t run_refill_tokens = 24;
/// Of what a proposal holds beyond this, nothing is kept.
inline constexpr uint32_t run_tokens_max = 256;
/// Drawn tokens between two questions at most, however often the answers were useless.
inline constexpr uint32_t ask_interval_max = 16;

/// Tokens of lessons that wait to be taken; lessons beyond are left out.
inline constexpr size_t lesson_tokens_max = size_t{1} << 20;
/// Groups whose proposals are tallied between two calls; those of others are not.
inline constexpr size_t tally_groups_max = 64;

}  // namespace troupe::engine::limits
