// Every tensor of a model by name, whatever file format it came from: what stands between the
// readers (GGUF, safetensors, converted checkpoints), which fill it, and the families, which take
// weights out of it.
//
// How a family maps names. A family says for each role (query, down projection, …) and each format
// what the tensor is called: "blk.{i}.attn_q.weight" in GGUF, "model.layers.{i}.self_attn.q_proj
// .weight" in safetensors. The loader fills {i}, asks a TensorTaker for the name with the shape
// that the configuration demands, and gets a Tensor for the forward pass. Fused, stacked and
// transposed weights are taken whole and cut with tensor_views.hpp. Shapes are the outermost first
// in both formats ([out, in]; stacked experts [expert, out, in]), which is the reverse of GGUF's
// own order. In the end check_all_used() finds what no role asked for.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "model/tensor.hpp"

namespace troupe::model {

/// A tensor as its file describes it. The readers have checked that `data` is exactly what shape
/// and type need, and that the rows (the last dimension) are whole blocks.
struct StoredTensor {
  std::string name;
  TensorType type = TensorType::f32;
  std::vector<uint64_t> shape;      ///< outermost first; empty: a scalar
  std::span<const std::byte> data;  ///< borrowed; empty where `read_row` makes the rows
  /// Rows of a converted tensor, counted through all dimensions but the last.
  std::shared_ptr<const ReadRow> read_row = nullptr;
};

/// "[4096, 128]".
std::string shape_text(const std::vector<uint64_t>& shape);

class TensorTable {
 public:
  /// Errors: corrupt, when the name is there already.
  Status add(StoredTensor tensor);
  void remove(std::string_view name);

  /// Takes all tensors of another table and keeps what they borrow. Errors: as add().
  Status merge(TensorTable other);

  /// Keeps `owner` (a mapped file, converted bytes) for as long as the table or a copy of it lives.
  void keep(std::shared_ptr<const void> owner) { owners_.push_back(std::move(owner)); }

  [[nodiscard]] const StoredTensor* find(std::string_view name) const;
  /// Sorted by name.
  [[nodiscard]] const std::map<std::string, StoredTensor, std::less<>>& all() const {
    return tensors_;
  }

 private:
  std::map<std::string, StoredTensor, std::less<>> tensors_;
  std::vector<std::shared_ptr<const void>> owners_;
};

/// Takes weights out of a table and notes which, so that none stays unused unseen.
class TensorTaker {
 public:
  /// `table` must outlive this and what its tensors borrow must outlive the tensors.
  explicit TensorTaker(const TensorTable& table) : table_(table) {}

  [[nodiscard]] bool has(std::string_view name) const { return table_.find(name) != nullptr; }

  /// The tensor as a matrix. Dimensions of 1 may stand anywhere in front.
  /// Errors: corrupt (missing, another shape), unsupported (the type holds no weights).
  Result<Tensor> matrix(const std::string& name, uint32_t rows, uint32_t cols);
  /// One row: norms, biases, sinks. Any weight type: the forward pass keeps them in F32.
  Result<Tensor> vector(const std::string& name, uint32_t size);
  /// `count` matrices in one tensor [count, rows, cols]; entry i is named "name[i]".
  /// Errors: also exhausted (2^32 rows in one tensor).
  Result<std::vector<Tensor>> stack(const std::string& name, uint32_t count, uint32_t rows,
                                    uint32_t cols);

  /// The tensor is known and not needed (inverse frequencies, layers of a draft head).
  void ignore(std::string_view name) { used_.emplace(name); }

  /// Errors: unsupported, when a tensor was neither taken nor ignored: leaving it out would give
  /// wrong text. `model` says what has no such tensor, e.g. "a 2-layer llama model".
  [[nodiscard]] Status check_all_used(std::string_view model) const;

 private:
  Result<const StoredTensor*> take(const std::string& name, const std::vector<uint64_t>& shape);

  const TensorTable& table_;
  std::set<std::string, std::less<>> used_;
};

}  // namespace troupe::model
