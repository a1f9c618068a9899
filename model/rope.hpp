// Rotary position embedding as files describe it, resolved to frequencies in double
// (docs/numerics.md section 5). The formulas are those of the papers as Hugging Face computes them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "model/config.hpp"

namespace troupe::model {

struct RopeSpec {
  RopePairing pairing = RopePairing::neox;
  uint32_t dim = 0;
  double base = 10000.0;
  RopeScaling scaling = RopeScaling::none;
  double factor = 1.0;
  uint32_t context = 0;           ///< tokens that the model was made for
  uint32_t original_context = 0;  ///< before it was stretched
  std::optional<double> attention_factor;
  double beta_fast = 32.0, beta_slow = 1.0;          ///< yarn
  bool truncate = true;                              ///< yarn: whole correction bounds
  double mscale = 0.0, mscale_all_dim = 0.0;         ///< yarn; 0: not given
  double low_frequency = 1.0, high_frequency = 4.0;  ///< llama3
  std::vector<double> short_factors, long_factors;   ///< longrope: [dim / 2]
};

/// "default", "linear", "dynamic", "yarn", "llama3", "longrope", "su". Errors: unsupported.
Result<RopeScaling> rope_scaling_named(const std::string& name);

/// Frequencies for the model's own context. Errors: corrupt (a number out of range).
Result<RopeConfig> make_rope(const RopeSpec& spec);

/// The frequencies of a model that is served with `context_max` tokens: longrope takes its long
/// factors exactly when that exceeds the original length, dynamic NTK its base from it.
void resolve_rope(RopeConfig& rope, uint32_t context_max);

/// 0.1 * mscale * ln(factor) + 1 for factors above 1.
double yarn_scale(double factor, double mscale);

}  // namespace troupe::model
