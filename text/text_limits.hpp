// Every limit of text/, in one place. What exceeds one is refused with Code::exhausted or
// Code::invalid_argument and the limit's value.
#pragma once

#include <cstddef>
#include <cstdint>

namespace troupe::text::limits {

/// Text given to one encode(), in bytes; also the most that a template may render.
inline constexpr size_t prompt_bytes_max = size_t{8} << 20;

/// Shorter sections of a text are not remembered; ids of those that are, together (32 MiB).
inline constexpr size_t memo_bytes_min = 4096;
inline constexpr size_t memo_ids_max = size_t{8} << 20;

inline constexpr size_t vocabulary_max = size_t{1} << 20;
inline constexpr size_t merges_max = size_t{4} << 20;
inline constexpr size_t token_bytes_max = 4096;
inline constexpr size_t vocabulary_bytes_max = size_t{16} << 20;

/// Bytes hashed to find out which tokens merge to which.
inline constexpr size_t merge_work_max = size_t{1} << 30;

/// Regular expressions of tokenizer files. A match may take four steps a byte of the text it sees;
/// steps beyond that are charged to a budget of regex_steps_per_byte for the whole text.
inline constexpr size_t pattern_bytes_max = 16 << 10;
inline constexpr uint32_t pattern_depth_max = 100;
inline constexpr size_t regex_steps_per_byte = 64;
inline constexpr size_t regex_window_max = size_t{64} << 20;
inline constexpr uint32_t regex_heap_kib_max = 64 << 10;

/// Text after normalisation, in bytes.
inline constexpr size_t normal_bytes_max = size_t{64} << 20;

/// Steps of one tokenizer's normaliser and of its pre-tokenizer.
inline constexpr size_t steps_max = 64;
/// Nesting of those sequences.
inline constexpr int steps_depth_max = 8;

/// A tokenizer file: packed and unpacked.
inline constexpr size_t tokenizer_file_bytes_max = size_t{128} << 20;
/// Memory to unpack a file, which its writer chooses (xz -9 takes 65 MiB).
inline constexpr uint64_t xz_memory_bytes_max = uint64_t{128} << 20;

inline constexpr size_t charsmap_bytes_max = size_t{16} << 20;

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
