// Endpoints to sources, and what happens to reads when one fails or is late.
#include <utility>

#include "base/concat.hpp"
#include "base/log.hpp"
#include "transport/limits.hpp"
#include "transport/receiver.hpp"

namespace troupe::transport {

void Receiver::connect(PeerId id, const Address& address, Path path, TimeUs deadline,
                       std::function<void(Status)> done) {
  if (stopped_) {
    done(error(Code::cancelled, "the transport is shutting down"));
    return;
  }
  Peer& peer = peers_[id];
  peer.address = address;
  peer.path = path;
  if (Status ok = open(peer); !ok) {
    peers_.erase(id);
    done(std::move(ok));
  } else if (path == Path::shared_memory) {
    probe(id, peer, deadline, std::move(done));
  } else {
    done({});
  }
}

Status Receiver::open(Peer& peer) {
  if (peer.endpoint != nullptr || peer.path == Path::same_process) return {};
  const bool direct = peer.path == Path::shared_memory;
  UcxWorker& worker = direct ? *shm_ : *tcp_;
  if (!direct) port_->name_peer(peer.address.data_socket, peer.address.incarnation);
  TROUPE_ASSIGN(peer.endpoint,
                worker.connect(direct ? peer.address.shm_worker : peer.address.tcp_worker));
  peer.generation = ++last_generation_;
  if (!direct) return {};
  const ucs_status_t status =
      ucp_ep_rkey_unpack(peer.endpoint->handle, peer.address.pool.rkey.data(), &peer.rkey);
  if (status != UCS_OK) {
    peer.rkey = nullptr;
    close(peer);
    return ucx_error(Code::unavailable, "the peer's memory cannot be opened", status);
  }
  return {};
}

void Receiver::close(Peer& peer) {
  peer.mapped = nullptr;
  if (peer.rkey != nullptr) ucp_rkey_destroy(std::exchange(peer.rkey, nullptr));
  if (peer.endpoint != nullptr) {
    // Gets may be queued to our pages: those must not run any more. Over TCP nothing writes them.
    const bool direct = peer.path == Path::shared_memory;
    (direct ? shm_ : tcp_)->close(std::move(peer.endpoint), !direct);
  }
}

void Receiver::fail_peer(Peer& peer, PeerId id, const Error& why) {
  close(peer);
  peer.current.clear();
  std::vector<Read*> ours;
  for (auto& [read_id, read] : reads_) {
    if (read->peer == id) ours.push_back(read.get());
  }
  const TimeUs latest = now_us() + limits::close_grace_us;
  for (Read* read : ours) {
    if (read->posted > 0 && read->deadline > latest) set_deadline(*read, latest);
    give_up(*read, why);
  }
}

void Receiver::handle_down() {
  for (auto& [id, peer] : peers_) {
    if (peer.endpoint == nullptr || !peer.endpoint->down) continue;
    ++counters_.peers_lost;
    fail_peer(peer, id, ucx_error(Code::unavailable, "the peer is gone", peer.endpoint->why));
  }
}

void Receiver::handle_deadlines(TimeUs now) {
  while (!deadlines_.empty() && deadlines_.begin()->first <= now) {
    Read& read = *reads_.at(deadlines_.begin()->second);
    const auto peer = peers_.find(read.peer);
    const bool linked = peer != peers_.end() && peer->second.endpoint != nullptr;
    const bool silent =
        linked && read.moving && read.path == Path::tcp && peer->second.last_heard <= read.started;
    const bool stuck = read.posted > 0 && linked;
    const Error late =
        error(Code::timeout, concat("page ", read.request.remote_page, " did not arrive within ",
                                    (now - read.started) / 1000, " ms"));
    if (read.posted > 0 && !linked) {
      log_warning("transport", "UCX did not end a get after its endpoint was closed");
      read.posted = 0;
    }
    if (read.posted == 0) {
      give_up(read, late);
    } else {
      // Only a forced close makes UCX let go of the page.
      if (!read.verdict) read.verdict = late;
      set_deadline(read, now + limits::close_grace_us);
    }
    // A link that was silent all the time is cut or dead: the next read makes a new one.
    if (linked && (silent || stuck)) {
      fail_peer(peer->second, peer->first,
                error(Code::unavailable,
                      "the link to the peer was closed because it was silent or stuck"));
    }
  }
}

bool Receiver::start_waiting(Peer& peer) {
  const uint32_t moving_max = peer.path == Path::tcp ? limits::wants_in_flight_max : 1;
  bool active = false;
  while (peer.moving < moving_max) {
    Read* read = next_waiting(peer);
    if (read == nullptr) break;
    active = true;
    if (Status ok = open(peer); !ok) {
      give_up(*read, std::move(ok).error());
      continue;
    }
    read->moving = true;
    ++peer.moving;
    if (peer.path == Path::tcp) {
      want(peer, *read);
    } else if (peer.path == Path::shared_memory) {
      peer.current.push_back(read->id);
    } else {
      copy_same_process(*read);
      break;  // others get their turn between two blocks
    }
  }
  return active;
}

void Receiver::disconnect(PeerId id) {
  const auto found = peers_.find(id);
  if (found == peers_.end()) return;
  fail_peer(found->second, id, error(Code::cancelled, "the peer was disconnected"));
  peers_.erase(found);
}

void Receiver::stop() {
  stopped_ = true;
  while (!peers_.empty()) disconnect(peers_.begin()->first);
  for (auto& probe : probes_) {
    if (!probe->done) continue;
    std::exchange(probe->done, nullptr)(error(Code::cancelled, "the transport is shutting down"));
  }
}

}  // namespace troupe::transport
