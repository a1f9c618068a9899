#include "model/gguf_table.hpp"

#include "base/concat.hpp"
#include "model/ggml_types.hpp"
#include "model/quoted.hpp"

namespace troupe::model {

Result<TensorTable> gguf_table(const GgufFile& file) {
  TensorTable table;
  for (const GgufTensor& tensor : file.tensors()) {
    // Numbers from 1000 on are ours and mean nothing in a GGUF file.
    if (tensor.type >= 1000 || tensor_type_info(tensor.type) == nullptr) {
      return error(
          Code::unsupported,
          concat("tensor ", quoted(tensor.name), " has the type ", ggml_type_name(tensor.type)),
          concat("supported: ", supported_tensor_types()));
    }
    StoredTensor stored;
    stored.name = tensor.name;
    stored.type = static_cast<TensorType>(tensor.type);
    stored.shape.assign(tensor.dims.rbegin(), tensor.dims.rend());
    stored.data = tensor.data;
    TROUPE_TRY(table.add(std::move(stored)));
  }
  return table;
}

}  // namespace troupe::model
