// What the command line library says of wrong words, in our words: flag, value, what was expected.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "base/result.hpp"

namespace troupe::cli {

/// The command that was named, or the program itself.
const CLI::App& chosen_command(const CLI::App& app);

/// "troupe generate"
std::string full_name(const CLI::App& command);

/// `words` are the arguments without the program's name.
Error in_our_words(const CLI::App& app, const CLI::ParseError& e,
                   const std::vector<std::string>& words);

}  // namespace troupe::cli
