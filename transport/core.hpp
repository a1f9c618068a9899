// What a Transport and the regions that it allocated share. Internal to this folder.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

#include "transport/address.hpp"
#include "transport/counters.hpp"
#include "transport/data_port.hpp"
#include "transport/pool_memory.hpp"
#include "transport/pool_view.hpp"
#include "transport/progress_thread.hpp"
#include "transport/receiver.hpp"
#include "transport/source.hpp"
#include "transport/transport.hpp"

namespace troupe::transport {

class Transport::Core : public std::enable_shared_from_this<Transport::Core> {
 public:
  explicit Core(TransportOptions options) : options_(std::move(options)) {}

  Status start();
  void stop();

  Result<kv::Region> allocate(size_t bytes);
  Status serve_pool(const kv::Region& region, size_t block_bytes, uint32_t num_pages);
  std::string address();
  [[nodiscard]] uint64_t incarnation() const { return options_.incarnation; }
  Result<PeerId> connect(std::string_view blob, PathPreference preference);
  std::string_view path(PeerId peer) const;
  void read(PeerId peer, const ReadRequest& request, ReadCallback done);
  void cancel_session(uint64_t token);
  void disconnect(PeerId peer);
  void grant(uint64_t token, kv::PageId page);
  void revoke(uint64_t token) { grants_.revoke(token); }
  void revoke_page(uint64_t token, kv::PageId page) { grants_.revoke_page(token, page); }
  TransportStats stats();

 private:
  struct Mapping;

  Result<kv::Region> allocate_shared(size_t bytes);
  Status check_peer(const Address& peer) const;
  std::string why_not_shared_memory(const Address& peer) const;
  Result<PeerId> connect_over(const Address& peer, Path path);
  bool idle();

  TransportOptions options_;
  HostIdentity host_ = host_identity();
  Counters counters_;
  GrantTable grants_;
  PoolView pool_;             ///< written once, on the UCX thread
  PoolAddress pool_address_;  ///< the same
  std::unique_ptr<Receiver> receiver_;
  std::unique_ptr<Source> source_;
  std::unique_ptr<DataPort> data_port_;
  // Declared after the engines: UCX lets go of everything before they are destroyed.
  std::unique_ptr<UcxWorker> shm_;
  std::unique_ptr<UcxWorker> tcp_;
  ProgressThread thread_;

  mutable std::mutex mutex_;  ///< guards what follows
  std::map<const std::byte*, std::weak_ptr<SharedMemory>> shared_;
  PeerId next_peer_ = 1;
  std::unordered_map<PeerId, Path> paths_;
};

}  // namespace troupe::transport
