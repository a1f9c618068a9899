#include "kv/disk_io.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <new>

#include "base/concat.hpp"
#include "kv/segment_format.hpp"

namespace troupe::kv {
namespace {

/// Some file systems take O_DIRECT and then refuse what it asks for.
bool gave_up_direct(int fd) {
  const int flags = ::fcntl(fd, F_GETFL);
  return errno == EINVAL && flags >= 0 && (flags & O_DIRECT) != 0 &&
         ::fcntl(fd, F_SETFL, flags & ~O_DIRECT) == 0;
}

/// Leaves out the first `bytes`.
std::span<iovec> advance(std::span<iovec> pieces, size_t bytes) {
  while (!pieces.empty() && bytes >= pieces.front().iov_len) {
    bytes -= pieces.front().iov_len;
    pieces = pieces.subspan(1);
  }
  if (bytes > 0) {
    pieces.front().iov_base = static_cast<char*>(pieces.front().iov_base) + bytes;
    pieces.front().iov_len -= bytes;
  }
  return pieces;
}

}  // namespace

AlignedBytes aligned_bytes(size_t bytes) {
  auto* memory = static_cast<std::byte*>(std::aligned_alloc(disk_page_bytes, whole_pages(bytes)));
  if (memory == nullptr) throw std::bad_alloc();
  return AlignedBytes(memory);
}

bool is_aligned(const std::byte* data, size_t bytes) {
  return reinterpret_cast<uintptr_t>(data) % disk_page_bytes == 0 && bytes % disk_page_bytes == 0;
}

Error disk_error(const std::string& what) {
  const int number = errno;
  const bool is_full = number == ENOSPC || number == EDQUOT || number == EFBIG;
  Code code = is_full ? Code::exhausted : Code::unavailable;
  if (number == ENOENT) code = Code::not_found;
  if (number == EEXIST) code = Code::failed_precondition;
  return error(code, concat(what, ": ", std::strerror(number)));
}

Result<Descriptor> open_paged(int folder, const std::string& name, int flags) {
  constexpr mode_t private_mode = 0600;
  flags |= O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
  Descriptor file(::openat(folder, name.c_str(), flags | O_DIRECT, private_mode));
  if (!file && errno == EINVAL) {
    // The attempt may have made the file.
    file = Descriptor(::openat(folder, name.c_str(), flags & ~O_EXCL, private_mode));
  }
  if (!file) return disk_error("cannot open " + name);
  return file;
}

Status write_pages(int fd, std::span<iovec> pieces, uint64_t offset, const std::string& name) {
  while (!pieces.empty()) {
    const ssize_t n =
        ::pwritev(fd, pieces.data(), static_cast<int>(pieces.size()), static_cast<off_t>(offset));
    if (n < 0 && (errno == EINTR || gave_up_direct(fd))) continue;
    if (n < 0) return disk_error("cannot write " + name);
    if (n == 0) return error(Code::exhausted, concat("cannot write ", name, ": nothing was taken"));
    offset += static_cast<uint64_t>(n);
    pieces = advance(pieces, static_cast<size_t>(n));
  }
  return {};
}

Status read_pages(int fd, std::span<iovec> pieces, uint64_t offset, const std::string& name) {
  while (!pieces.empty()) {
    const ssize_t n =
        ::preadv(fd, pieces.data(), static_cast<int>(pieces.size()), static_cast<off_t>(offset));
    if (n < 0 && (errno == EINTR || gave_up_direct(fd))) continue;
    if (n < 0) return disk_error("cannot read " + name);
    if (n == 0) return error(Code::corrupt, concat(name, " ends before byte ", offset));
    offset += static_cast<uint64_t>(n);
    pieces = advance(pieces, static_cast<size_t>(n));
  }
  return {};
}

}  // namespace troupe::kv
