// Columns for people.
#pragma once

#include <string>
#include <vector>

namespace troupe::launch {

/// Rows of equal length, padded so that columns stand below one another; two spaces between them.
std::string text_table(const std::vector<std::vector<std::string>>& rows);

/// The words with a space between them.
std::string joined(const std::vector<std::string>& words);

}  // namespace troupe::launch
