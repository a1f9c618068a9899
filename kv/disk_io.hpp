// Files in whole disk pages: with O_DIRECT where the file system has it, so that blocks neither
// push other things out of the page cache nor wait in it, and without where it has not. Internal to
// kv/.
#pragma once

#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <span>
#include <string>

#include "base/descriptor.hpp"
#include "base/result.hpp"

namespace troupe::kv {

struct FreeDeleter {
  void operator()(std::byte* bytes) const { std::free(bytes); }
};
/// Whole pages, not initialised.
using AlignedBytes = std::unique_ptr<std::byte, FreeDeleter>;
AlignedBytes aligned_bytes(size_t bytes);

/// Whether O_DIRECT may write from or read into this memory.
bool is_aligned(const std::byte* data, size_t bytes);

/// "cannot read FILE: Input/output error", from errno. Codes: exhausted when the disk is full,
/// not_found, failed_precondition when it exists already, else unavailable.
Error disk_error(const std::string& what);

/// Opens a file of the folder for whole pages.
Result<Descriptor> open_paged(int folder, const std::string& name, int flags);

/// Everything, at the offset, or an error. A read that meets the file's end is corrupt.
Status write_pages(int fd, std::span<iovec> pieces, uint64_t offset, const std::string& name);
Status read_pages(int fd, std::span<iovec> pieces, uint64_t offset, const std::string& name);

}  // namespace troupe::kv
