#include "cpu/pack_writer.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>

#include "base/concat.hpp"
#include "base/crc32c.hpp"
#include "cpu/packed_model.hpp"
#include "model/files_identity.hpp"

namespace troupe::cpu {
namespace {

constexpr mode_t file_mode = 0644;
constexpr uint64_t page_bytes = 4096;

Error file_error(const std::string& what, int number) {
  const Code code = number == ENOSPC || number == EDQUOT || number == EFBIG ? Code::exhausted
                    : number == EACCES || number == EPERM || number == EROFS
                        ? Code::failed_precondition
                        : Code::unavailable;
  return error(code, concat(what, ": ", std::generic_category().message(number)),
               code == Code::exhausted ? "free space, or --output on another disk"
                                       : "--output says where else the pack may be written");
}

}  // namespace

Result<std::shared_ptr<PackWriter>> PackWriter::create(const std::string& path) {
  std::shared_ptr<PackWriter> writer(new PackWriter(path));
  const auto folder = std::filesystem::absolute(path).parent_path();
  writer->file_ = Descriptor(::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, file_mode));
  if (!writer->file_) return file_error(concat("cannot make a file in ", folder.string()), errno);
  return writer;
}

PackWriter::~PackWriter() {
  for (const Part& part : parts_) ::munmap(part.bytes, part.size);
}

Status PackWriter::grow(size_t bytes) {
  Part part;
  part.offset = end_ / page_bytes * page_bytes;
  part.size = std::max(bytes + (end_ - part.offset), arena_region_bytes);
  // Room on the disk first: a write through a mapping has no other way to say that there is none
  // than to kill the process.
  const int failed = ::posix_fallocate(file_.get(), static_cast<off_t>(part.offset),
                                       static_cast<off_t>(part.size));
  if (failed != 0) return file_error(concat("cannot write ", path_), failed);
  void* mapped = ::mmap(nullptr, part.size, PROT_READ | PROT_WRITE, MAP_SHARED, file_.get(),
                        static_cast<off_t>(part.offset));
  if (mapped == MAP_FAILED) return file_error(concat("cannot map ", path_), errno);
  part.bytes = static_cast<std::byte*>(mapped);
  parts_.push_back(part);
  return {};
}

Result<uint8_t*> PackWriter::take(const PackedShape& shape) {
  const size_t bytes = whole_lines(shape.bytes);
  if (parts_.empty() || parts_.back().offset + parts_.back().size - end_ < bytes) {
    TROUPE_TRY(grow(bytes));
  }
  rows_.push_back({shape, end_, 0});
  auto* place = reinterpret_cast<uint8_t*>(parts_.back().bytes + (end_ - parts_.back().offset));
  end_ += bytes;
  return place;
}

Status PackWriter::put(std::span<const std::byte> bytes, uint64_t offset) {
  while (!bytes.empty()) {
    const ssize_t written =
        ::pwrite(file_.get(), bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return file_error(concat("cannot write ", path_), written < 0 ? errno : EIO);
    bytes = bytes.subspan(static_cast<size_t>(written));
    offset += static_cast<uint64_t>(written);
  }
  return {};
}

Status PackWriter::give_name() {
  const std::string open_file = concat("/proc/self/fd/", file_.get());
  const std::string beside = concat(path_, ".new-", ::getpid());
  if (::linkat(AT_FDCWD, open_file.c_str(), AT_FDCWD, beside.c_str(), AT_SYMLINK_FOLLOW) != 0) {
    return file_error(concat("cannot name ", beside), errno);
  }
  if (::rename(beside.c_str(), path_.c_str()) != 0) {
    const int number = errno;
    ::unlink(beside.c_str());
    return file_error(concat("cannot name ", path_), number);
  }
  return {};
}

Status PackWriter::finish(PackHead head) {
  auto part = parts_.begin();
  for (PackRow& row : rows_) {
    while (row.offset >= part->offset + part->size ||
           row.offset + row.shape.bytes > part->offset + part->size) {
      ++part;
    }
    row.checksum = crc32c(std::span(part->bytes + (row.offset - part->offset), row.shape.bytes));
  }
  const auto table = encode_table(rows_);
  head.matrices = rows_.size();
  head.table_offset = end_;
  head.table_checksum = crc32c(table);
  TROUPE_TRY(put(table, end_));
  end_ += table.size();
  if (::ftruncate(file_.get(), static_cast<off_t>(end_)) != 0) {
    return file_error(concat("cannot write ", path_), errno);
  }
  TROUPE_TRY(put(encode_head(head), 0));
  if (::fsync(file_.get()) != 0) return file_error(concat("cannot write ", path_), errno);
  return give_name();
}

Result<PackSummary> write_pack(std::shared_ptr<const model::Model> model, ComputeMode mode,
                               const std::string& path, ThreadPool& pool) {
  PackHead head;
  head.mode = mode;
  head.weights = model->weights_digest;
  TROUPE_ASSIGN(head.files, model::files_identity(model->files));
  TROUPE_ASSIGN(const std::shared_ptr<PackWriter> writer, PackWriter::create(path));
  TROUPE_TRY(pack_model(std::move(model), mode, pool, writer));
  TROUPE_TRY(writer->finish(head));
  return PackSummary{path, writer->matrices(), writer->file_bytes()};
}

}  // namespace troupe::cpu
