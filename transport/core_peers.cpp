// Which path leads to a peer, and the calls that go to the UCX thread.
#include <chrono>
#include <future>
#include <utility>

#include "base/concat.hpp"
#include "base/log.hpp"
#include "transport/core.hpp"
#include "transport/limits.hpp"

namespace troupe::transport {

std::string Transport::Core::address() {
  Address address;
  address.incarnation = options_.incarnation;
  address.host = host_;
  if (shm_) address.shm_worker = shm_->address();
  if (tcp_) address.tcp_worker = tcp_->address();
  if (tcp_) address.data_socket = data_port_->socket();
  thread_.call([&] { address.pool = pool_address_; });
  return encode(address);
}

Status Transport::Core::check_peer(const Address& peer) const {
  if (pool_.region.data == nullptr) {
    return error(Code::failed_precondition, "there is no pool to read into",
                 "call serve_pool before connect");
  }
  if (peer.pool.block_bytes == 0) {
    return error(Code::failed_precondition, "the peer serves no pool");
  }
  if (peer.pool.block_bytes != pool_.block_bytes) {
    return error(Code::failed_precondition,
                 concat("the peer's blocks have ", peer.pool.block_bytes, " bytes, ours ",
                        pool_.block_bytes),
                 "run the same model and KV layout on both ends");
  }
  return {};
}

std::string Transport::Core::why_not_shared_memory(const Address& peer) const {
  if (!shm_) return "shared memory is switched off here";
  if (peer.shm_worker.empty()) return "shared memory is switched off at the peer";
  if (peer.pool.rkey.empty()) return "the peer's pool is not in shared memory";
  return why_not_shared(host_, peer.host);
}

Result<PeerId> Transport::Core::connect_over(const Address& peer, Path path) {
  PeerId id;
  {
    const std::lock_guard lock(mutex_);
    id = next_peer_++;
  }
  auto answer = std::make_shared<std::promise<Status>>();
  auto result = answer->get_future();
  thread_.post([this, id, peer, path, answer] {
    receiver_->connect(id, peer, path, now_us() + options_.connect_timeout_us,
                       [answer](Status status) { answer->set_value(std::move(status)); });
  });
  // The receiver answers by its own deadline.
  TROUPE_TRY(result.get());
  const std::lock_guard lock(mutex_);
  paths_[id] = path;
  return id;
}

Result<PeerId> Transport::Core::connect(std::string_view blob, PathPreference preference) {
  if (thread_.on_thread()) {
    return error(Code::failed_precondition, "connect() was called from a callback");
  }
  TROUPE_ASSIGN(const Address peer, parse_address(blob));
  Status fits;
  thread_.call([&] { fits = check_peer(peer); });
  TROUPE_TRY(std::move(fits));
  if (peer.incarnation == options_.incarnation) return connect_over(peer, Path::same_process);
  std::string obstacle = why_not_shared_memory(peer);
  if (preference != PathPreference::tcp && obstacle.empty()) {
    auto id = connect_over(peer, Path::shared_memory);
    if (id.ok() || preference == PathPreference::shared_memory) return id;
    obstacle = id.error().message();
    log_warning("transport", concat("no shared memory with a peer on this host: ", obstacle));
  }
  if (preference == PathPreference::shared_memory) {
    return error(Code::unsupported, concat("no shared memory with the peer: ", obstacle));
  }
  if (!tcp_ || peer.tcp_worker.empty()) {
    return error(Code::unsupported, concat("no path to the peer: TCP is switched off at ",
                                           tcp_ ? "the peer" : "this end",
                                           preference == PathPreference::tcp ? "" : "; ",
                                           preference == PathPreference::tcp ? "" : obstacle));
  }
  return connect_over(peer, Path::tcp);
}

std::string_view Transport::Core::path(PeerId peer) const {
  const std::lock_guard lock(mutex_);
  const auto found = paths_.find(peer);
  return found == paths_.end() ? std::string_view{} : name(found->second);
}

void Transport::Core::read(PeerId peer, const ReadRequest& request, ReadCallback done) {
  const TimeUs now = now_us();
  thread_.post([this, peer, request, now, done = std::move(done)]() mutable {
    receiver_->read(peer, request, now, now + options_.read_timeout_us, std::move(done));
  });
}

void Transport::Core::cancel_session(uint64_t token) {
  thread_.post([this, token] { receiver_->cancel_session(token); });
}

void Transport::Core::disconnect(PeerId peer) {
  {
    const std::lock_guard lock(mutex_);
    paths_.erase(peer);
  }
  thread_.post([this, peer] { receiver_->disconnect(peer); });
}

}  // namespace troupe::transport
