// Memory that peers on this host can read directly. Internal to this folder.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "base/result.hpp"
#include "transport/ucx.hpp"

namespace troupe::transport {

/// At the end of every shared pool, so that a reader finds out whose memory it really opened.
struct MemoryStamp {
  uint64_t magic = 0x504d4154534d5254;
  uint64_t incarnation = 0;
};

/// UCX-allocated shared memory, zeroed; unmapped by the destructor.
class SharedMemory {
 public:
  /// Errors: exhausted when /dev/shm is too small or UCX fell back to memory that peers could only
  /// reach through messages.
  static Result<std::shared_ptr<SharedMemory>> allocate(std::shared_ptr<UcxContext> context,
                                                        size_t bytes, uint64_t incarnation);
  SharedMemory(std::shared_ptr<UcxContext> context, ucp_mem_h handle)
      : context_(std::move(context)), handle_(handle) {}
  ~SharedMemory() { ucp_mem_unmap(context_->handle(), handle_); }
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;

  [[nodiscard]] std::byte* data() const { return data_; }
  [[nodiscard]] const MemoryStamp* stamp() const { return stamp_; }
  [[nodiscard]] const std::string& rkey() const { return rkey_; }

 private:
  Status open(size_t bytes, uint64_t incarnation);

  std::shared_ptr<UcxContext> context_;
  ucp_mem_h handle_;
  std::byte* data_ = nullptr;
  MemoryStamp* stamp_ = nullptr;
  std::string rkey_;
};

}  // namespace troupe::transport
