// What a model file may ask for. A file beyond a limit is refused with the limit's value.
#pragma once

#include <cstddef>
#include <cstdint>

namespace troupe::model::limits {

inline constexpr uint64_t metadata_pairs_max = 65'536;
inline constexpr uint64_t tensors_max = 1'048'576;
inline constexpr size_t key_bytes_max = 65'535;      ///< as the GGUF specification says
inline constexpr size_t tensor_name_bytes_max = 64;  ///< as the GGUF specification says
inline constexpr int array_depth_max = 4;
inline constexpr uint32_t tensor_dims_max = 4;
inline constexpr uint64_t tensor_elements_max = uint64_t{1} << 40;
inline constexpr uint32_t alignment_default = 32;  ///< bytes
inline constexpr uint32_t alignment_min = 8;       ///< bytes
inline constexpr uint32_t alignment_max = 65'536;  ///< bytes

/// As the safetensors format says.
inline constexpr uint64_t safetensors_header_bytes_max = 100'000'000;
inline constexpr size_t safetensors_name_bytes_max = 1'024;
inline constexpr size_t safetensors_dims_max = 8;
inline constexpr size_t shards_max = 4'096;             ///< files of one model
inline constexpr size_t config_bytes_max = 4'194'304;   ///< config.json, generation_config.json
inline constexpr size_t index_bytes_max = 100'000'000;  ///< model.safetensors.index.json
inline constexpr int json_depth_max = 64;
inline constexpr uint64_t json_values_max = 8'388'608;

/// What is hashed by itself in the digest of the weights, so that threads share them: a constant of
/// its form, with which every digest changes.
inline constexpr size_t digest_piece_bytes = size_t{1} << 20;
/// Threads that hash such pieces.
inline constexpr size_t digest_threads_max = 16;

inline constexpr uint32_t layers_max = 1'024;
inline constexpr uint32_t hidden_max = 131'072;
inline constexpr uint32_t heads_max = 4'096;
inline constexpr uint32_t head_dim_max = 1'024;
inline constexpr uint32_t ffn_max = 1'048'576;
inline constexpr uint32_t experts_max = 4'096;      ///< of a layer
inline constexpr uint32_t latent_rank_max = 4'096;  ///< elements of a latent
inline constexpr uint32_t vocab_max = 16'777'216;
inline constexpr uint32_t context_max = 16'777'216;  ///< tokens
inline constexpr double rope_base_max = 1e15;
inline constexpr double rope_scale_max = 1e6;  ///< linear factor, or one frequency's divisor

inline constexpr uint64_t merges_max = 16'777'216;
inline constexpr size_t token_bytes_max = 65'536;
inline constexpr size_t chat_template_bytes_max = 1'048'576;

}  // namespace troupe::model::limits
