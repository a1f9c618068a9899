#include "transport/pool_memory.hpp"

#include <sys/statvfs.h>

#include <new>

#include "base/concat.hpp"
#include "transport/limits.hpp"

namespace troupe::transport {
namespace {

constexpr size_t page_bytes = 4096;

Status check_shm_space(size_t bytes) {
  struct statvfs info {};
  if (statvfs("/dev/shm", &info) != 0) {
    return error(Code::exhausted, "/dev/shm cannot be read", "mount a tmpfs there");
  }
  const uint64_t free_bytes = uint64_t{info.f_bavail} * info.f_frsize;
  if (free_bytes < bytes) {
    return error(Code::exhausted,
                 concat("/dev/shm has ", free_bytes, " bytes free, the pool needs ", bytes),
                 "give the container more, e.g. --shm-size, or choose a smaller pool");
  }
  return {};
}

}  // namespace

Result<std::shared_ptr<SharedMemory>> SharedMemory::allocate(std::shared_ptr<UcxContext> context,
                                                             size_t bytes, uint64_t incarnation) {
  const size_t usable = (bytes + page_bytes - 1) / page_bytes * page_bytes;
  const size_t total = usable + page_bytes;
  TROUPE_TRY(check_shm_space(total));
  ucp_mem_map_params_t params{};
  params.field_mask = UCP_MEM_MAP_PARAM_FIELD_LENGTH | UCP_MEM_MAP_PARAM_FIELD_FLAGS |
                      UCP_MEM_MAP_PARAM_FIELD_ADDRESS;
  params.address = nullptr;
  params.length = total;
  params.flags = UCP_MEM_MAP_ALLOCATE;
  ucp_mem_h handle = nullptr;
  if (const ucs_status_t s = ucp_mem_map(context->handle(), &params, &handle); s != UCS_OK) {
    return ucx_error(Code::exhausted, concat("no ", total, " bytes of shared memory"), s);
  }
  auto memory = std::make_shared<SharedMemory>(std::move(context), handle);
  TROUPE_TRY(memory->open(usable, incarnation));
  return memory;
}

Status SharedMemory::open(size_t bytes, uint64_t incarnation) {
  ucp_mem_attr_t attributes{};
  attributes.field_mask = UCP_MEM_ATTR_FIELD_ADDRESS | UCP_MEM_ATTR_FIELD_LENGTH;
  if (const ucs_status_t s = ucp_mem_query(handle_, &attributes); s != UCS_OK) {
    return ucx_error(Code::internal, "shared memory cannot be queried", s);
  }
  void* key = nullptr;
  size_t key_bytes = 0;
  if (const ucs_status_t s = ucp_rkey_pack(context_->handle(), handle_, &key, &key_bytes);
      s != UCS_OK) {
    return ucx_error(Code::internal, "shared memory has no key", s);
  }
  rkey_.assign(static_cast<const char*>(key), key_bytes);
  ucp_rkey_buffer_release(key);
  if (rkey_.size() < limits::direct_rkey_bytes_min || rkey_.size() > limits::rkey_bytes_max) {
    return error(Code::exhausted,
                 concat("UCX gave memory that peers cannot read directly (a key of ", rkey_.size(),
                        " bytes)"));
  }
  data_ = static_cast<std::byte*>(attributes.address);
  stamp_ = new (data_ + bytes) MemoryStamp;
  stamp_->incarnation = incarnation;
  return {};
}

}  // namespace troupe::transport
