// The canonical text of a configuration: everything that can change a bit of what is computed.
#include <ios>
#include <sstream>

#include "cpu/cpu_backend.hpp"

namespace troupe::cpu {
namespace {

void describe_rope(std::ostream& out, const char* name, const model::RopeConfig& rope) {
  out << ';' << name << '=' << (rope.pairing == model::RopePairing::norm ? "norm" : "neox") << ','
      << rope.dim << ',' << rope.attention_factor;
  for (const double frequency : rope.inverse_frequency) out << ',' << frequency;
}

void describe_experts(std::ostream& out, const model::ExpertsConfig& e) {
  if (e.count == 0) return;
  out << ";experts=" << e.count << ',' << e.per_token << ',' << e.ffn_size << ','
      << e.shared_ffn_size << ',' << static_cast<int>(e.routing) << ',' << e.normalized << ','
      << e.scale << ',' << e.groups << ',' << e.groups_kept << ',' << e.group_top;
}

void describe_attention(std::ostream& out, const model::ModelConfig& c) {
  out << ";attention=" << c.attention_scale << ',' << c.attention_cap << ','
      << static_cast<int>(c.qk_norm);
  if (c.latent.kv_rank != 0) {
    out << ";latent=" << c.latent.kv_rank << ',' << c.latent.query_rank << ',' << c.latent.nope_dim
        << ',' << c.latent.value_dim << ',' << c.latent.norm_epsilon;
  }
  if (c.indexer.heads != 0) {
    out << ";indexer=" << c.indexer.heads << ',' << c.indexer.dim << ',' << c.indexer.top_k << ','
        << static_cast<int>(c.indexer.pairing);
  }
  for (const model::LayerConfig& layer : c.layers) {
    out << ";layer=" << layer.window << ',' << layer.rotates << ',' << layer.local_rope << ','
        << layer.experts << ',' << static_cast<int>(layer.selection);
  }
}

}  // namespace

std::string describe(const model::ModelConfig& config, uint32_t context_max) {
  const model::ModelConfig c = served_config(config, context_max);
  std::ostringstream out;
  out << std::hexfloat << "architecture=" << c.architecture << ";layers=" << c.num_layers
      << ";hidden=" << c.hidden_size << ";heads=" << c.num_heads << ";kv_heads=" << c.num_kv_heads
      << ";head_dim=" << c.head_dim << ";ffn=" << c.ffn_size << ";vocab=" << c.vocab_size
      << ";norm=" << c.norm_epsilon << ',' << c.norm_offset << ";tied=" << c.tied_embedding
      << ";context=" << c.context_max << ";embedding=" << c.embedding_scale
      << ";logit_cap=" << c.logit_cap << ";activation=" << static_cast<int>(c.activation) << ','
      << c.swiglu_limit << ',' << c.swiglu_alpha;
  describe_rope(out, "rope", c.rope);
  if (c.local_rope.dim != 0) describe_rope(out, "local_rope", c.local_rope);
  describe_attention(out, c);
  describe_experts(out, c.experts);
  return std::move(out).str();
}

}  // namespace troupe::cpu
