// Cases of the text fixtures' forms, run through the product.
#pragma once

#include <string>

#include "base/result.hpp"
#include "tests/check/report.hpp"

namespace troupe::check {

/// `path`: a folder of tokenizers, one of them, or its cases.jsonl. `assets`: where
/// tokenizers/vocab/ lies; `weights`: where model files lie.
/// Errors: not_found, when there is no case.
Status check_tokenizers(const std::string& path, const std::string& assets,
                        const std::string& weights, Report& report);

/// `path`: a folder with cases.jsonl, or such a file. `assets`: where templates/ lies.
Status check_templates(const std::string& path, const std::string& assets, Report& report);

}  // namespace troupe::check
