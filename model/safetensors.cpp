#include "model/safetensors.hpp"

#include <algorithm>
#include <optional>
#include <string_view>

#include "base/concat.hpp"
#include "model/byte_reader.hpp"
#include "model/json.hpp"
#include "model/limits.hpp"
#include "model/quoted.hpp"

namespace troupe::model {
namespace {

constexpr const char* metadata_key = "__metadata__";
constexpr const char* damaged_file = "the file is truncated or damaged: fetch it again";

struct DtypeName {
  std::string_view name;
  TensorType type;
};

constexpr DtypeName dtypes[] = {
    {"F32", TensorType::f32},         {"F16", TensorType::f16},
    {"BF16", TensorType::bf16},       {"F64", TensorType::f64},
    {"F8_E4M3", TensorType::f8_e4m3}, {"F8_E5M2", TensorType::f8_e5m2},
    {"F8_E8M0", TensorType::f8_e8m0}, {"I8", TensorType::i8},
    {"I16", TensorType::i16},         {"I32", TensorType::i32},
    {"I64", TensorType::i64},         {"U8", TensorType::u8},
    {"U16", TensorType::u16},         {"U32", TensorType::u32},
    {"U64", TensorType::u64},         {"BOOL", TensorType::boolean},
};

std::string dtype_names() {
  std::string names;
  for (const DtypeName& dtype : dtypes) {
    if (!names.empty()) names += ", ";
    names += dtype.name;
  }
  return names;
}

Error bad_tensor(const std::string& name, std::string_view what, std::string hint) {
  return error(Code::corrupt, concat("tensor ", quoted(name), " ", what), std::move(hint));
}

Result<TensorType> read_dtype(const std::string& name, const Json& entry) {
  const Json* dtype = entry.find("dtype");
  if (dtype == nullptr || !dtype->is_string()) {
    return bad_tensor(name, "has no dtype", "a string such as \"BF16\"");
  }
  for (const DtypeName& known : dtypes) {
    if (known.name == dtype->text()) return known.type;
  }
  return error(Code::unsupported,
               concat("tensor ", quoted(name), " has the dtype ", quoted(dtype->text())),
               concat("supported: ", dtype_names()));
}

Result<std::vector<uint64_t>> read_numbers(const std::string& name, const Json& entry,
                                           const char* member, size_t count_max) {
  const Json* list = entry.find(member);
  if (list == nullptr || !list->is_array()) {
    return bad_tensor(name, concat("has no list ", member), "a list of numbers");
  }
  if (list->items().size() > count_max) {
    return error(
        Code::exhausted,
        concat("tensor ", quoted(name), " has ", list->items().size(), " numbers in its ", member),
        concat("at most ", count_max, " are read"));
  }
  std::vector<uint64_t> numbers;
  for (const Json& item : list->items()) {
    const std::optional<uint64_t> number = item.unsigned_integer();
    if (!number) {
      return bad_tensor(name, concat("has in its ", member, " what is no whole number from 0 on"),
                        "a list of numbers");
    }
    numbers.push_back(*number);
  }
  return numbers;
}

/// Bytes that shape and type need.
Result<uint64_t> needed_bytes(const std::string& name, TensorType type,
                              const std::vector<uint64_t>& shape) {
  uint64_t elements = 1;
  for (const uint64_t dim : shape) {
    // A quotient instead of a product, which could overflow. A dimension of 0 is the format's way
    // to say that there are no bytes.
    if (elements != 0 && dim > limits::tensor_elements_max / elements) {
      return error(Code::exhausted,
                   concat("tensor ", quoted(name), " has more elements than can be read: shape ",
                          shape_text(shape)),
                   concat("at most ", limits::tensor_elements_max, " elements"));
    }
    elements *= dim;
  }
  return elements * info(type).block_bytes;
}

struct Placed {
  StoredTensor tensor;
  uint64_t begin = 0;  ///< from the start of the data
  uint64_t end = 0;
};

Result<Placed> read_entry(const std::string& name, const Json& entry) {
  if (name.empty() || name.size() > limits::safetensors_name_bytes_max) {
    return error(Code::corrupt, concat("a tensor's name has ", name.size(), " bytes"),
                 concat("1 to ", limits::safetensors_name_bytes_max));
  }
  if (!entry.is_object()) {
    return bad_tensor(name, concat("is described by ", entry.kind_name()),
                      "an object with dtype, shape and data_offsets");
  }
  Placed placed;
  placed.tensor.name = name;
  TROUPE_ASSIGN(placed.tensor.type, read_dtype(name, entry));
  TROUPE_ASSIGN(placed.tensor.shape,
                read_numbers(name, entry, "shape", limits::safetensors_dims_max));
  TROUPE_ASSIGN(const auto offsets, read_numbers(name, entry, "data_offsets", 2));
  if (offsets.size() != 2 || offsets[0] > offsets[1]) {
    return bad_tensor(name, "has data_offsets that are no range", "two numbers: begin and end");
  }
  placed.begin = offsets[0];
  placed.end = offsets[1];
  TROUPE_ASSIGN(const uint64_t bytes, needed_bytes(name, placed.tensor.type, placed.tensor.shape));
  if (placed.end - placed.begin != bytes) {
    return bad_tensor(name,
                      concat("has ", placed.end - placed.begin, " bytes where its type ",
                             info(placed.tensor.type).name, " and shape ",
                             shape_text(placed.tensor.shape), " need ", bytes),
                      damaged_file);
  }
  return placed;
}

Result<std::map<std::string, std::string>> read_text_map(const Json& object) {
  if (!object.is_object()) {
    return error(Code::corrupt, concat(metadata_key, " is ", object.kind_name()),
                 "an object of strings");
  }
  std::map<std::string, std::string> texts;
  for (size_t i = 0; i < object.keys().size(); ++i) {
    if (!object.items()[i].is_string()) {
      return error(
          Code::corrupt,
          concat(metadata_key, " has a value that is no string: ", quoted(object.keys()[i])),
          "an object of strings");
    }
    texts[object.keys()[i]] = object.items()[i].text();
  }
  return texts;
}

/// Sorts by place and hands out the bytes: they have to be used up exactly.
Status place(std::vector<Placed>& entries, std::span<const std::byte> data) {
  std::sort(entries.begin(), entries.end(), [](const Placed& a, const Placed& b) {
    return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
  });
  uint64_t reached = 0;
  for (Placed& entry : entries) {
    if (entry.begin != reached) {
      return bad_tensor(entry.tensor.name,
                        concat("begins at byte ", entry.begin, " of the data, ",
                               entry.begin < reached ? "inside another tensor" : "after a gap",
                               " that ends the one before at ", reached),
                        damaged_file);
    }
    if (entry.end > data.size()) {
      return bad_tensor(entry.tensor.name,
                        concat("ends at byte ", entry.end, " of the data, which has ", data.size()),
                        damaged_file);
    }
    reached = entry.end;
    entry.tensor.data = data.subspan(static_cast<size_t>(entry.begin),
                                     static_cast<size_t>(entry.end - entry.begin));
  }
  if (reached != data.size()) {
    return error(
        Code::corrupt,
        concat("the tensors end at byte ", reached, " of the data, which has ", data.size()),
        "every byte belongs to a tensor");
  }
  return {};
}

Result<std::string_view> read_header_text(ByteReader& reader) {
  const auto length = reader.read<uint64_t>();
  if (!length) {
    return error(Code::corrupt, concat("the file has ", reader.remaining(), " bytes"),
                 "a safetensors file begins with the 8-byte length of its header");
  }
  if (*length > reader.remaining()) {
    return error(Code::corrupt,
                 concat("the header's length is ", *length, " where ", reader.remaining(),
                        " bytes are left in the file"),
                 "a safetensors file begins with the 8-byte length of its header");
  }
  if (*length > limits::safetensors_header_bytes_max) {
    return error(Code::exhausted, concat("the header has ", *length, " bytes"),
                 concat("at most ", limits::safetensors_header_bytes_max, " are read"));
  }
  const std::string_view text = *reader.take_text(*length);
  if (!text.starts_with('{')) {
    return error(Code::corrupt, concat("the header begins with ", quoted(text.substr(0, 1))),
                 "the header is a JSON object that begins at byte 8");
  }
  return text;
}

}  // namespace

Result<SafetensorsFile> parse_safetensors(std::span<const std::byte> bytes) {
  ByteReader reader(bytes);
  TROUPE_ASSIGN(const std::string_view text, read_header_text(reader));
  TROUPE_ASSIGN(const Json header, parse_json(text));
  SafetensorsFile file;
  std::vector<Placed> entries;
  for (size_t i = 0; i < header.keys().size(); ++i) {
    if (header.keys()[i] == metadata_key) {
      TROUPE_ASSIGN(file.metadata, read_text_map(header.items()[i]));
      continue;
    }
    if (entries.size() == limits::tensors_max) {
      return error(Code::exhausted, concat("the file has ", header.keys().size(), " tensors"),
                   concat("at most ", limits::tensors_max, " are read"));
    }
    TROUPE_ASSIGN(Placed entry, read_entry(header.keys()[i], header.items()[i]));
    entries.push_back(std::move(entry));
  }
  TROUPE_TRY(place(entries, bytes.subspan(reader.offset())));
  for (Placed& entry : entries) file.tensors.push_back(std::move(entry.tensor));
  return file;
}

}  // namespace troupe::model
