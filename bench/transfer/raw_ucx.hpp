// What UCX alone does with the same memory, transports and sizes as our transfers: no sessions, no
// checksums, one thread. Two processes that share a socket.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "transport/pool_memory.hpp"
#include "transport/ucx.hpp"

namespace troupe::bench {

/// The end that has blocks.
class RawSource {
 public:
  /// Offers `bytes` of shared memory over the socket. Ends the process when UCX refuses.
  RawSource(int socket, size_t bytes);
  /// Does what the other end asks for, until it is gone.
  void serve();

 private:
  void send_all(size_t piece_bytes);

  int socket_;
  size_t bytes_;
  std::unique_ptr<transport::UcxWorker> shm_, tcp_;
  std::shared_ptr<transport::SharedMemory> memory_;
  std::unique_ptr<transport::Endpoint> reader_;
};

/// The end that wants them, in memory of its own.
class RawReader {
 public:
  RawReader(int socket, std::byte* to, size_t bytes);
  ~RawReader();
  RawReader(const RawReader&) = delete;
  RawReader& operator=(const RawReader&) = delete;

  /// Gets [offset, offset + length) through shared memory; returns when it is there.
  void get(size_t offset, size_t length);
  /// Lets the source send everything in active messages over TCP; returns when it is there.
  void receive_all(size_t piece_bytes);

 private:
  int socket_;
  std::byte* to_;
  size_t bytes_;
  size_t arrived_ = 0;
  uint64_t from_ = 0;
  std::unique_ptr<transport::UcxWorker> shm_, tcp_;
  std::unique_ptr<transport::Endpoint> source_;
  ucp_rkey_h key_ = nullptr;
};

/// Says why and ends the process.
[[noreturn]] void give_up(const std::string& what);

}  // namespace troupe::bench
