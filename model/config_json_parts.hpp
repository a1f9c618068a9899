// The parts of the reader of config.json, apart so that each fits a page. Used by config_json*.cpp
// only.
#pragma once

#include "base/result.hpp"
#include "model/config.hpp"
#include "model/config_fields.hpp"
#include "model/family.hpp"

namespace troupe::model {

/// Sets `rope` and `local_rope`; needs head_dim, context_max and, with latent attention, the
/// rotated part of a head, which `rotated` is.
Status read_json_rope(const ConfigFields& fields, const Family& family, uint32_t rotated,
                      ModelConfig& config);
/// Sets `latent`, `indexer` and what follows from them; gives the rotated elements of a head.
Result<uint32_t> read_json_latent(const ConfigFields& fields, const Family& family,
                                  ModelConfig& config);
/// Sets `experts`.
Status read_json_experts(const ConfigFields& fields, const Family& family, ModelConfig& config);
/// Sets `layers`.
Status read_json_layers(const ConfigFields& fields, const Family& family, ModelConfig& config);

/// What both file formats demand of experts: no more chosen than there are, whole groups.
/// `where` begins the sentence.
Status check_experts(const ExpertsConfig& experts, const std::string& where);

}  // namespace troupe::model
