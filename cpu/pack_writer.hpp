// Makes a pack.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/descriptor.hpp"
#include "base/thread_pool.hpp"
#include "cpu/pack_format.hpp"
#include "model/model.hpp"

namespace troupe::cpu {

/// Places in a file that has no name until it is finished: whoever is interrupted leaves nothing.
class PackWriter final : public WeightArena {
 public:
  /// In the folder of `path`. Errors: unavailable, failed_precondition (not allowed).
  static Result<std::shared_ptr<PackWriter>> create(const std::string& path);
  ~PackWriter() override;

  /// Errors: exhausted (the disk is full).
  Result<uint8_t*> take(const PackedShape& shape) override;

  /// Writes table and head and gives the file its name, in place of one that has it already.
  /// `matrices`, `table_offset` and `table_checksum` of `head` are set here.
  Status finish(PackHead head);

  [[nodiscard]] uint64_t matrices() const { return rows_.size(); }
  [[nodiscard]] uint64_t file_bytes() const { return end_; }

 private:
  struct Part {
    std::byte* bytes = nullptr;
    uint64_t offset = 0;  ///< in the file
    size_t size = 0;
  };
  explicit PackWriter(std::string path) : path_(std::move(path)) {}
  Status grow(size_t bytes);
  Status put(std::span<const std::byte> bytes, uint64_t offset);
  Status give_name();

  std::string path_;
  Descriptor file_;
  std::vector<Part> parts_;
  std::vector<PackRow> rows_;
  uint64_t end_ = pack_head_bytes;  ///< bytes that are taken
};

struct PackSummary {
  std::string path;
  uint64_t matrices = 0;
  uint64_t bytes = 0;  ///< of the file
};

/// Packs a model for `mode` into `path`. Errors: as pack_model and PackWriter.
Result<PackSummary> write_pack(std::shared_ptr<const model::Model> model, ComputeMode mode,
                               const std::string& path, ThreadPool& pool);

}  // namespace troupe::cpu
