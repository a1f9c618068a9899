#include "model/gguf_fields.hpp"

#include "base/concat.hpp"
#include "model/byte_reader.hpp"

namespace troupe::model {
namespace {

Error wrong_type(std::string_view key, const GgufValue& value, const char* expected) {
  const bool array = value.type == GgufType::array;
  return error(Code::corrupt,
               concat("the metadata key ", key, " has the type ", array ? "array of " : "",
                      name(array ? value.element : value.type)),
               concat(expected, " is expected"));
}

/// The reader has checked that the payload of a scalar has its size.
template <class T>
T scalar(const GgufValue& value) {
  return *ByteReader(value.payload).read<T>();
}

std::optional<int64_t> signed_integer(const GgufValue& value) {
  switch (value.type) {
    case GgufType::i8:
      return scalar<int8_t>(value);
    case GgufType::i16:
      return scalar<int16_t>(value);
    case GgufType::i32:
      return scalar<int32_t>(value);
    case GgufType::i64:
      return scalar<int64_t>(value);
    default:
      return std::nullopt;
  }
}

std::optional<uint64_t> unsigned_integer(const GgufValue& value) {
  switch (value.type) {
    case GgufType::u8:
      return scalar<uint8_t>(value);
    case GgufType::u16:
      return scalar<uint16_t>(value);
    case GgufType::u32:
      return scalar<uint32_t>(value);
    case GgufType::u64:
      return scalar<uint64_t>(value);
    default:
      return std::nullopt;
  }
}

}  // namespace

Result<std::optional<uint64_t>> find_unsigned(const GgufFile& file, std::string_view key) {
  const GgufValue* value = file.value(key);
  if (value == nullptr) return std::optional<uint64_t>();
  if (const auto number = unsigned_integer(*value)) return number;
  const auto number = signed_integer(*value);
  if (!number) return wrong_type(key, *value, "an integer");
  if (*number < 0) {
    return error(Code::corrupt, concat("the metadata key ", key, " is ", *number),
                 "it must not be negative");
  }
  return std::optional(static_cast<uint64_t>(*number));
}

Result<std::optional<double>> find_float(const GgufFile& file, std::string_view key) {
  const GgufValue* value = file.value(key);
  if (value == nullptr) return std::optional<double>();
  if (value->type == GgufType::f32) return std::optional<double>(scalar<float>(*value));
  if (value->type == GgufType::f64) return std::optional<double>(scalar<double>(*value));
  return wrong_type(key, *value, "f32 or f64");
}

Result<std::optional<bool>> find_bool(const GgufFile& file, std::string_view key) {
  const GgufValue* value = file.value(key);
  if (value == nullptr) return std::optional<bool>();
  if (value->type != GgufType::boolean) return wrong_type(key, *value, "boolean");
  return std::optional(scalar<uint8_t>(*value) != 0);
}

Result<std::optional<std::string_view>> find_text(const GgufFile& file, std::string_view key) {
  const GgufValue* value = file.value(key);
  if (value == nullptr) return std::optional<std::string_view>();
  if (value->type != GgufType::string) return wrong_type(key, *value, "string");
  return ByteReader(value->payload).take_text(value->payload.size());
}

Result<std::optional<std::vector<std::string_view>>> find_texts(const GgufFile& file,
                                                                std::string_view key) {
  const GgufValue* value = file.value(key);
  if (value == nullptr) return std::optional<std::vector<std::string_view>>();
  if (value->type != GgufType::array || value->element != GgufType::string) {
    return wrong_type(key, *value, "array of string");
  }
  std::vector<std::string_view> texts;
  texts.reserve(static_cast<size_t>(value->count));
  ByteReader reader(value->payload);
  for (uint64_t i = 0; i < value->count; ++i) {
    texts.push_back(*reader.take_text(*reader.read<uint64_t>()));
  }
  return std::optional(std::move(texts));
}

Result<std::optional<std::vector<int32_t>>> find_integers(const GgufFile& file,
                                                          std::string_view key) {
  const GgufValue* value = file.value(key);
  if (value == nullptr) return std::optional<std::vector<int32_t>>();
  if (value->type != GgufType::array ||
      (value->element != GgufType::i32 && value->element != GgufType::u32)) {
    return wrong_type(key, *value, "array of i32");
  }
  std::vector<int32_t> numbers;
  numbers.reserve(static_cast<size_t>(value->count));
  ByteReader reader(value->payload);
  for (uint64_t i = 0; i < value->count; ++i) numbers.push_back(*reader.read<int32_t>());
  return std::optional(std::move(numbers));
}

Result<std::optional<std::vector<bool>>> find_flags(const GgufFile& file, std::string_view key) {
  const GgufValue* value = file.value(key);
  if (value == nullptr) return std::optional<std::vector<bool>>();
  const bool bytes = value->element == GgufType::boolean;
  const bool words = value->element == GgufType::i32 || value->element == GgufType::u32;
  if (value->type != GgufType::array || !(bytes || words)) {
    return wrong_type(key, *value, "array of bool");
  }
  std::vector<bool> flags;
  flags.reserve(static_cast<size_t>(value->count));
  ByteReader reader(value->payload);
  for (uint64_t i = 0; i < value->count; ++i) {
    const uint32_t flag = bytes ? *reader.read<uint8_t>() : *reader.read<uint32_t>();
    if (flag > 1) {
      return error(Code::corrupt, concat("element ", i, " of the metadata key ", key, " is ", flag),
                   "0 or 1");
    }
    flags.push_back(flag == 1);
  }
  return std::optional(std::move(flags));
}

}  // namespace troupe::model
