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
              << std::setw(8) << counts.failed << std::setw(9) << counts.skipped << "\n";
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
    body["cases"].push_back({{"id", one.id},
                             {"ok", one.outcome == Outcome::passed},
                             {"why", one.why},
                             {"max_abs_diff", nullptr}});
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

}  // namespace troupe::check
