#include "model/weights_digest.hpp"

#include <algorithm>
#include <string_view>
#include <vector>

#include "model/mapped_file.hpp"

namespace troupe::model {

Digest weights_digest(const GgufFile& file) {
  std::vector<const GgufTensor*> tensors;
  tensors.reserve(file.tensors().size());
  for (const GgufTensor& tensor : file.tensors()) tensors.push_back(&tensor);
  std::sort(tensors.begin(), tensors.end(),
            [](const GgufTensor* a, const GgufTensor* b) { return a->name < b->name; });

  for (const GgufTensor& tensor : file.tensors()) will_read(tensor.data);
  Sha256 hash;
  hash.update(std::string_view("troupe weights 1"));
  hash.update_u64(tensors.size());
  for (const GgufTensor* tensor : tensors) {
    hash.update_u64(tensor->name.size());
    hash.update(tensor->name);
    hash.update_u64(tensor->type);
    hash.update_u64(tensor->dims.size());
    for (const uint64_t dim : tensor->dims) hash.update_u64(dim);
    hash.update_u64(tensor->data.size());
    hash.update(tensor->data);
  }
  return hash.finish();
}

Digest weights_digest(const TensorTable& table) {
  for (const auto& [name, tensor] : table.all()) will_read(tensor.data);
  Sha256 hash;
  hash.update(std::string_view("troupe weights 2"));
  hash.update_u64(table.all().size());
  for (const auto& [name, tensor] : table.all()) {
    hash.update_u64(name.size());
    hash.update(name);
    hash.update_u64(static_cast<uint64_t>(tensor.type));
    hash.update_u64(tensor.shape.size());
    for (const uint64_t dim : tensor.shape) hash.update_u64(dim);
    if (tensor.read_row == nullptr) {
      hash.update_u64(tensor.data.size());
      hash.update(tensor.data);
      continue;
    }
    uint64_t rows = 1;
    for (size_t i = 0; i + 1 < tensor.shape.size(); ++i) rows *= tensor.shape[i];
    const TensorTypeInfo& type = info(tensor.type);
    std::vector<std::byte> row(tensor.shape.back() / type.block_size * type.block_bytes);
    for (uint64_t i = 0; i < rows; ++i) {
      (*tensor.read_row)(static_cast<uint32_t>(i), row.data());
      hash.update(row);
    }
  }
  return hash.finish();
}

}  // namespace troupe::model
