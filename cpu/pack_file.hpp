// A pack: a model's weights as the kernels read them, kept beside the model, mapped by every
// process that serves it. It spares packing, the digest, and all memory but one copy.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/thread_pool.hpp"
#include "cpu/pack_format.hpp"
#include "cpu/packed_model.hpp"
#include "model/mapped_file.hpp"
#include "model/model.hpp"

namespace troupe::cpu {

class PackFile {
 public:
  /// Maps the file and checks its head and table. Errors: as model::MappedFile::open, decode_head
  /// and decode_table, with the path.
  static Result<std::shared_ptr<const PackFile>> open(const std::string& path);

  /// Reads everything: corrupt where a matrix is not what was written.
  [[nodiscard]] Status verify(ThreadPool& pool) const;

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] const PackHead& head() const { return head_; }
  [[nodiscard]] const std::vector<PackRow>& rows() const { return rows_; }
  [[nodiscard]] const uint8_t* matrix(size_t row) const;

  /// The digest of the weights in `files` (paths), when these are the very files that were packed.
  [[nodiscard]] std::optional<Digest> digest_of(const std::vector<std::string>& files) const;

 private:
  std::string path_;
  std::shared_ptr<const model::MappedFile> file_;
  PackHead head_;
  std::vector<PackRow> rows_;
};

/// Gives load_model() the digest that a pack knows; null: nothing is known.
model::KnownDigest known_digest(std::shared_ptr<const PackFile> pack);

/// Gives the matrices of a pack in their order: where they are mapped, or copies of them.
class PackArena final : public WeightArena {
 public:
  /// With `pool`, which must live as long as matrices are taken, they are copied.
  explicit PackArena(std::shared_ptr<const PackFile> pack, ThreadPool* pool = nullptr)
      : pack_(std::move(pack)), pool_(pool) {}
  [[nodiscard]] bool is_packed() const override { return true; }
  Result<uint8_t*> take(const PackedShape& shape) override;
  /// What the copies lie in: all that is needed once they are made.
  [[nodiscard]] std::shared_ptr<MemoryArena> copies() const { return copies_; }

 private:
  Result<uint8_t*> copy(const uint8_t* from, const PackedShape& shape);

  std::shared_ptr<const PackFile> pack_;
  ThreadPool* pool_;
  std::shared_ptr<MemoryArena> copies_ = std::make_shared<MemoryArena>();
  size_t taken_ = 0;
};

/// The model with its matrices from `options.pack`, mapped or copied as `options.pack_use` says.
/// Errors: failed_precondition (a pack of other weights or for another mode), corrupt, exhausted.
Result<PackedModel> use_pack(std::shared_ptr<const model::Model> model, const CpuOptions& options,
                             ThreadPool& pool);

/// As TROUPE_PACK says; a value that it does not have is logged.
PackUse pack_use(bool decodes);

/// Where the pack of a model lies: "FILE.gguf.pack", or "troupe.pack" in a checkpoint's folder.
std::string pack_path(const std::string& model_path, ComputeMode mode);

/// The pack of a model. Null where there is none, or where it cannot be read, which is logged.
std::shared_ptr<const PackFile> find_pack(const std::string& model_path, ComputeMode mode);

}  // namespace troupe::cpu
