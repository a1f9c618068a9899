// What the draft benchmark generates: an agent that has a file edited again and again, and text
// that does not repeat. Both are functions of the round, so that every mode does the same work.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/concat.hpp"

namespace troupe::bench {

/// A small source file; which names and numbers it holds is a function of `round`.
inline std::string source_file(uint32_t round) {
  static const char* const nouns[] = {"order",  "invoice", "parcel", "ticket", "account", "report",
                                      "sensor", "vehicle", "recipe", "lesson", "garden",  "letter"};
  static const char* const verbs[] = {"load",  "check", "count", "merge",
                                      "print", "store", "close", "split"};
  std::string text =
      concat("# ", nouns[round % 12], "s.py: keeps the ", nouns[round % 12], "s\n\n");
  for (uint32_t i = 0; i < 6; ++i) {
    const uint32_t pick = round * 7 + i * 5;
    const std::string noun = nouns[(pick + i) % 12];
    const std::string verb = verbs[pick % 8];
    text += concat("def ", verb, "_", noun, "(", noun, ", limit=", 10 + pick % 90, "):\n");
    text += concat("    if ", noun, " is None:\n        return ", pick % 10, "\n");
    text += concat("    total = ", noun, ".size * ", 2 + pick % 7, "\n");
    text += concat("    return min(total, limit)\n\n");
  }
  return text;
}

/// The file with the limit of function `which` changed: the edit of one turn.
inline std::string edited(std::string file, uint32_t which, uint32_t limit) {
  size_t at = 0;
  for (uint32_t i = 0; i <= which % 6; ++i) {
    const size_t next = file.find("limit=", at);
    if (next == std::string::npos) return file;
    at = next + 6;
  }
  return file.replace(at, file.find(')', at) - at, std::to_string(limit));
}

/// What the agent sees before it writes a version of the file: the versions before it.
inline std::string edit_prompt(const std::vector<std::string>& versions) {
  std::string text;
  for (size_t i = 0; i < versions.size(); ++i) {
    text += concat("Version ", i + 1, " of the file:\n```python\n", versions[i], "```\n\n");
  }
  return concat(text, "Version ", versions.size() + 1, " of the file:\n```python\n");
}

/// Beginnings of texts that go on without repeating anything.
inline std::string story_prompt(uint32_t round) {
  static const char* const beginnings[] = {
      "On the third morning of the voyage the captain",
      "The history of glass begins with",
      "My grandmother never spoke about the war, but",
      "In the valley behind the old mill there lived",
      "Most people believe that bees",
      "The committee met on Tuesday to discuss",
      "When the power came back, the first thing she saw",
      "A good bread needs four things:",
  };
  return beginnings[round % 8];
}

}  // namespace troupe::bench
