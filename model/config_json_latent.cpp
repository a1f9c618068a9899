#include <cmath>

#include "base/concat.hpp"
#include "model/config_json_parts.hpp"
#include "model/limits.hpp"

namespace troupe::model {

Result<uint32_t> read_json_latent(const ConfigFields& fields, const Family& family,
                                  ModelConfig& config) {
  LatentConfig& l = config.latent;
  TROUPE_ASSIGN(l.kv_rank, fields.required("kv_lora_rank", 1, limits::latent_rank_max));
  TROUPE_ASSIGN(const auto rank, fields.count("q_lora_rank", 1, limits::hidden_max));
  l.query_rank = rank.value_or(0);
  TROUPE_ASSIGN(l.nope_dim, fields.required("qk_nope_head_dim", 1, limits::head_dim_max));
  TROUPE_ASSIGN(l.value_dim, fields.required("v_head_dim", 1, limits::head_dim_max));
  TROUPE_ASSIGN(const uint32_t rotated,
                fields.required("qk_rope_head_dim", 2, limits::head_dim_max));
  if (rotated % 2 != 0) {
    return fields.bad("qk_rope_head_dim", std::to_string(rotated), "an even number");
  }
  config.num_kv_heads = 1;
  config.head_dim = l.kv_rank + rotated;
  config.attention_scale =
      static_cast<float>(1.0 / std::sqrt(static_cast<double>(l.nope_dim + rotated)));
  if (!family.indexer) return rotated;

  IndexerConfig& index = config.indexer;
  index.pairing = *family.indexer;
  TROUPE_ASSIGN(index.heads, fields.required("index_n_heads", 1, limits::heads_max));
  TROUPE_ASSIGN(index.dim, fields.required("index_head_dim", 2, limits::head_dim_max));
  TROUPE_ASSIGN(index.top_k, fields.required("index_topk", 1, limits::context_max));
  if (index.dim < rotated) {
    return fields.bad("index_head_dim", std::to_string(index.dim),
                      concat("at least the ", rotated, " elements that are rotated"));
  }
  if (l.query_rank == 0) {
    return fields.bad("q_lora_rank", "missing", "the indexer's queries are made from it");
  }
  return rotated;
}

}  // namespace troupe::model
