#include "model/gguf_weights.hpp"

#include <set>
#include <string>
#include <string_view>

#include "base/concat.hpp"
#include "model/ggml_types.hpp"
#include "model/quoted.hpp"
#include "model/tensor.hpp"

namespace troupe::model {
namespace {

std::string shape_text(const std::vector<uint64_t>& dims) {
  std::string text = "[";
  for (const uint64_t dim : dims) text += (text.size() > 1 ? ", " : "") + std::to_string(dim);
  return text + "]";
}

bool has_shape(const std::vector<uint64_t>& dims, uint32_t rows, uint32_t cols) {
  if (dims[0] != cols || (dims.size() > 1 ? dims[1] : 1) != rows) return false;
  for (size_t i = 2; i < dims.size(); ++i) {
    if (dims[i] != 1) return false;
  }
  return true;
}

/// Takes tensors out of the file by name and notes which, so that none stays unused.
class WeightReader {
 public:
  WeightReader(const GgufFile& file, const ModelConfig& config) : file_(file), config_(config) {}

  Result<Weights> read() {
    const ModelConfig& c = config_;
    TROUPE_TRY(check_types());
    Weights w;
    TROUPE_ASSIGN(w.token_embedding, matrix("token_embd.weight", c.vocab_size, c.hidden_size));
    TROUPE_ASSIGN(w.output_norm, vector("output_norm.weight"));
    w.output = w.token_embedding;
    if (!c.tied_embedding) {
      TROUPE_ASSIGN(w.output, matrix("output.weight", c.vocab_size, c.hidden_size));
    }
    // Resolved by read_rope.
    used_.insert("rope_freqs.weight");
    for (uint32_t i = 0; i < c.num_layers; ++i) {
      TROUPE_ASSIGN(LayerWeights layer, read_layer(concat("blk.", i, ".")));
      w.layers.push_back(std::move(layer));
    }
    TROUPE_TRY(check_all_used());
    return w;
  }

 private:
  Result<LayerWeights> read_layer(const std::string& prefix) {
    const uint32_t hidden = config_.hidden_size;
    const uint32_t heads = config_.num_heads * config_.head_dim;
    const uint32_t kv_heads = config_.num_kv_heads * config_.head_dim;
    const uint32_t ffn = config_.ffn_size;
    LayerWeights l;
    TROUPE_ASSIGN(l.attention_norm, vector(prefix + "attn_norm.weight"));
    TROUPE_ASSIGN(l.query, matrix(prefix + "attn_q.weight", heads, hidden));
    TROUPE_ASSIGN(l.key, matrix(prefix + "attn_k.weight", kv_heads, hidden));
    TROUPE_ASSIGN(l.value, matrix(prefix + "attn_v.weight", kv_heads, hidden));
    TROUPE_ASSIGN(l.attention_output, matrix(prefix + "attn_output.weight", hidden, heads));
    TROUPE_ASSIGN(l.ffn_norm, vector(prefix + "ffn_norm.weight"));
    TROUPE_ASSIGN(l.gate, matrix(prefix + "ffn_gate.weight", ffn, hidden));
    TROUPE_ASSIGN(l.up, matrix(prefix + "ffn_up.weight", ffn, hidden));
    TROUPE_ASSIGN(l.down, matrix(prefix + "ffn_down.weight", hidden, ffn));
    return l;
  }

  Status check_types() {
    for (const GgufTensor& tensor : file_.tensors()) {
      if (tensor_type_info(tensor.type) != nullptr &&
          is_weight_type(static_cast<TensorType>(tensor.type))) {
        continue;
      }
      return error(
          Code::unsupported,
          concat("tensor ", quoted(tensor.name), " has the type ", ggml_type_name(tensor.type)),
          concat("supported: ", supported_tensor_types()));
    }
    return {};
  }

  Result<Tensor> vector(const std::string& name) {
    TROUPE_ASSIGN(Tensor tensor, matrix(name, 1, config_.hidden_size));
    if (tensor.type != TensorType::f32) {
      return error(Code::unsupported,
                   concat("tensor ", name, " has the type ", info(tensor.type).name),
                   "supported for norms: F32");
    }
    return tensor;
  }

  Result<Tensor> matrix(const std::string& name, uint32_t rows, uint32_t cols) {
    const GgufTensor* found = file_.tensor(name);
    const std::string expected = rows == 1 ? concat("[", cols, "]")  //
                                           : concat("[", cols, ", ", rows, "]");
    if (found == nullptr) {
      return error(Code::corrupt, concat("the tensor ", name, " is missing"),
                   concat("a tensor of shape ", expected));
    }
    if (!has_shape(found->dims, rows, cols)) {
      return error(Code::corrupt,
                   concat("tensor ", name, " has the shape ", shape_text(found->dims)),
                   concat(expected, " by the file's metadata"));
    }
    used_.insert(found->name);
    Tensor tensor;
    tensor.name = name;
    tensor.type = static_cast<TensorType>(found->type);
    tensor.rows = rows;
    tensor.cols = cols;
    tensor.data = found->data.data();
    return tensor;
  }

  [[nodiscard]] Status check_all_used() const {
    for (const GgufTensor& tensor : file_.tensors()) {
      if (used_.contains(tensor.name)) continue;
      return error(
          Code::unsupported,
          concat("the file has the tensor ", quoted(tensor.name), ", which a ", config_.num_layers,
                 "-layer ", config_.architecture, " model does not have"),
          "ignoring it would give wrong text; models without it are supported");
    }
    return {};
  }

  const GgufFile& file_;
  const ModelConfig& config_;
  std::set<std::string_view> used_;
};

}  // namespace

Result<Weights> read_weights(const GgufFile& file, const ModelConfig& config) {
  return WeightReader(file, config).read();
}

}  // namespace troupe::model
