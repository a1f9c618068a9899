#include <algorithm>
#include <optional>

#include "base/concat.hpp"
#include "model/gguf_parts.hpp"
#include "model/limits.hpp"
#include "model/quoted.hpp"

namespace troupe::model {
namespace {

constexpr uint32_t last_type = static_cast<uint32_t>(GgufType::f64);

/// Bytes of a scalar; for strings and arrays the fewest that one can take.
uint64_t bytes_min(GgufType type) {
  switch (type) {
    case GgufType::u8:
    case GgufType::i8:
    case GgufType::boolean:
      return 1;
    case GgufType::u16:
    case GgufType::i16:
      return 2;
    case GgufType::u32:
    case GgufType::i32:
    case GgufType::f32:
      return 4;
    case GgufType::u64:
    case GgufType::i64:
    case GgufType::f64:
    case GgufType::string:
      return 8;
    case GgufType::array:
      return 12;
  }
  return 8;
}

/// Reads one metadata value; `key` is only for messages.
class ValueReader {
 public:
  ValueReader(ByteReader& reader, std::string_view key) : reader_(reader), key_(key) {}

  Result<GgufValue> read() {
    TROUPE_ASSIGN(const GgufType type, read_type());
    return read_value(type, 1);
  }

 private:
  [[nodiscard]] std::string where() const {
    return concat("metadata ", quoted(key_), " at byte ", reader_.offset());
  }

  Result<GgufType> read_type() {
    const auto number = reader_.read<uint32_t>();
    if (!number) return truncated(concat("the type of metadata ", quoted(key_)), reader_);
    if (*number > last_type) {
      return error(Code::corrupt, concat(where(), " has the unknown value type ", *number),
                   concat("GGUF defines the types 0 to ", last_type));
    }
    return static_cast<GgufType>(*number);
  }

  Result<GgufValue> read_value(GgufType type, int depth) {
    if (type == GgufType::array) return read_array(depth);
    uint64_t size = bytes_min(type);
    if (type == GgufType::string) {
      const auto length = reader_.read<uint64_t>();
      if (!length) return truncated(concat("the length of metadata ", quoted(key_)), reader_);
      size = *length;
    }
    const auto payload = reader_.take(size);
    if (!payload) {
      return truncated(concat("metadata ", quoted(key_), " of ", size, " bytes"), reader_);
    }
    if (type == GgufType::boolean && static_cast<uint8_t>(payload->front()) > 1) {
      return error(Code::corrupt, concat(where(), " is a boolean with a value above 1"),
                   "a boolean is 0 or 1");
    }
    return GgufValue{type, type, 1, *payload};
  }

  Result<GgufValue> read_array(int depth) {
    if (depth > limits::array_depth_max) {
      return error(Code::exhausted, concat(where(), " nests arrays too deeply"),
                   concat("at most ", limits::array_depth_max, " levels are read"));
    }
    TROUPE_ASSIGN(const GgufType element, read_type());
    const auto count = reader_.read<uint64_t>();
    if (!count) return truncated(concat("the length of metadata ", quoted(key_)), reader_);
    if (*count > reader_.remaining() / bytes_min(element)) {
      return error(Code::corrupt,
                   concat(where(), " announces ", *count, " elements of type ", name(element),
                          " where ", reader_.remaining(), " bytes are left in the file"),
                   "the file is truncated or damaged: fetch it again");
    }
    const ByteReader start = reader_;
    if (element == GgufType::string || element == GgufType::array || element == GgufType::boolean) {
      for (uint64_t i = 0; i < *count; ++i) TROUPE_TRY(read_value(element, depth + 1));
    } else {
      (void)reader_.take(*count * bytes_min(element));
    }
    ByteReader whole = start;
    const auto payload = whole.take(reader_.offset() - start.offset());
    return GgufValue{GgufType::array, element, *count, *payload};
  }

  ByteReader& reader_;
  std::string_view key_;
};

Result<std::string_view> read_key(ByteReader& reader, uint64_t index) {
  const auto length = reader.read<uint64_t>();
  if (!length) return truncated(concat("the key of metadata pair ", index), reader);
  if (*length == 0 || *length > limits::key_bytes_max) {
    return error(Code::corrupt,
                 concat("the key of metadata pair ", index, " at byte ", reader.offset(),
                        " has a length of ", *length, " bytes"),
                 concat("a key has 1 to ", limits::key_bytes_max, " bytes"));
  }
  const auto key = reader.take_text(*length);
  if (!key) return truncated(concat("the key of metadata pair ", index), reader);
  return *key;
}

}  // namespace

const char* name(GgufType type) {
  constexpr const char* names[] = {"u8",      "i8",     "u16",   "i16", "u32", "i32", "f32",
                                   "boolean", "string", "array", "u64", "i64", "f64"};
  return names[static_cast<uint32_t>(type)];
}

Error truncated(std::string_view what, const ByteReader& reader) {
  return error(Code::corrupt,
               concat("the file ends inside ", what, ": byte ", reader.offset(), " and ",
                      reader.remaining(), " more bytes"),
               "the file is truncated or damaged: fetch it again");
}

Result<std::vector<GgufPair>> read_metadata(ByteReader& reader, uint64_t count) {
  std::vector<GgufPair> pairs;
  for (uint64_t i = 0; i < count; ++i) {
    TROUPE_ASSIGN(const std::string_view key, read_key(reader, i));
    TROUPE_ASSIGN(const GgufValue value, ValueReader(reader, key).read());
    pairs.emplace_back(key, value);
  }
  const auto by_key = [](const GgufPair& a, const GgufPair& b) { return a.first < b.first; };
  std::sort(pairs.begin(), pairs.end(), by_key);
  const auto same = [](const GgufPair& a, const GgufPair& b) { return a.first == b.first; };
  const auto twice = std::adjacent_find(pairs.begin(), pairs.end(), same);
  if (twice != pairs.end()) {
    return error(Code::corrupt, concat("the metadata key ", quoted(twice->first), " occurs twice"),
                 "each key may stand in a file once");
  }
  return pairs;
}

}  // namespace troupe::model
