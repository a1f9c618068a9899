// A model from bytes in memory: what load_model does after mapping the file; for tests.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "base/result.hpp"
#include "model/model.hpp"

namespace troupe::model {

/// Borrows `bytes`: they must outlive the model (`mapping` is empty) and lie at an address
/// divisible by 8. Errors: as load_model, without the path.
Result<std::shared_ptr<const Model>> parse_model(std::span<const std::byte> bytes);

}  // namespace troupe::model
