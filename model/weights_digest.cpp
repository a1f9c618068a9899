#include "model/weights_digest.hpp"

#include <algorithm>
#include <string_view>
#include <vector>

namespace troupe::model {

Digest weights_digest(const GgufFile& file) {
  std::vector<const GgufTensor*> tensors;
  tensors.reserve(file.tensors().size());
  for (const GgufTensor& tensor : file.tensors()) tensors.push_back(&tensor);
  std::sort(tensors.begin(), tensors.end(),
            [](const GgufTensor* a, const GgufTensor* b) { return a->name < b->name; });

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

}  // namespace troupe::model
