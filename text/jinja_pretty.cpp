// The filter pprint: Python's layout of a value that is wider than 80 columns.
#include <algorithm>

#include "text/jinja_operations.hpp"
#include "text/jinja_strings.hpp"
#include "text/jinja_wrap.hpp"
#include "text/unicode.hpp"
#include "text/utf8.hpp"

namespace troupe::text::jinja {

namespace {

constexpr int64_t columns = 80;

/// Numbers by size, strings by their characters, others by their type.
bool sorts_before(Budget& budget, const Value& a, const Value& b) {
  const bool ordered =
      (a.is_number() && b.is_number()) || (a.is(Kind::string) && b.is(Kind::string));
  if (ordered) return order(budget, a, b) < 0;
  return std::string_view(a.type_name()) < b.type_name();
}

/// The value with the keys of all dicts in order.
Value sorted(Budget& budget, const Value& value) {
  budget.work();
  if (value.is(Kind::dict)) {
    Pairs pairs = value.as_dict().items;
    budget.allocate(pairs.size() * sizeof(pairs[0]));
    std::stable_sort(pairs.begin(), pairs.end(), [&](const auto& a, const auto& b) {
      return sorts_before(budget, a.first, b.first);
    });
    for (auto& pair : pairs) pair.second = sorted(budget, pair.second);
    return Value::dict(std::move(pairs));
  }
  if (!value.is(Kind::sequence) || value.as_sequence().flavour >= Flavour::range) return value;
  std::vector<Value> items = value.as_sequence().items;
  budget.allocate(items.size() * sizeof(Value));
  for (Value& item : items) item = sorted(budget, item);
  return Value::sequence(std::move(items), value.as_sequence().flavour);
}

/// Words, each with the white space behind it.
std::vector<std::string_view> words_of(std::string_view line) {
  std::vector<std::string_view> words;
  for (size_t at = 0; at < line.size();) {
    const size_t begin = at;
    for (bool in_space = false; at < line.size();) {
      const Utf8Step step = utf8_step(line, at);
      const bool space = is_python_space(step.code_point);
      if (in_space && !space) break;
      in_space = space;
      at += step.bytes;
    }
    words.push_back(line.substr(begin, at - begin));
  }
  return words;
}

class PrettyPrinter {
 public:
  explicit PrettyPrinter(Budget& budget) : budget_(budget) {}

  /// `indent`: the column; `allowance`: what closing brackets take behind the value.
  void write(const Value& value, int64_t indent, int64_t allowance, bool top) {
    std::string whole = repr(budget_, value);
    const bool fits = characters(whole) <= columns - indent - allowance;
    if (fits) {
      out += whole;
    } else if (value.is(Kind::dict)) {
      write_dict(value.as_dict(), indent, allowance);
    } else if (value.is(Kind::string) && !value.as_string().empty()) {
      write_string(value.as_string(), indent, allowance, top);
    } else if (value.is(Kind::sequence) && value.as_sequence().flavour < Flavour::range) {
      write_items(value.as_sequence(), indent, allowance);
    } else {
      out += whole;
    }
  }

  std::string out;

 private:
  static int64_t characters(std::string_view text) {
    return static_cast<int64_t>(utf8_length(text));
  }

  void new_line(int64_t indent) {
    budget_.allocate(static_cast<size_t>(indent) + 1);
    out += '\n';
    out.append(static_cast<size_t>(indent), ' ');
  }

  void write_dict(const Dict& dict, int64_t indent, int64_t allowance) {
    out += '{';
    for (size_t i = 0; i < dict.items.size(); ++i) {
      const auto& [key, value] = dict.items[i];
      const bool last = i + 1 == dict.items.size();
      const std::string name = repr(budget_, key);
      out += concat(name, ": ");
      write(value, indent + 1 + characters(name) + 2, last ? allowance + 1 : 1, false);
      if (last) break;
      out += ',';
      new_line(indent + 1);
    }
    out += '}';
  }

  void write_items(const Sequence& sequence, int64_t indent, int64_t allowance) {
    const bool tuple = sequence.is_tuple();
    const std::string_view end = !tuple ? "]" : sequence.items.size() == 1 ? ",)" : ")";
    out += tuple ? '(' : '[';
    for (size_t i = 0; i < sequence.items.size(); ++i) {
      const bool last = i + 1 == sequence.items.size();
      const int64_t behind = last ? allowance + static_cast<int64_t>(end.size()) : 1;
      write(sequence.items[i], indent + 1, behind, false);
      if (last) break;
      out += ',';
      new_line(indent + 1);
    }
    out += end;
  }

  /// The chunks of one line that is too wide.
  void split_line(std::string_view line, int64_t width, int64_t last_width,
                  std::vector<std::string>& chunks) {
    std::string current;
    const std::vector<std::string_view> words = words_of(line);
    for (size_t i = 0; i < words.size(); ++i) {
      const std::string candidate = concat(current, words[i]);
      const int64_t room = i + 1 == words.size() ? last_width : width;
      if (characters(repr(budget_, Value::string(candidate))) <= room) {
        current = candidate;
        continue;
      }
      if (!current.empty()) chunks.push_back(repr(budget_, Value::string(current)));
      current = words[i];
    }
    if (!current.empty()) chunks.push_back(repr(budget_, Value::string(current)));
  }

  void write_string(const std::string& text, int64_t indent, int64_t allowance, bool top) {
    if (top) {
      ++indent;
      ++allowance;
    }
    const int64_t width = columns - indent;
    std::vector<std::string> chunks;
    const std::vector<std::string> lines = split_lines(text, true);
    for (size_t i = 0; i < lines.size(); ++i) {
      const int64_t room = i + 1 == lines.size() ? width - allowance : width;
      std::string whole = repr(budget_, Value::string(lines[i]));
      if (characters(whole) <= room) {
        chunks.push_back(std::move(whole));
      } else {
        split_line(lines[i], width, room, chunks);
      }
    }
    const bool brackets = top && chunks.size() > 1;
    if (brackets) out += '(';
    for (size_t i = 0; i < chunks.size(); ++i) {
      if (i > 0) new_line(indent);
      out += chunks[i];
    }
    if (brackets) out += ')';
  }

  Budget& budget_;
};

}  // namespace

Value pretty_filter(Rendering& r, const Value& input, const Arguments& arguments) {
  const Bound bound("pprint", arguments, {});
  PrettyPrinter printer(r.budget());
  printer.write(sorted(r.budget(), input), 0, 0, true);
  return make_text(r.budget(), std::move(printer.out));
}

}  // namespace troupe::text::jinja
