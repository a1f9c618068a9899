#include <algorithm>
#include <numeric>

#include "base/concat.hpp"
#include "model/ggml_types.hpp"
#include "model/gguf_parts.hpp"
#include "model/limits.hpp"
#include "model/quoted.hpp"
#include "model/tensor.hpp"

namespace troupe::model {
namespace {

constexpr const char* damaged = "the file is truncated or damaged: fetch it again";

Result<std::string_view> read_name(ByteReader& reader, uint64_t index) {
  const auto length = reader.read<uint64_t>();
  if (!length) return truncated(concat("the name of tensor ", index), reader);
  if (*length == 0 || *length > limits::tensor_name_bytes_max) {
    return error(Code::corrupt,
                 concat("the name of tensor ", index, " at byte ", reader.offset(),
                        " has a length of ", *length, " bytes"),
                 concat("a tensor's name has 1 to ", limits::tensor_name_bytes_max, " bytes"));
  }
  const auto text = reader.take_text(*length);
  if (!text) return truncated(concat("the name of tensor ", index), reader);
  return *text;
}

Result<std::vector<uint64_t>> read_dims(ByteReader& reader, std::string_view name) {
  const auto count = reader.read<uint32_t>();
  if (!count) return truncated(concat("the dimensions of tensor ", quoted(name)), reader);
  if (*count == 0 || *count > limits::tensor_dims_max) {
    return error(Code::corrupt, concat("tensor ", quoted(name), " has ", *count, " dimensions"),
                 concat("a tensor has 1 to ", limits::tensor_dims_max));
  }
  std::vector<uint64_t> dims;
  uint64_t elements = 1;
  for (uint32_t i = 0; i < *count; ++i) {
    const auto dim = reader.read<uint64_t>();
    if (!dim) return truncated(concat("the dimensions of tensor ", quoted(name)), reader);
    if (*dim == 0) {
      return error(Code::corrupt, concat("dimension ", i, " of tensor ", quoted(name), " is 0"),
                   "every dimension is at least 1");
    }
    // A quotient instead of a product, which could overflow.
    if (*dim > limits::tensor_elements_max / elements) {
      return error(Code::exhausted,
                   concat("tensor ", quoted(name),
                          " has more elements than can be read: dimension ", i, " is ", *dim),
                   concat("at most ", limits::tensor_elements_max, " elements"));
    }
    elements *= *dim;
    dims.push_back(*dim);
  }
  return dims;
}

/// Bytes of the tensor; 0 for a type without an entry in the table.
Result<uint64_t> stored_bytes(const GgufTensorEntry& entry) {
  const TensorTypeInfo* type = tensor_type_info(entry.type);
  if (type == nullptr) return uint64_t{0};
  if (entry.dims[0] % type->block_size != 0) {
    return error(Code::corrupt,
                 concat("the rows of tensor ", quoted(entry.name), " have ", entry.dims[0],
                        " elements, which is no whole number of ", type->name, " blocks"),
                 concat("a multiple of ", type->block_size));
  }
  uint64_t bytes = entry.dims[0] / type->block_size * type->block_bytes;
  for (size_t i = 1; i < entry.dims.size(); ++i) bytes *= entry.dims[i];
  return bytes;
}

Status check_place(const GgufTensorEntry& entry, uint64_t data_bytes, uint64_t alignment) {
  if (entry.offset % alignment != 0) {
    return error(Code::corrupt,
                 concat("tensor ", quoted(entry.name), " lies at offset ", entry.offset),
                 concat("offsets are multiples of the file's alignment, ", alignment));
  }
  if (entry.offset >= data_bytes || entry.bytes > data_bytes - entry.offset) {
    return error(
        Code::corrupt,
        concat("tensor ", quoted(entry.name), " reaches beyond the file: offset ", entry.offset,
               " and ", entry.bytes, " bytes in a data section of ", data_bytes),
        damaged);
  }
  return {};
}

}  // namespace

Result<std::vector<GgufTensorEntry>> read_tensor_entries(ByteReader& reader, uint64_t count) {
  std::vector<GgufTensorEntry> entries;
  for (uint64_t i = 0; i < count; ++i) {
    GgufTensorEntry entry;
    TROUPE_ASSIGN(entry.name, read_name(reader, i));
    TROUPE_ASSIGN(entry.dims, read_dims(reader, entry.name));
    const auto type = reader.read<uint32_t>();
    const auto offset = reader.read<uint64_t>();
    if (!type || !offset) {
      return truncated(concat("the description of tensor ", quoted(entry.name)), reader);
    }
    entry.type = *type;
    entry.offset = *offset;
    TROUPE_ASSIGN(entry.bytes, stored_bytes(entry));
    entries.push_back(std::move(entry));
  }
  return entries;
}

Result<std::vector<GgufTensor>> place_tensors(const std::vector<GgufTensorEntry>& entries,
                                              std::span<const std::byte> data, uint64_t alignment) {
  std::vector<uint32_t> order(entries.size());
  std::iota(order.begin(), order.end(), 0u);
  std::sort(order.begin(), order.end(),
            [&](uint32_t a, uint32_t b) { return entries[a].offset < entries[b].offset; });
  const GgufTensorEntry* before = nullptr;
  for (const uint32_t index : order) {
    const GgufTensorEntry& entry = entries[index];
    TROUPE_TRY(check_place(entry, data.size(), alignment));
    // A type of unknown size still holds its first byte.
    if (before != nullptr && entry.offset < before->offset + std::max<uint64_t>(before->bytes, 1)) {
      return error(
          Code::corrupt,
          concat("tensors ", quoted(before->name), " (offset ", before->offset, ", ", before->bytes,
                 " bytes) and ", quoted(entry.name), " (offset ", entry.offset, ") overlap"),
          damaged);
    }
    before = &entry;
  }
  std::vector<GgufTensor> tensors;
  tensors.reserve(entries.size());
  for (const GgufTensorEntry& entry : entries) {
    tensors.push_back(
        {entry.name, entry.dims, entry.type,
         data.subspan(static_cast<size_t>(entry.offset), static_cast<size_t>(entry.bytes))});
  }
  return tensors;
}

}  // namespace troupe::model
