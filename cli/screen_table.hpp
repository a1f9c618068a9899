// Lines of a screen as data, and tables that fit their columns into a width: the less important
// ones go first.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace troupe::cli {

enum class Style : uint8_t { plain, bold, dim, title, good, warning, bad, selected };

struct StyledText {
  std::string text;
  Style style = Style::plain;
};

/// Printable ASCII, left to right.
using ScreenLine = std::vector<StyledText>;

/// Cut, or filled with spaces, to exactly `width`.
ScreenLine fit(ScreenLine line, size_t width);
/// The characters alone, without spaces at the end.
std::string plain_text(const ScreenLine& line);
/// The whole line in one style.
ScreenLine restyled(ScreenLine line, Style style);

struct Column {
  std::string title;
  bool right = false;  ///< numbers stand at the right
  /// Columns with the highest rank are left out first; those of rank 0 never are.
  int rank = 0;
};

using Row = std::vector<StyledText>;

/// The header and the rows, each at most `width` wide. A row has a cell for each column.
std::vector<ScreenLine> table(const std::vector<Column>& columns, const std::vector<Row>& rows,
                              size_t width);

}  // namespace troupe::cli
