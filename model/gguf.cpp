#include "model/gguf.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <numeric>

#include "base/concat.hpp"
#include "model/byte_reader.hpp"
#include "model/gguf_fields.hpp"
#include "model/gguf_parts.hpp"
#include "model/limits.hpp"
#include "model/quoted.hpp"

namespace troupe::model {
namespace {

// The fewest bytes that a pair (key of one byte, value of one) and a tensor description can take.
constexpr uint64_t pair_bytes_min = 8 + 1 + 4 + 1;
constexpr uint64_t tensor_bytes_min = 8 + 1 + 4 + 8 + 4 + 8;

struct Header {
  uint32_t version = 0;
  uint64_t tensors = 0;
  uint64_t pairs = 0;
};

Result<uint32_t> read_version(ByteReader& reader) {
  const auto magic = reader.take_text(4);
  if (!magic) return truncated("the magic number", reader);
  if (*magic != "GGUF") {
    return error(Code::corrupt, concat("the file begins with ", quoted(*magic)),
                 "a GGUF file begins with \"GGUF\"");
  }
  const auto version = reader.read<uint32_t>();
  if (!version) return truncated("the version", reader);
  if (*version == 2 || *version == 3) return *version;
  if (*version != 0 && (*version & 0xffffu) == 0) {
    return error(Code::unsupported, "the file is a big-endian GGUF",
                 "convert it to little-endian, versions 2 and 3 are read");
  }
  return error(Code::unsupported, concat("the file has GGUF version ", *version),
               "versions 2 and 3 are read");
}

Status check_count(const char* what, uint64_t count, uint64_t limit, uint64_t bytes_min,
                   const ByteReader& reader) {
  if (count > reader.remaining() / bytes_min) {
    return error(Code::corrupt,
                 concat("the header announces ", count, " ", what, " where ", reader.remaining(),
                        " bytes are left in the file"),
                 "the file is truncated or damaged: fetch it again");
  }
  if (count > limit) {
    return error(Code::exhausted, concat("the header announces ", count, " ", what),
                 concat("at most ", limit, " are read"));
  }
  return {};
}

Result<Header> read_header(ByteReader& reader) {
  Header header;
  TROUPE_ASSIGN(header.version, read_version(reader));
  const auto tensors = reader.read<uint64_t>();
  const auto pairs = reader.read<uint64_t>();
  if (!tensors || !pairs) return truncated("the header", reader);
  TROUPE_TRY(check_count("tensors", *tensors, limits::tensors_max, tensor_bytes_min, reader));
  TROUPE_TRY(
      check_count("metadata pairs", *pairs, limits::metadata_pairs_max, pair_bytes_min, reader));
  header.tensors = *tensors;
  header.pairs = *pairs;
  return header;
}

Result<uint64_t> read_alignment(const GgufFile& file) {
  TROUPE_ASSIGN(const auto found, find_unsigned(file, "general.alignment"));
  const uint64_t alignment = found.value_or(limits::alignment_default);
  if (!std::has_single_bit(alignment) || alignment < limits::alignment_min ||
      alignment > limits::alignment_max) {
    return error(
        Code::corrupt, concat("general.alignment is ", alignment),
        concat("a power of two from ", limits::alignment_min, " to ", limits::alignment_max));
  }
  return alignment;
}

}  // namespace

Result<GgufFile> GgufFile::parse(std::span<const std::byte> bytes) {
  if (std::bit_cast<uintptr_t>(bytes.data()) % limits::alignment_min != 0) {
    return error(Code::invalid_argument, "the file's bytes lie at an odd address in memory",
                 concat("an address divisible by ", limits::alignment_min));
  }
  ByteReader reader(bytes);
  GgufFile file;
  TROUPE_ASSIGN(const Header header, read_header(reader));
  file.version_ = header.version;
  TROUPE_ASSIGN(file.pairs_, read_metadata(reader, header.pairs));
  TROUPE_ASSIGN(const auto entries, read_tensor_entries(reader, header.tensors));
  TROUPE_ASSIGN(const uint64_t alignment, read_alignment(file));

  const uint64_t padding = (alignment - reader.offset() % alignment) % alignment;
  std::span<const std::byte> data;
  if (reader.take(padding)) data = bytes.subspan(reader.offset());
  TROUPE_ASSIGN(file.tensors_, place_tensors(entries, data, alignment));

  file.by_name_.resize(file.tensors_.size());
  std::iota(file.by_name_.begin(), file.by_name_.end(), 0u);
  const auto name_of = [&](uint32_t i) { return file.tensors_[i].name; };
  std::sort(file.by_name_.begin(), file.by_name_.end(),
            [&](uint32_t a, uint32_t b) { return name_of(a) < name_of(b); });
  const auto twice =
      std::adjacent_find(file.by_name_.begin(), file.by_name_.end(),
                         [&](uint32_t a, uint32_t b) { return name_of(a) == name_of(b); });
  if (twice != file.by_name_.end()) {
    return error(Code::corrupt, concat("the tensor ", quoted(name_of(*twice)), " occurs twice"),
                 "each name may stand in a file once");
  }
  return file;
}

const GgufTensor* GgufFile::tensor(std::string_view name) const {
  const auto at = std::lower_bound(
      by_name_.begin(), by_name_.end(), name,
      [&](uint32_t index, std::string_view wanted) { return tensors_[index].name < wanted; });
  return at != by_name_.end() && tensors_[*at].name == name ? &tensors_[*at] : nullptr;
}

const GgufValue* GgufFile::value(std::string_view key) const {
  const auto at = std::lower_bound(
      pairs_.begin(), pairs_.end(), key,
      [](const GgufPair& pair, std::string_view wanted) { return pair.first < wanted; });
  return at != pairs_.end() && at->first == key ? &at->second : nullptr;
}

}  // namespace troupe::model
