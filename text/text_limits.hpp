// Every limit of text/, in one place. What exceeds one is refused with Code::exhausted or
// Code::invalid_argument and the limit's value.
#pragma once

#include <cstddef>
#include <cstdint>

namespace troupe::text::limits {

/// Text given to one encode(), in bytes; also the most that a template may render.
inline constexpr size_t prompt_bytes_max = size_t{8} << 20;

inline constexpr size_t vocabulary_max = size_t{1} << 20;
inline constexpr size_t merges_max = size_t{4} << 20;
inline constexpr size_t token_bytes_max = 4096;

inline constexpr size_t stop_strings_max = 16;
inline constexpr size_t stop_string_bytes_max = 4096;

inline constexpr size_t template_bytes_max = size_t{1} << 20;

/// Nesting of brackets, operators and blocks in a template's source, and of JSON values.
inline constexpr int template_source_depth_max = 128;

/// Height of an expression's tree: a + b + c + ... is as high as it has operators.
inline constexpr int template_tree_height_max = 400;

/// Nesting of macro calls and evaluated expressions while rendering.
inline constexpr int template_depth_max = 256;

/// Work of one rendering: a node, a loop turn, or 64 bytes copied or compared cost one unit.
inline constexpr int64_t template_fuel = 5'000'000;

/// Values (strings and containers, in bytes) that one rendering may create in all.
inline constexpr size_t template_memory_bytes_max = size_t{512} << 20;

inline constexpr int64_t template_range_max = 100'000;

}  // namespace troupe::text::limits
