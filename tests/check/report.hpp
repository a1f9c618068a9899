// What a conformance run found: lines for people, one object for programs.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"

namespace troupe::check {

enum class Outcome : unsigned char { passed, failed, skipped };

struct CaseResult {
  std::string group;  ///< a row of the table, e.g. the tokenizer's name
  std::string id;
  Outcome outcome = Outcome::passed;
  std::string why;                                    ///< of a failure or a skip
  std::optional<double> max_abs_diff = std::nullopt;  ///< where numbers are compared
  std::optional<double> mean_abs_diff = std::nullopt;
};

struct Report {
  std::string kind;
  std::vector<CaseResult> cases;

  void add(std::string group, std::string id, Outcome outcome, std::string why = {}) {
    cases.push_back(
        {std::move(group), std::move(id), outcome, std::move(why), std::nullopt, std::nullopt});
  }
  void compare(const std::string& group, const std::string& id, bool same, const std::string& why) {
    add(group, id, same ? Outcome::passed : Outcome::failed, same ? std::string() : why);
  }
};

/// One line per case that fails or is skipped, a table by group, a closing count.
void print(const Report& report);
/// {"kind", "passed", "failed", "skipped", "cases": [{"id", "ok", "why", "max_abs_diff"}]}.
void print_json(const Report& report);
/// 0 when all passed (a skip says why), else 1; 2 when there was no case at all.
int exit_status(const Report& report);

/// Prints what was found, in the form that was asked for, or the failure; gives the exit status.
int finish(const Status& status, const Report& report, bool json);

}  // namespace troupe::check
