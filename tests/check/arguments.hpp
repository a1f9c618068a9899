// The command line that the check programs share: KIND PATH [--json] [--assets DIR] …
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace troupe::check {

struct Arguments {
  std::string kind;
  std::string path;
  std::string assets;
  std::string weights;
  std::string compute = "exact";  ///< or "fast"
  bool json = false;
};

/// Nothing when the words are wrong or the kind is none of `kinds`.
std::optional<Arguments> read_arguments(std::span<char*> words,
                                        std::span<const std::string_view> kinds);

}  // namespace troupe::check
