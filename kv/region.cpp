#include "kv/region.hpp"

#include <sys/mman.h>

#include <cerrno>
#include <system_error>

namespace troupe::kv {

Result<Region> allocate_region(size_t bytes) {
  if (bytes == 0) {
    return error(Code::invalid_argument, "a memory region of 0 bytes was asked for",
                 "give the KV pool room for at least one block");
  }
  void* data = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (data == MAP_FAILED) {
    const std::string cause = std::generic_category().message(errno);
    return error(
        Code::exhausted,
        "the system gave no memory region of " + std::to_string(bytes) + " bytes: " + cause,
        "make the KV pool smaller or free memory on this machine");
  }
  // Blocks are read in long runs; huge pages save TLB misses. Without them all works the same.
  madvise(data, bytes, MADV_HUGEPAGE);
  Region region;
  region.data = static_cast<std::byte*>(data);
  region.bytes = bytes;
  region.keep = std::shared_ptr<void>(data, [bytes](void* mapped) { munmap(mapped, bytes); });
  return region;
}

}  // namespace troupe::kv
