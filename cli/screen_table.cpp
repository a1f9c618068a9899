#include "cli/screen_table.hpp"

#include <algorithm>

#include "cli/screen_text.hpp"

namespace troupe::cli {
namespace {

constexpr size_t gap = 2;

std::vector<size_t> widths_of(const std::vector<Column>& columns, const std::vector<Row>& rows) {
  std::vector<size_t> widths;
  for (size_t c = 0; c < columns.size(); ++c) {
    size_t width = columns[c].title.size();
    for (const Row& row : rows) width = std::max(width, row[c].text.size());
    widths.push_back(width);
  }
  return widths;
}

/// Which columns are shown.
std::vector<size_t> choose(const std::vector<Column>& columns, const std::vector<size_t>& widths,
                           size_t width) {
  std::vector<size_t> shown;
  for (size_t c = 0; c < columns.size(); ++c) shown.push_back(c);
  for (;;) {
    size_t total = 0;
    for (const size_t c : shown) total += widths[c] + gap;
    if (total <= width + gap || shown.empty()) return shown;
    const auto least = std::max_element(shown.begin(), shown.end(), [&](size_t a, size_t b) {
      return columns[a].rank < columns[b].rank;
    });
    if (columns[*least].rank == 0) return shown;
    shown.erase(least);
  }
}

}  // namespace

ScreenLine fit(ScreenLine line, size_t width) {
  size_t used = 0;
  ScreenLine fitted;
  for (StyledText& piece : line) {
    if (used == width) break;
    if (piece.text.size() > width - used) piece.text.resize(width - used);
    used += piece.text.size();
    fitted.push_back(std::move(piece));
  }
  if (used < width) fitted.push_back({std::string(width - used, ' '), Style::plain});
  return fitted;
}

std::string plain_text(const ScreenLine& line) {
  std::string text;
  for (const StyledText& piece : line) text += piece.text;
  text.erase(text.find_last_not_of(' ') + 1);
  return text;
}

ScreenLine restyled(ScreenLine line, Style style) {
  for (StyledText& piece : line) piece.style = style;
  return line;
}

std::vector<ScreenLine> table(const std::vector<Column>& columns, const std::vector<Row>& rows,
                              size_t width) {
  const std::vector<size_t> widths = widths_of(columns, rows);
  const std::vector<size_t> shown = choose(columns, widths, width);
  const auto cell = [&](size_t c, const std::string& text) {
    return columns[c].right ? fit_right(text, widths[c]) : fit_left(text, widths[c]);
  };
  std::vector<ScreenLine> lines(1);
  for (const size_t c : shown) {
    if (!lines[0].empty()) lines[0].push_back({std::string(gap, ' '), Style::dim});
    lines[0].push_back({cell(c, columns[c].title), Style::dim});
  }
  for (const Row& row : rows) {
    ScreenLine& line = lines.emplace_back();
    for (const size_t c : shown) {
      if (!line.empty()) line.push_back({std::string(gap, ' '), Style::plain});
      line.push_back({cell(c, row[c].text), row[c].style});
    }
  }
  for (ScreenLine& line : lines) line = fit(std::move(line), width);
  return lines;
}

}  // namespace troupe::cli
