#include "transport/receiver.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/concat.hpp"
#include "base/copy_crc32c.hpp"
#include "base/crc32c.hpp"
#include "transport/limits.hpp"

namespace troupe::transport {

uint32_t Receiver::piece_bytes(Path path) const {
  return path == Path::tcp ? limits::tcp_piece_bytes
                           : static_cast<uint32_t>(limits::shm_piece_bytes);
}

Status Receiver::check(PeerId peer, const ReadRequest& request) const {
  if (stopped_) return error(Code::cancelled, "the transport is shutting down");
  const auto found = peers_.find(peer);
  if (found == peers_.end()) {
    return error(Code::invalid_argument,
                 concat("read from peer ", peer, ", which is not connected"));
  }
  if (request.local_page >= pool_.num_pages) {
    return error(Code::invalid_argument, concat("read into page ", request.local_page,
                                                " of a pool of ", pool_.num_pages, " pages"));
  }
  if (request.remote_page >= found->second.address.pool.num_pages) {
    return error(Code::invalid_argument,
                 concat("read of page ", request.remote_page, " of a peer's pool of ",
                        found->second.address.pool.num_pages, " pages"));
  }
  if (reads_.size() >= limits::reads_max) {
    return error(Code::exhausted, concat("more than ", limits::reads_max, " reads at one time"));
  }
  return {};
}

void Receiver::read(PeerId peer_id, const ReadRequest& request, TimeUs started, TimeUs deadline,
                    ReadCallback done) {
  ++counters_.reads_started;
  if (Status ok = check(peer_id, request); !ok) {
    ++counters_.reads_failed;
    finished_.emplace_back(std::move(done), std::move(ok).error());
    return;
  }
  Peer& peer = peers_.at(peer_id);
  auto read = std::make_unique<Read>();
  read->id = next_read_++;
  read->peer = peer_id;
  read->path = peer.path;
  read->request = request;
  read->started = started;
  read->deadline = deadline;
  read->done = std::move(done);
  read->pieces_left = num_pieces(pool_.block_bytes, piece_bytes(peer.path));
  read->pieces.assign(read->pieces_left, 0);
  deadlines_.emplace(deadline, read->id);
  auto& queue = peer.waiting[request.session_token];
  if (queue.empty()) peer.turns.push_back(request.session_token);
  queue.push_back(read->id);
  reads_.emplace(read->id, std::move(read));
}

Receiver::Read* Receiver::find(ReadId id) {
  const auto found = reads_.find(id);
  return found == reads_.end() ? nullptr : found->second.get();
}

Receiver::Read* Receiver::next_waiting(Peer& peer) {
  while (!peer.turns.empty()) {
    const uint64_t token = peer.turns.front();
    peer.turns.pop_front();
    auto& queue = peer.waiting[token];
    Read* read = nullptr;
    while (read == nullptr && !queue.empty()) {
      read = find(queue.front());  // nothing: it was cancelled or was late
      queue.pop_front();
    }
    if (queue.empty()) {
      peer.waiting.erase(token);
    } else {
      peer.turns.push_back(token);
    }
    if (read != nullptr) return read;
  }
  return nullptr;
}

void Receiver::take_piece(Read& read, uint64_t index, const std::byte* from) {
  const uint32_t step = piece_bytes(read.path);
  const uint64_t offset = index * step;
  const uint64_t length = piece_length(pool_.block_bytes, step, offset);
  std::byte* to = pool_.page(read.request.local_page) + offset;
  if (read.checked != index || from == to) {
    if (from != to) std::memcpy(to, from, length);
  } else {
    const bool large = pool_.block_bytes >= limits::streamed_block_bytes_min;
    read.crc = copy_crc32c(to, {from, length}, large ? CopyTo::memory : CopyTo::cache, read.crc);
    ++read.checked;
  }
  piece_arrived(read, index);
}

void Receiver::piece_arrived(Read& read, uint64_t index) {
  read.pieces[index] = 1;
  --read.pieces_left;
  const uint32_t step = piece_bytes(read.path);
  const std::byte* page = pool_.page(read.request.local_page);
  // While the piece is still in the cache; pieces that overtook others wait for them.
  while (read.checked < read.pieces.size() && read.pieces[read.checked] != 0) {
    const uint64_t offset = read.checked * step;
    read.crc = crc32c({page + offset, piece_length(pool_.block_bytes, step, offset)}, read.crc);
    ++read.checked;
  }
  if (read.verdict) {
    if (read.posted == 0) finish(read, *read.verdict);
    return;
  }
  if (read.pieces_left > 0 || read.posted > 0) return;
  if (read.crc != read.request.checksum) {
    finish(read,
           error(Code::corrupt,
                 concat("page ", read.request.remote_page, " arrived over ", name(read.path),
                        " with checksum ", read.crc, ", announced was ", read.request.checksum),
                 "the block counts as a miss: compute it again"));
    return;
  }
  finish(read, ReadDone{read.path, pool_.block_bytes, now_us() - read.started});
}

void Receiver::give_up(Read& read, Error why) {
  if (!read.verdict) read.verdict = std::move(why);
  if (read.posted == 0) {
    const Error verdict = *read.verdict;
    finish(read, verdict);
  }
}

void Receiver::finish(Read& read, Result<ReadDone> result) {
  if (result.ok()) {
    ++counters_.reads_done;
    counters_.bytes_by_path[static_cast<size_t>(result->path)] += result->bytes;
  } else {
    ++counters_.reads_failed;
    const Code code = result.error().code;
    if (code == Code::corrupt) ++counters_.checksum_failures;
    if (code == Code::timeout) ++counters_.reads_timed_out;
    if (code == Code::cancelled) ++counters_.reads_cancelled;
  }
  if (read.moving) {
    if (const auto peer = peers_.find(read.peer); peer != peers_.end()) --peer->second.moving;
  }
  finished_.emplace_back(std::move(read.done), std::move(result));
  deadlines_.erase({read.deadline, read.id});
  reads_.erase(read.id);
}

void Receiver::set_deadline(Read& read, TimeUs deadline) {
  deadlines_.erase({read.deadline, read.id});
  read.deadline = deadline;
  deadlines_.emplace(deadline, read.id);
}

void Receiver::cancel_session(uint64_t token) {
  std::vector<Read*> ours;
  for (auto& [id, read] : reads_) {
    if (read->request.session_token == token) ours.push_back(read.get());
  }
  const TimeUs latest = now_us() + limits::cancel_grace_us;
  for (Read* read : ours) {
    if (read->posted > 0 && read->deadline > latest) set_deadline(*read, latest);
    give_up(*read, error(Code::cancelled, "the session was cancelled"));
  }
}

void Receiver::copy_same_process(Read& read) {
  const std::byte* from = pool_.page(read.request.remote_page);
  // The last piece ends the read.
  const uint64_t count = read.pieces.size();
  for (uint64_t i = 0; i < count; ++i) take_piece(read, i, from + i * limits::shm_piece_bytes);
}

bool Receiver::turn(TimeUs now) {
  handle_down();
  handle_deadlines(now);
  handle_probes(now);
  bool active = false;
  for (auto& [id, peer] : peers_) {
    active |= start_waiting(peer);
    active |= copy_pieces(peer);
  }
  auto finished = std::exchange(finished_, {});
  for (auto& [done, result] : finished) done(std::move(result));
  return active || !finished.empty();
}

TimeUs Receiver::next_deadline() const {
  TimeUs next = deadlines_.empty() ? INT64_MAX : deadlines_.begin()->first;
  for (const auto& probe : probes_) {
    if (!probe->finished) next = std::min(next, probe->deadline);
  }
  return next;
}

}  // namespace troupe::transport
