// Shared memory: the peer's pool is mapped and copied from, a piece at a time; gets, which only
// copy, serve until it is, and where it cannot be.
#include <utility>

#include "base/concat.hpp"
#include "transport/limits.hpp"
#include "transport/receiver.hpp"

namespace troupe::transport {

void Receiver::probe(PeerId id, Peer& peer, TimeUs deadline, std::function<void(Status)> done) {
  auto probe = std::make_unique<Probe>();
  probe->peer = id;
  probe->deadline = deadline;
  probe->done = std::move(done);
  ucp_request_param_t params{};
  params.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA;
  params.user_data = probe.get();
  params.cb.send = [](void* request, ucs_status_t status, void* user_data) {
    auto& ended = *static_cast<Probe*>(user_data);
    ended.finished = true;
    ended.status = status;
    ucp_request_free(request);
  };
  const ucs_status_ptr_t request =
      ucp_get_nbx(peer.endpoint->handle, &probe->stamp, sizeof probe->stamp,
                  peer.address.pool.stamp, peer.rkey, &params);
  if (!UCS_PTR_IS_PTR(request)) {
    probe->finished = true;
    probe->status = UCS_PTR_STATUS(request);
  }
  probes_.push_back(std::move(probe));
}

void Receiver::handle_probes(TimeUs now) {
  for (size_t i = 0; i < probes_.size();) {
    Probe& probe = *probes_[i];
    const bool late = !probe.finished && now >= probe.deadline;
    if (!probe.finished && !late) {
      ++i;
      continue;
    }
    Status result;
    const auto found = peers_.find(probe.peer);
    if (late) {
      result = error(Code::timeout, "the peer's shared memory did not answer");
    } else if (probe.status != UCS_OK) {
      result =
          ucx_error(Code::unavailable, "the peer's shared memory cannot be read", probe.status);
    } else if (found == peers_.end() || probe.stamp.magic != MemoryStamp{}.magic ||
               probe.stamp.incarnation != found->second.address.incarnation) {
      result = error(Code::unavailable, "the shared memory found is not the peer's",
                     "the peer has restarted: ask for its new address");
    }
    if (result.ok()) map_pool(found->second);
    if (!result.ok() && probe.done) disconnect(probe.peer);
    if (probe.done) std::exchange(probe.done, nullptr)(std::move(result));
    if (probe.finished) {
      probes_.erase(probes_.begin() + static_cast<std::ptrdiff_t>(i));
    } else {
      probe.deadline = INT64_MAX;  // answered; stays until UCX lets go of it
      ++i;
    }
  }
}

bool Receiver::copy_pieces(Peer& peer) {
  bool active = false;
  for (int budget = limits::shm_pieces_per_turn; budget > 0 && !peer.current.empty(); --budget) {
    Read* read = find(peer.current.front());
    if (read == nullptr) {
      peer.current.pop_front();
      continue;
    }
    if (read->posted > 0) break;  // wiring up: UCX calls back
    const uint64_t index = read->pieces.size() - read->pieces_left;
    if (read->pieces_left == 1) peer.current.pop_front();
    if (peer.mapped != nullptr) {
      const uint64_t page = uint64_t{read->request.remote_page} * pool_.block_bytes;
      take_piece(*read, index, peer.mapped + page + index * limits::shm_piece_bytes);
    } else {
      get_piece(peer, *read, index);
    }
    active = true;
  }
  return active;
}

void Receiver::map_pool(Peer& peer) {
  void* base = nullptr;
  if (peer.rkey == nullptr) return;
  if (ucp_rkey_ptr(peer.rkey, peer.address.pool.base, &base) == UCS_OK) {
    peer.mapped = static_cast<const std::byte*>(base);
  }
}

void Receiver::get_piece(Peer& peer, Read& read, uint64_t index) {
  const uint64_t offset = index * limits::shm_piece_bytes;
  const uint64_t length = piece_length(pool_.block_bytes, piece_bytes(Path::shared_memory), offset);
  const uint64_t from =
      peer.address.pool.base + uint64_t{read.request.remote_page} * pool_.block_bytes + offset;
  auto piece = std::make_unique<Piece>(Piece{this, read.id, index});
  ucp_request_param_t params{};
  params.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA;
  params.user_data = piece.get();
  params.cb.send = [](void* request, ucs_status_t status, void* user_data) {
    const std::unique_ptr<Piece> ended(static_cast<Piece*>(user_data));
    ucp_request_free(request);
    Read* target = ended->receiver->find(ended->read);
    if (target == nullptr) return;
    --target->posted;
    if (status == UCS_OK) {
      ended->receiver->piece_arrived(*target, ended->index);
    } else {
      ended->receiver->give_up(*target, ucx_error(Code::unavailable, "a get failed", status));
    }
  };
  const ucs_status_ptr_t request =
      ucp_get_nbx(peer.endpoint->handle, pool_.page(read.request.local_page) + offset, length, from,
                  peer.rkey, &params);
  if (UCS_PTR_IS_PTR(request)) {
    ++read.posted;
    [[maybe_unused]] const Piece* owned = piece.release();
  } else if (request == nullptr) {
    map_pool(peer);
    piece_arrived(read, index);
  } else {
    give_up(read, ucx_error(Code::unavailable, "a get failed", UCS_PTR_STATUS(request)));
  }
}

}  // namespace troupe::transport
