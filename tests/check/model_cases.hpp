// Cases of the model fixtures' forms, run through the product.
#pragma once

#include <string>

#include "base/result.hpp"
#include "tests/check/report.hpp"

namespace troupe::check {

/// `path`: a folder of checkpoints (config.json in either spelling, weights, reference.json), or
/// one of them. Errors: not_found, when there is no case.
Status check_models(const std::string& path, bool exact, Report& report);

/// `path`: a folder of NAME.gguf with NAME.reference.json beside them, or one such file.
/// Errors: not_found, when there is no case.
Status check_gguf(const std::string& path, bool exact, Report& report);

/// `path`: a file of raw blocks and their values by type, or a folder with dequant.json.
Status check_dequant(const std::string& path, Report& report);

}  // namespace troupe::check
