// "did you mean …?": the legal name closest to the one that was written.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace troupe::launch {

/// Insertions, deletions, replacements and swaps of neighbours that turn `a` into `b`.
size_t edit_distance(std::string_view a, std::string_view b);

/// The candidate nearest to `text`; empty if none is near enough to be what was meant.
std::string nearest(std::string_view text, const std::vector<std::string>& candidates);

/// `did you mean "x"?` after a comma and a space, or nothing.
std::string did_you_mean(std::string_view text, const std::vector<std::string>& candidates);

/// "a, b or c"; at most `shown` of them.
std::string list_of(const std::vector<std::string>& words, size_t shown = 16);

/// The text in quotes, control characters replaced, shortened if long: safe in a message.
std::string in_quotes(std::string_view text);

}  // namespace troupe::launch
