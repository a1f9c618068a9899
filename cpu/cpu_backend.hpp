// The CPU backend: spans in, draws out, every bit by docs/numerics.md.
#pragma once

#include <memory>

#include "base/result.hpp"
#include "engine/backend.hpp"
#include "kv/layout.hpp"
#include "model/model.hpp"

namespace troupe::cpu {

/// Version of docs/numerics.md: raised by any change that can change a bit.
inline constexpr int numerics_version = 2;

enum class ComputeMode : uint8_t { fast, exact };  ///< numerics.md section 9
class PackFile;
enum class PackUse : uint8_t { off, map, copy };  ///< of TROUPE_PACK
enum class Isa : uint8_t { scalar, neon, avx2, avxvnni, avx512 };
/// Those of this kind of machine, in ascending order of preference.
#if defined(__aarch64__)
inline constexpr Isa all_isas[] = {Isa::scalar, Isa::neon};
#else
inline constexpr Isa all_isas[] = {Isa::scalar, Isa::avx2, Isa::avxvnni, Isa::avx512};
#endif

/// The best instruction set of this CPU, lowered by TROUPE_ISA if that is set.
Isa best_isa();
const char* name(Isa isa);

struct CpuOptions {
  ComputeMode mode = ComputeMode::fast;
  /// Exact mode and models with an indexer use f32 instead; latent attention has one for both.
  kv::KvTypes kv_types;
  int threads = 0;  ///< 0: all cores
  Isa isa = best_isa();
  uint32_t context_max = 0;  ///< 0: the model's; RoPE is resolved from this
  uint32_t step_tokens_max = 2048;
  std::shared_ptr<const PackFile> pack;  ///< of the model's weights, or null
  PackUse pack_use = PackUse::map;
};

/// Packs the weights, or takes them from `options.pack` when it is whole and of the same weights
/// and mode (else it is logged why not); the model stays shared. Errors: unsupported, exhausted.
Result<std::unique_ptr<engine::Backend>> make_cpu_backend(std::shared_ptr<const model::Model> model,
                                                          const CpuOptions& options);

/// The configuration as it is served with `context_max` tokens (0: the model's own): rope resolved.
model::ModelConfig served_config(const model::ModelConfig& config, uint32_t context_max);

/// Canonical text of the resolved configuration, part of the KV fingerprint.
std::string describe(const model::ModelConfig& config, uint32_t context_max);

}  // namespace troupe::cpu
