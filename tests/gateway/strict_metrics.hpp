// Reads a page of metrics by the rules of Prometheus' text format and of promtool's linter.
#pragma once

#include <cmath>
#include <cstdlib>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace troupe::testing {

class StrictMetrics {
 public:
  /// The first mistake of the page with its line; empty: there is none.
  static std::string mistake(const std::string& page) {
    if (page.empty() || page.back() != '\n') return "the last line has no end";
    StrictMetrics read;
    std::istringstream lines(page);
    for (std::string line; std::getline(lines, line);) {
      const std::string wrong =
          line.starts_with("# ") ? read.take_comment(line.substr(2)) : read.take_sample(line);
      if (!wrong.empty()) return wrong + ": " + line;
    }
    return read.finish_family();
  }

 private:
  using Labels = std::map<std::string, std::string>;
  struct Series {
    double last_bound = -INFINITY, last_count = 0, infinite = -1, count = -1;
    bool has_sum = false;
  };

  static bool is_name(const std::string& name) {
    const std::string letters = "abcdefghijklmnopqrstuvwxyz_";
    return !name.empty() && letters.find(name[0]) != std::string::npos &&
           name.find_first_not_of(letters + "0123456789") == std::string::npos;
  }

  static std::string lint(const std::string& name, const std::string& type) {
    if (!is_name(name)) return "no name of a metric";
    if ((type == "counter") != name.ends_with("_total")) return "counters alone end in _total";
    for (const char* end : {"_bucket", "_count", "_sum"}) {
      if (name.ends_with(end)) return "an end that histograms alone have";
    }
    for (const char* unit : {"_ms", "_us", "_milliseconds", "_microseconds", "_mib", "_kb",
                             "_minutes", "_percent", "_gauge", "_histogram", "_counter"}) {
      if (name.ends_with(unit) || name.ends_with(unit + std::string("_total"))) {
        return "no base unit, or a type in the name";
      }
    }
    return {};
  }

  std::string take_comment(const std::string& text) {
    std::istringstream words(text);
    std::string kind, name, type;
    words >> kind >> name;
    if (kind == "HELP") {
      const std::string wrong = finish_family();
      family_ = name;
      type_.clear();
      if (text.size() <= kind.size() + name.size() + 2) return "no words of help";
      return !wrong.empty() ? wrong : helped_.insert(name).second ? "" : "a second family";
    }
    words >> type;
    if (kind != "TYPE" || name != family_ || !type_.empty()) return "TYPE does not follow its HELP";
    if (type != "counter" && type != "gauge" && type != "histogram") return "an unknown type";
    type_ = type;
    return lint(name, type);
  }

  /// name{label="value",...} value
  std::string take_sample(const std::string& line) {
    const size_t end_of_name = line.find_first_of("{ ");
    if (end_of_name == std::string::npos) return "no value";
    const std::string name = line.substr(0, end_of_name);
    size_t at = end_of_name;
    Labels labels;
    if (line[at] == '{' && !take_labels(line, ++at, labels)) return "broken labels";
    if (at >= line.size() || line[at] != ' ') return "no space before the value";
    char* end = nullptr;
    const std::string text = line.substr(at + 1);
    const double value = std::strtod(text.c_str(), &end);
    if (text.empty() || *end != '\0') return "no number";
    if (type_.empty()) return "a sample before its TYPE";
    if (!seen_.emplace(name, labels).second) return "the same series twice";
    if (type_ != "histogram") {
      if (name != family_) return "a sample of another family";
      if (labels.contains("le")) return "le outside of a histogram";
      return type_ == "counter" && !(value >= 0) ? "a negative counter" : "";
    }
    return take_histogram(name, std::move(labels), value);
  }

  static bool take_labels(const std::string& line, size_t& at, Labels& labels) {
    while (at < line.size() && line[at] != '}') {
      const size_t equals = line.find("=\"", at);
      if (equals == std::string::npos) return false;
      const std::string name = line.substr(at, equals - at);
      std::string value;
      for (at = equals + 2; at < line.size() && line[at] != '"'; ++at) {
        if (line[at] == '\\' && ++at < line.size() && line[at] != '\\' && line[at] != '"' &&
            line[at] != 'n') {
          return false;
        }
        value += at < line.size() ? line.substr(at, 1) : "";
      }
      if (at >= line.size() || !is_name(name) || !labels.emplace(name, value).second) return false;
      if (line[++at] == ',') ++at;
    }
    return at++ < line.size();
  }

  std::string take_histogram(const std::string& name, Labels labels, double value) {
    if (name == family_ + "_bucket") {
      if (!labels.contains("le")) return "a bucket without le";
      const double bound = std::strtod(labels["le"].c_str(), nullptr);
      labels.erase("le");
      Series& series = histogram_[labels];
      if (bound <= series.last_bound) return "bounds that do not rise";
      if (value < series.last_count) return "counts that fall";
      series.last_bound = bound;
      series.last_count = value;
      if (std::isinf(bound)) series.infinite = value;
      return {};
    }
    Series& series = histogram_[labels];
    if (name == family_ + "_sum") {
      series.has_sum = true;
    } else if (name == family_ + "_count") {
      series.count = value;
    } else {
      return "a sample of another family";
    }
    return {};
  }

  std::string finish_family() {
    for (const auto& [labels, series] : std::exchange(histogram_, {})) {
      if (!series.has_sum || series.count < 0 || series.infinite != series.count) {
        return "the histogram " + family_ + " lacks +Inf, _sum or _count, or they differ";
      }
    }
    return !family_.empty() && type_.empty() ? "no TYPE for " + family_ : std::string();
  }

  std::string family_, type_;
  std::set<std::string> helped_;
  std::set<std::pair<std::string, Labels>> seen_;
  std::map<Labels, Series> histogram_;
};

}  // namespace troupe::testing
