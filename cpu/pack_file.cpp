#include "cpu/pack_file.hpp"

#include <atomic>
#include <cstring>
#include <filesystem>

#include "base/clock.hpp"
#include "base/concat.hpp"
#include "base/crc32c.hpp"
#include "base/log.hpp"
#include "base/memory.hpp"
#include "base/settings.hpp"
#include "cpu/packing_report.hpp"
#include "model/files_identity.hpp"

namespace troupe::cpu {

Result<std::shared_ptr<const PackFile>> PackFile::open(const std::string& path) {
  auto pack = std::make_shared<PackFile>();
  pack->path_ = path;
  TROUPE_ASSIGN(pack->file_, model::MappedFile::open(path));
  const auto in_file = [&](Error failure) {
    failure.what = concat(path, ": ", failure.what);
    return failure;
  };
  auto head = decode_head(pack->file_->bytes());
  if (!head) return in_file(std::move(head).error());
  pack->head_ = *head;
  auto rows = decode_table(pack->file_->bytes(), *head);
  if (!rows) return in_file(std::move(rows).error());
  pack->rows_ = std::move(*rows);
  return std::shared_ptr<const PackFile>(std::move(pack));
}

const uint8_t* PackFile::matrix(size_t row) const {
  return reinterpret_cast<const uint8_t*>(file_->bytes().data()) + rows_[row].offset;
}

Status PackFile::verify(ThreadPool& pool) const {
  model::will_read(file_->bytes());
  std::atomic<size_t> next{0}, wrong{rows_.size()};
  pool.run([&](int, int) {
    for (size_t i = next++; i < rows_.size(); i = next++) {
      const auto bytes = file_->bytes().subspan(rows_[i].offset, rows_[i].shape.bytes);
      if (crc32c(bytes) != rows_[i].checksum) wrong = i;
    }
  });
  if (wrong == rows_.size()) return {};
  return error(
      Code::corrupt,
      concat(path_, ": the checksum of matrix ", wrong.load(), " of ", rows_.size(), " is wrong"),
      "make it again with troupe pack");
}

std::optional<Digest> PackFile::digest_of(const std::vector<std::string>& files) const {
  const auto identity = model::files_identity(files);
  if (!identity || *identity != head_.files) return std::nullopt;
  return head_.weights;
}

model::KnownDigest known_digest(std::shared_ptr<const PackFile> pack) {
  if (!pack) return {};
  return [pack = std::move(pack)](const auto& files) { return pack->digest_of(files); };
}

Result<uint8_t*> PackArena::take(const PackedShape& shape) {
  if (taken_ == pack_->rows().size() || pack_->rows()[taken_].shape != shape) {
    return error(Code::corrupt,
                 concat(pack_->path(), ": matrix ", taken_, " of ", pack_->rows().size(),
                        " is not of ", shape.rows, " x ", shape.cols),
                 "make it again with troupe pack");
  }
  const uint8_t* mapped = pack_->matrix(taken_++);
  if (pool_ != nullptr) return copy(mapped, shape);
  // Nobody writes where everything is packed.
  return const_cast<uint8_t*>(mapped);
}

Result<uint8_t*> PackArena::copy(const uint8_t* from, const PackedShape& shape) {
  TROUPE_ASSIGN(uint8_t* const to, copies_->take(shape));
  pool_->run([&](int part, int parts) {
    const auto [begin, end] = ThreadPool::share(static_cast<int64_t>(shape.bytes), part, parts);
    std::memcpy(to + begin, from + begin, static_cast<size_t>(end - begin));
  });
  return to;
}

Result<PackedModel> use_pack(std::shared_ptr<const model::Model> model, const CpuOptions& options,
                             ThreadPool& pool) {
  const std::shared_ptr<const PackFile>& pack = options.pack;
  if (pack->head().mode != options.mode || pack->head().weights != model->weights_digest) {
    return error(Code::failed_precondition,
                 concat(pack->path(), " is of other weights or for another mode"),
                 "make it again with troupe pack");
  }
  const bool copies = options.pack_use == PackUse::copy;
  const uint64_t bytes = pack->head().table_offset;
  const TimeUs started_us = now_us();
  if (copies) TROUPE_TRY(check_weights_fit(bytes));
  TROUPE_TRY(pack->verify(pool));
  const auto arena = std::make_shared<PackArena>(pack, copies ? &pool : nullptr);
  TROUPE_ASSIGN(PackedModel packed, pack_model(std::move(model), options.mode, pool, arena));
  // Neither the mapping nor the pool is held on to for what was copied.
  if (copies) packed.arena = arena->copies();
  log_info("weights", concat(bytes_text(bytes), copies ? " copied" : " mapped", " from ",
                             pack->path(), " in ", (now_us() - started_us) / 1000, " ms"));
  return packed;
}

PackUse pack_use(bool decodes) {
  const PackUse usual = decodes ? PackUse::copy : PackUse::map;
  const auto wanted = setting("TROUPE_PACK");
  if (!wanted) return usual;
  if (*wanted == "off") return PackUse::off;
  if (*wanted == "map") return PackUse::map;
  if (*wanted == "copy") return PackUse::copy;
  log_warning("weights", concat("TROUPE_PACK is \"", *wanted, "\", expected map, copy or off"));
  return usual;
}

std::string pack_path(const std::string& model_path, ComputeMode mode) {
  std::error_code ignored;
  const bool is_folder = std::filesystem::is_directory(model_path, ignored);
  const std::string name =
      is_folder ? (std::filesystem::path(model_path) / "troupe").string() : model_path;
  return concat(name, mode == ComputeMode::exact ? ".exact.pack" : ".pack");
}

std::shared_ptr<const PackFile> find_pack(const std::string& model_path, ComputeMode mode) {
  auto pack = PackFile::open(pack_path(model_path, mode));
  if (!pack) {
    if (pack.error().code != Code::not_found) {
      log_warning("weights", concat("the pack is not used: ", pack.error().message()));
    }
    return nullptr;
  }
  return *pack;
}

}  // namespace troupe::cpu
