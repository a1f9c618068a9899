#include "transport/transport.hpp"

#include "transport/core.hpp"

namespace troupe::transport {

const char* name(Path path) {
  switch (path) {
    case Path::same_process:
      return "same_process";
    case Path::shared_memory:
      return "shared_memory";
    case Path::tcp:
      break;
  }
  return "tcp";
}

Result<std::unique_ptr<Transport>> Transport::start(TransportOptions options) {
  auto core = std::make_shared<Core>(std::move(options));
  TROUPE_TRY(core->start());
  return std::unique_ptr<Transport>(new Transport(std::move(core)));
}

Transport::Transport(std::shared_ptr<Core> core) : core_(std::move(core)) {}
Transport::~Transport() {
  core_->stop();
}

Result<kv::Region> Transport::allocate(size_t bytes) {
  return core_->allocate(bytes);
}

Status Transport::serve_pool(const kv::Region& region, size_t block_bytes, uint32_t num_pages) {
  return core_->serve_pool(region, block_bytes, num_pages);
}

std::string Transport::address() const {
  return core_->address();
}
uint64_t Transport::incarnation() const {
  return core_->incarnation();
}

Result<PeerId> Transport::connect(std::string_view address, PathPreference preference) {
  return core_->connect(address, preference);
}

std::string_view Transport::path(PeerId peer) const {
  return core_->path(peer);
}

void Transport::read(PeerId peer, const ReadRequest& request, ReadCallback done) {
  core_->read(peer, request, std::move(done));
}

void Transport::cancel_session(uint64_t token) {
  core_->cancel_session(token);
}
void Transport::disconnect(PeerId peer) {
  core_->disconnect(peer);
}
void Transport::grant(uint64_t token, kv::PageId page) {
  core_->grant(token, page);
}
void Transport::revoke(uint64_t token) {
  core_->revoke(token);
}

void Transport::revoke_page(uint64_t token, kv::PageId page) {
  core_->revoke_page(token, page);
}
TransportStats Transport::stats() const {
  return core_->stats();
}

}  // namespace troupe::transport
