#include "tests/check/report.hpp"

#include <algorithm>
#include <iomanip>
#include <iostream>
#include <nlohmann/json.hpp>

namespace troupe::check {

namespace {

struct Counts {
  int passed = 0;
  int failed = 0;
  int skipped = 0;
};

void count(Counts& counts, Outcome outcome) {
  if (outcome == Outcome::passed) ++counts.passed;
  if (outcome == Outcome::failed) ++counts.failed;
  if (outcome == Outcome::skipped) ++counts.skipped;
}

/// Of the group's cases that compare numbers; nothing where there is none.
std::optional<double> largest_difference(const Report& report, const std::string& group) {
  std::optional<double> largest;
  for (const CaseResult& one : report.cases) {
    if (one.group != group || !one.max_abs_diff) continue;
    if (!largest || !(*one.max_abs_diff <= *largest)) largest = one.max_abs_diff;
  }
  return largest;
}

/// The mean of the group's means.
std::optional<double> mean_difference(const Report& report, const std::string& group) {
  double sum = 0;
  int cases = 0;
  for (const CaseResult& one : report.cases) {
    if (one.group != group || !one.mean_abs_diff) continue;
    sum += *one.mean_abs_diff;
    ++cases;
  }
  if (cases == 0) return std::nullopt;
  return sum / cases;
}

Counts count_all(const Report& report) {
  Counts counts;
  for (const CaseResult& one : report.cases) count(counts, one.outcome);
  return counts;
}

}  // namespace

void print(const Report& report) {
  std::vector<std::pair<std::string, Counts>> groups;
  for (const CaseResult& one : report.cases) {
    if (one.outcome != Outcome::passed) {
      std::cout << (one.outcome == Outcome::failed ? "FAILED  " : "skipped ") << one.id << ": "
                << one.why << "\n";
    }
    auto group = std::ranges::find(groups, one.group, &std::pair<std::string, Counts>::first);
    if (group == groups.end()) group = groups.insert(groups.end(), {one.group, {}});
    count(group->second, one.outcome);
  }
  std::cout << std::left << std::setw(56) << report.kind << std::right << std::setw(8) << "passed"
            << std::setw(8) << "failed" << std::setw(9) << "skipped"
            << "\n";
  for (const auto& [name, counts] : groups) {
    std::cout << std::left << std::setw(56) << name << std::right << std::setw(8) << counts.passed
              << std::setw(8) << counts.failed << std::setw(9) << counts.skipped;
    if (const auto largest = largest_difference(report, name)) {
      std::cout << "  max |difference| " << *largest;
    }
    if (const auto mean = mean_difference(report, name)) std::cout << ", mean " << *mean;
    std::cout << "\n";
  }
  const Counts all = count_all(report);
  std::cout << report.kind << ": " << all.passed << " passed, " << all.failed << " failed, "
            << all.skipped << " skipped" << std::endl;
}

void print_json(const Report& report) {
  const Counts all = count_all(report);
  nlohmann::ordered_json body = {{"kind", report.kind},
                                 {"passed", all.passed},
                                 {"failed", all.failed},
                                 {"skipped", all.skipped},
                                 {"cases", nlohmann::ordered_json::array()}};
  for (const CaseResult& one : report.cases) {
    nlohmann::ordered_json entry = {
        {"id", one.id}, {"ok", one.outcome == Outcome::passed}, {"why", one.why}};
    // A number that JSON cannot write becomes null too.
    entry["max_abs_diff"] = nullptr;
    if (one.max_abs_diff) entry["max_abs_diff"] = *one.max_abs_diff;
    body["cases"].push_back(std::move(entry));
  }
  std::cout << body.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace)
            << std::endl;
}

int exit_status(const Report& report) {
  if (report.cases.empty()) return 2;
  return std::ranges::any_of(report.cases,
                             [](const CaseResult& one) { return one.outcome == Outcome::failed; })
             ? 1
             : 0;
}

int finish(const Status& status, const Report& report, bool json) {
  if (!status.ok()) {
    std::cerr << "check: " << status.error().message() << std::endl;
    return 2;
  }
  if (json) {
    print_json(report);
  } else {
    print(report);
  }
  return exit_status(report);
}

}  // namespace troupe::check
