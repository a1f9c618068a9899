#include "model/gguf_shards.hpp"

#include <algorithm>
#include <utility>

#include "base/concat.hpp"
#include "model/gguf_fields.hpp"
#include "model/gguf_table.hpp"
#include "model/limits.hpp"
#include "model/mapped_file.hpp"

namespace troupe::model {
namespace {

constexpr size_t digits = 5;

Error in_path(const std::string& path, Error failure) {
  if (!failure.what.starts_with(path)) failure.what = concat(path, ": ", failure.what);
  return failure;
}

std::string five_digits(uint64_t number) {
  std::string text = std::to_string(number);
  return text.size() < digits ? std::string(digits - text.size(), '0') + text : text;
}

/// What a file says about the set that it belongs to.
struct Split {
  uint64_t count = 1;
  uint64_t number = 0;  ///< from 0
  uint64_t tensors = 0;
};

Result<Split> read_split(const GgufFile& file) {
  Split split;
  TROUPE_ASSIGN(const auto count, find_unsigned(file, "split.count"));
  TROUPE_ASSIGN(const auto number, find_unsigned(file, "split.no"));
  TROUPE_ASSIGN(const auto tensors, find_unsigned(file, "split.tensors.count"));
  // A count of 0 stands in files that were merged.
  split.count = std::max<uint64_t>(count.value_or(1), 1);
  split.number = number.value_or(0);
  split.tensors = tensors.value_or(0);
  if (split.count > limits::shards_max) {
    return error(Code::exhausted, concat("split.count is ", split.count),
                 concat("at most ", limits::shards_max, " files are read"));
  }
  if (split.number >= split.count) {
    return error(Code::corrupt, concat("split.no is ", split.number, " of ", split.count, " files"),
                 "files are numbered from 0");
  }
  return split;
}

struct OpenShard {
  GgufFile file;
  Split split;
};

/// Adds the tensors of one file to the set.
Result<OpenShard> add_shard(const std::string& path, GgufSet& set) {
  TROUPE_ASSIGN(const auto mapping, MappedFile::open(path));
  auto parsed = GgufFile::parse(mapping->bytes());
  if (!parsed) return in_path(path, std::move(parsed).error());
  OpenShard shard;
  shard.file = std::move(*parsed);
  auto split = read_split(shard.file);
  if (!split) return in_path(path, std::move(split).error());
  shard.split = *split;
  auto table = gguf_table(shard.file);
  if (!table) return in_path(path, std::move(table).error());
  table->keep(mapping);
  if (Status merged = set.tensors.merge(std::move(*table)); !merged) {
    return in_path(path, std::move(merged).error());
  }
  set.files.push_back(path);
  set.file_bytes += mapping->bytes().size();
  return shard;
}

Status add_all(const std::string& given, uint64_t count, GgufSet& set) {
  uint64_t announced = 0;
  for (uint64_t i = 0; i < count; ++i) {
    const std::string path = shard_path(given, i + 1, count);
    TROUPE_ASSIGN(OpenShard shard, add_shard(path, set));
    if (shard.split.count != count || shard.split.number != i) {
      return error(Code::corrupt,
                   concat(path, ": the file says that it is number ", shard.split.number, " of ",
                          shard.split.count, ", counted from 0"),
                   concat("number ", i, " of ", count, ", as its name says"));
    }
    if (i == 0) {
      announced = shard.split.tensors;
      set.first = std::move(shard.file);
    }
  }
  if (announced != 0 && announced != set.tensors.all().size()) {
    return error(Code::corrupt,
                 concat(given, ": the ", count, " files have ", set.tensors.all().size(),
                        " tensors, split.tensors.count is ", announced),
                 "fetch the files again");
  }
  return {};
}

}  // namespace

std::string shard_path(const std::string& path, uint64_t number, uint64_t count) {
  const std::string ending = concat("-of-", five_digits(count), ".gguf");
  const size_t tail = ending.size() + digits + 1;
  if (path.size() <= tail || !path.ends_with(ending)) return {};
  const std::string_view middle = std::string_view(path).substr(path.size() - tail, digits + 1);
  const bool numbered =
      middle[0] == '-' &&
      std::all_of(middle.begin() + 1, middle.end(), [](char c) { return c >= '0' && c <= '9'; });
  if (!numbered) return {};
  return concat(path.substr(0, path.size() - tail), "-", five_digits(number), ending);
}

Result<GgufSet> open_gguf(const std::string& path) {
  GgufSet set;
  TROUPE_ASSIGN(OpenShard given, add_shard(path, set));
  if (given.split.count == 1) {
    set.first = std::move(given.file);
    return set;
  }
  if (shard_path(path, given.split.number + 1, given.split.count) != path) {
    return error(Code::invalid_argument,
                 concat(path, ": the file is number ", given.split.number + 1, " of ",
                        given.split.count, ", but its name does not say so"),
                 concat("files of one model are named PREFIX-", five_digits(given.split.number + 1),
                        "-of-", five_digits(given.split.count), ".gguf and lie in one folder"));
  }
  set = {};
  TROUPE_TRY(add_all(path, given.split.count, set));
  return set;
}

}  // namespace troupe::model
