#include "model/weights_digest.hpp"

#include <algorithm>
#include <string_view>
#include <vector>

#include "base/thread_pool.hpp"
#include "model/limits.hpp"
#include "model/mapped_file.hpp"

namespace troupe::model {
namespace {

/// A tensor of either format, as far as the digest goes.
struct Entry {
  std::string_view name;
  uint64_t type = 0;
  std::span<const uint64_t> dims;
  std::span<const std::byte> data;    ///< empty where `read_row` makes the rows
  const ReadRow* read_row = nullptr;  ///< may be called by several threads
  uint64_t rows = 0;
  size_t row_bytes = 0;
};

/// Bytes of one entry that are hashed by themselves: [begin, end) of its data, or of its rows.
struct Piece {
  size_t entry = 0;
  uint64_t begin = 0, end = 0;
  Digest digest{};
};

void cut(const Entry& entry, size_t index, std::vector<Piece>& pieces) {
  const bool by_rows = entry.read_row != nullptr;
  const uint64_t size = by_rows ? entry.rows : entry.data.size();
  const uint64_t step = by_rows
                            ? std::max<uint64_t>(1, limits::digest_piece_bytes / entry.row_bytes)
                            : limits::digest_piece_bytes;
  for (uint64_t begin = 0; begin < size; begin += step) {
    pieces.push_back({index, begin, std::min(size, begin + step), {}});
  }
}

void hash_piece(const Entry& entry, Piece& piece) {
  if (entry.read_row == nullptr) {
    piece.digest = sha256(entry.data.subspan(piece.begin, piece.end - piece.begin));
    return;
  }
  Sha256 hash;
  std::vector<std::byte> row(entry.row_bytes);
  for (uint64_t i = piece.begin; i < piece.end; ++i) {
    (*entry.read_row)(static_cast<uint32_t>(i), row.data());
    hash.update(row);
  }
  piece.digest = hash.finish();
}

void hash_pieces(const std::vector<Entry>& entries, std::vector<Piece>& pieces) {
  const int threads =
      static_cast<int>(std::clamp<size_t>(pieces.size(), 1, limits::digest_threads_max));
  ThreadPool pool(std::min(threads, ThreadPool::threads_of(0)));
  pool.run(
      [&](int part, int parts) {
        const auto [begin, end] =
            ThreadPool::share(static_cast<int64_t>(pieces.size()), part, parts);
        for (int64_t i = begin; i < end; ++i) {
          Piece& piece = pieces[static_cast<size_t>(i)];
          hash_piece(entries[piece.entry], piece);
        }
      },
      ThreadPool::parts_per_thread_max);
}

Digest digest_of(std::string_view kind, const std::vector<Entry>& entries) {
  std::vector<Piece> pieces;
  for (size_t i = 0; i < entries.size(); ++i) cut(entries[i], i, pieces);
  hash_pieces(entries, pieces);
  Sha256 hash;
  hash.update(kind);
  hash.update_u64(entries.size());
  auto piece = pieces.begin();
  for (size_t i = 0; i < entries.size(); ++i) {
    const Entry& entry = entries[i];
    hash.update_u64(entry.name.size());
    hash.update(entry.name);
    hash.update_u64(entry.type);
    hash.update_u64(entry.dims.size());
    for (const uint64_t dim : entry.dims) hash.update_u64(dim);
    hash.update_u64(entry.read_row == nullptr ? entry.data.size() : entry.rows * entry.row_bytes);
    for (; piece != pieces.end() && piece->entry == i; ++piece) {
      hash.update(std::as_bytes(std::span(piece->digest)));
    }
  }
  return hash.finish();
}

}  // namespace

Digest weights_digest(const GgufFile& file) {
  std::vector<Entry> entries;
  entries.reserve(file.tensors().size());
  for (const GgufTensor& tensor : file.tensors()) {
    will_read(tensor.data);
    entries.push_back({.name = tensor.name,
                       .type = static_cast<uint64_t>(tensor.type),
                       .dims = tensor.dims,
                       .data = tensor.data});
  }
  std::sort(entries.begin(), entries.end(),
            [](const Entry& a, const Entry& b) { return a.name < b.name; });
  return digest_of("troupe weights of a GGUF file 2", entries);
}

Digest weights_digest(const TensorTable& table) {
  std::vector<Entry> entries;
  entries.reserve(table.all().size());
  for (const auto& [name, tensor] : table.all()) {
    will_read(tensor.data);
    Entry entry{.name = name,
                .type = static_cast<uint64_t>(tensor.type),
                .dims = tensor.shape,
                .data = tensor.data};
    if (tensor.read_row != nullptr) {
      const TensorTypeInfo& type = info(tensor.type);
      entry.read_row = tensor.read_row.get();
      entry.rows = 1;
      for (size_t i = 0; i + 1 < tensor.shape.size(); ++i) entry.rows *= tensor.shape[i];
      entry.row_bytes = tensor.shape.back() / type.block_size * type.block_bytes;
    }
    entries.push_back(entry);
  }
  return digest_of("troupe weights of a table 2", entries);
}

}  // namespace troupe::model
