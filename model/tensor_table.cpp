#include "model/tensor_table.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/concat.hpp"
#include "model/quoted.hpp"
#include "model/tensor_views.hpp"

namespace troupe::model {
namespace {

/// Equal but for dimensions of 1 in front.
bool same_shape(const std::vector<uint64_t>& found, const std::vector<uint64_t>& wanted) {
  const auto trimmed = [](const std::vector<uint64_t>& shape) {
    const auto first = std::find_if(shape.begin(), shape.end(), [](uint64_t d) { return d != 1; });
    return std::span(first, shape.end());
  };
  return std::ranges::equal(trimmed(found), trimmed(wanted));
}

Tensor whole(const StoredTensor& stored, uint32_t rows, uint32_t cols) {
  Tensor tensor;
  tensor.name = stored.name;
  tensor.type = stored.type;
  tensor.rows = rows;
  tensor.cols = cols;
  tensor.data = stored.read_row == nullptr ? stored.data.data() : nullptr;
  tensor.read_row = stored.read_row;
  return tensor;
}

}  // namespace

std::string shape_text(const std::vector<uint64_t>& shape) {
  std::string text = "[";
  for (const uint64_t dim : shape) text += (text.size() > 1 ? ", " : "") + std::to_string(dim);
  return text + "]";
}

Status TensorTable::add(StoredTensor tensor) {
  const auto [at, added] = tensors_.try_emplace(tensor.name);
  if (!added) {
    return error(Code::corrupt, concat("the tensor ", quoted(tensor.name), " occurs twice"),
                 "each name may stand in a model once");
  }
  at->second = std::move(tensor);
  return {};
}

void TensorTable::remove(std::string_view name) {
  const auto at = tensors_.find(name);
  if (at != tensors_.end()) tensors_.erase(at);
}

Status TensorTable::merge(TensorTable other) {
  for (auto& [name, tensor] : other.tensors_) TROUPE_TRY(add(std::move(tensor)));
  for (auto& owner : other.owners_) owners_.push_back(std::move(owner));
  return {};
}

const StoredTensor* TensorTable::find(std::string_view name) const {
  const auto at = tensors_.find(name);
  return at == tensors_.end() ? nullptr : &at->second;
}

Result<const StoredTensor*> TensorTaker::take(const std::string& name,
                                              const std::vector<uint64_t>& shape) {
  const StoredTensor* found = table_.find(name);
  if (found == nullptr) {
    return error(Code::corrupt, concat("the tensor ", name, " is missing"),
                 concat("a tensor of shape ", shape_text(shape)));
  }
  if (!same_shape(found->shape, shape)) {
    return error(Code::corrupt,
                 concat("tensor ", name, " has the shape ", shape_text(found->shape)),
                 concat(shape_text(shape), " by the model's configuration"));
  }
  if (!is_weight_type(found->type)) {
    return error(Code::unsupported,
                 concat("tensor ", name, " has the type ", info(found->type).name),
                 concat("supported: ", supported_tensor_types()));
  }
  used_.insert(name);
  return found;
}

Result<Tensor> TensorTaker::matrix(const std::string& name, uint32_t rows, uint32_t cols) {
  TROUPE_ASSIGN(const StoredTensor* stored, take(name, {rows, cols}));
  return whole(*stored, rows, cols);
}

Result<Tensor> TensorTaker::vector(const std::string& name, uint32_t size) {
  TROUPE_ASSIGN(const StoredTensor* stored, take(name, {size}));
  return whole(*stored, 1, size);
}

Result<std::vector<Tensor>> TensorTaker::stack(const std::string& name, uint32_t count,
                                               uint32_t rows, uint32_t cols) {
  TROUPE_ASSIGN(const StoredTensor* stored, take(name, {count, rows, cols}));
  if (uint64_t{count} * rows > std::numeric_limits<uint32_t>::max()) {
    return error(Code::exhausted,
                 concat("tensor ", name, " stacks ", count, " matrices of ", rows, " rows"),
                 "fewer than 2^32 rows in one tensor");
  }
  const Tensor all = whole(*stored, count * rows, cols);
  std::vector<Tensor> parts;
  for (uint32_t i = 0; i < count; ++i) {
    parts.push_back(slice_rows(all, i * rows, rows, concat(name, "[", i, "]")));
  }
  return parts;
}

Status TensorTaker::check_all_used(std::string_view model) const {
  for (const auto& [name, tensor] : table_.all()) {
    if (used_.contains(name)) continue;
    return error(
        Code::unsupported,
        concat("the files have the tensor ", quoted(name), ", which ", model, " does not have"),
        "ignoring it would give wrong text; models without it are supported");
  }
  return {};
}

}  // namespace troupe::model
