// A model against the reference that stands beside it: logits, log-probabilities and greedy tokens
// of each prompt, and the same bits whatever the spans were.
#pragma once

#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "base/result.hpp"
#include "model/model.hpp"
#include "tests/check/report.hpp"

namespace troupe::check {

struct ReferenceOptions {
  bool exact = true;  ///< else fast, which is held to the bounds of docs/numerics.md section 9
};

/// Adds one case per entry of reference["prompts"] (the form of the fixtures' reference.json),
/// named "NAME/prompt I/MODE". Each prompt with its greedy continuation is computed in spans of
/// 300, 64, 7 and 1 tokens: the first is compared with the reference, the others with the first.
void check_reference(const std::shared_ptr<const model::Model>& model, const std::string& name,
                     const nlohmann::json& reference, const ReferenceOptions& options,
                     Report& report);

/// Reads the reference at `path`, then the model, and checks one against the other; what goes wrong
/// before that is one failed case `name`.
void check_reference_file(const std::string& path, const std::string& name,
                          const std::function<Result<std::shared_ptr<const model::Model>>()>& load,
                          const ReferenceOptions& options, Report& report);

}  // namespace troupe::check
