#include "tests/sim/reads.hpp"

#include <algorithm>
#include <cstring>

#include "base/concat.hpp"
#include "base/crc32c.hpp"

namespace troupe::sim {
namespace {

constexpr TimeUs timeout_us = 10 * second;
constexpr TimeUs cancel_grace_us = 2 * second;

}  // namespace

PageMemory memory_of(kv::Pool& pool) {
  return {[&pool](kv::PageId page) { return pool.page(page); }, pool.num_pages(),
          pool.layout().block_bytes(),
          [&pool](kv::PageId page) { return pool.references(page) > 0; }};
}

std::string Reads::address(LifeId life) {
  return concat("life ", life);
}

actors::TransportPorts Reads::add(LifeId life, PageMemory memory) {
  workers_[life].memory = std::move(memory);
  actors::TransportPorts ports;
  ports.address = address(life);
  ports.connect = [this, life](const std::string& address, auto over) {
    connect(life, address, std::move(over));
  };
  ports.read = [this, life](transport::PeerId peer, const transport::ReadRequest& request,
                            transport::ReadCallback callback) {
    start(life, static_cast<LifeId>(peer), request, std::move(callback));
  };
  ports.cancel_session = [this, life](uint64_t session) { cancel(life, session); };
  ports.disconnect = [this, life](transport::PeerId peer) {
    workers_[life].peers.erase(static_cast<LifeId>(peer));
  };
  ports.grant = [this, life](uint64_t session, kv::PageId page) {
    workers_[life].granted.insert({session, page});
  };
  ports.revoke_page = [this, life](uint64_t session, kv::PageId page) {
    workers_[life].granted.erase({session, page});
  };
  ports.revoke = [this, life](uint64_t session) {
    auto& granted = workers_[life].granted;
    granted.erase(granted.lower_bound({session, 0}), granted.upper_bound({session, kv::no_page}));
  };
  return ports;
}

size_t Reads::num_granted(LifeId life) const {
  return workers_.at(life).granted.size();
}

size_t Reads::num_running(LifeId reader) const {
  size_t count = 0;
  for (const auto& [id, read] : running_) count += read.reader == reader ? 1 : 0;
  return count;
}

LifeId Reads::dead_peer(LifeId life) const {
  for (const LifeId peer : workers_.at(life).peers) {
    if (!links_.process(peer).alive) return peer;
  }
  return 0;
}

std::string Reads::unheld(LifeId life) const {
  const Worker& worker = workers_.at(life);
  for (const auto& [session, page] : worker.granted) {
    if (!worker.memory.is_held(page)) {
      return concat("page ", page, " is free, but session ", session, " may read it");
    }
  }
  for (const auto& [id, read] : running_) {
    if (read.reader == life && !worker.memory.is_held(read.request.local_page)) {
      return concat("page ", read.request.local_page, " is free while a read writes it");
    }
  }
  return {};
}

void Reads::connect(LifeId from, const std::string& address,
                    std::function<void(Result<transport::PeerId>)> over) {
  const auto to = static_cast<LifeId>(std::stoul(address.substr(address.find(' '))));
  const Process& target = links_.process(to);
  const bool reaches = links_.passes(links_.process(from).slot, target.slot) &&
                       links_.passes(target.slot, links_.process(from).slot);
  if (target.alive && !target.paused && reaches) {
    events_.after(random_.between(100, 5000), [this, over, from, to] {
      if (links_.process(from).alive) workers_[from].peers.insert(to);
      over(transport::PeerId{to});
    });
    return;
  }
  // A dead one's port refuses at once; silence takes the whole time.
  const bool refused = !target.alive && reaches && random_.chance(0.7);
  events_.after(refused ? ms : 5 * second,
                [over] { over(error(Code::unavailable, "the peer's transport does not answer")); });
}

void Reads::start(LifeId reader, LifeId source, const transport::ReadRequest& request,
                  transport::ReadCallback callback) {
  const uint64_t id = ++last_read_;
  running_[id] = {reader, source, request, std::move(callback), events_.now};
  if (random_.chance(faults.silent)) {
    events_.after(timeout_us, [this, id] { end(id, error(Code::timeout, "the read timed out")); });
    return;
  }
  const TimeUs takes = random_.between(50, 3000) + faults.extra_us;
  // Bytes arrive one by one: until the end the page holds a mixture.
  events_.after(random_.between(0, takes), [this, id] {
    const auto found = running_.find(id);
    if (found != running_.end())
      copy(found->second, workers_[found->second.reader].memory.block_bytes / 2);
  });
  events_.after(takes, [this, id] { finish(id); });
}

void Reads::copy(const Read& read, size_t bytes) {
  const Process& source = links_.process(read.source);
  const PageMemory& from = workers_[read.source].memory;
  if (!source.alive || read.request.remote_page >= from.num_pages) return;
  std::memcpy(workers_[read.reader].memory.page(read.request.local_page),
              from.page(read.request.remote_page), bytes);
}

void Reads::finish(uint64_t id) {
  const auto found = running_.find(id);
  if (found == running_.end()) return;
  const Read& read = found->second;
  const Process& source = links_.process(read.source);
  const size_t reader_slot = links_.process(read.reader).slot;
  if (!source.alive) {
    end(id, error(Code::unavailable, "the peer is gone"));
    return;
  }
  if (source.paused || !links_.passes(source.slot, reader_slot)) {
    const TimeUs left = read.started_us + timeout_us - events_.now;
    events_.after(std::max<TimeUs>(left, ms),
                  [this, id] { end(id, error(Code::timeout, "the read timed out")); });
    return;
  }
  // Shared memory is read without asking; over TCP the source looks at its grants.
  const bool asked = (read.reader + read.source) % 2 == 0;
  if (asked && !workers_[read.source].granted.contains(
                   {read.request.session_token, read.request.remote_page})) {
    end(id, error(Code::failed_precondition, "the page is not granted"));
    return;
  }
  if (random_.chance(faults.fail)) {
    end(id, error(Code::unavailable, "the link failed"));
    return;
  }
  const size_t bytes = workers_[read.reader].memory.block_bytes;
  copy(read, bytes);
  std::byte* page = workers_[read.reader].memory.page(read.request.local_page);
  if (random_.chance(faults.wrong_bytes)) page[random_.below(bytes)] ^= std::byte{1};
  if (crc32c({page, bytes}) != read.request.checksum) {
    end(id, error(Code::corrupt, "the block's checksum is wrong"));
    return;
  }
  end(id, transport::ReadDone{asked ? transport::Path::tcp : transport::Path::shared_memory, bytes,
                              events_.now - read.started_us});
}

void Reads::end(uint64_t id, Result<transport::ReadDone> result) {
  const auto found = running_.find(id);
  if (found == running_.end()) return;
  const Read read = std::move(found->second);
  running_.erase(found);
  ++(result ? done : failed);
  if (links_.process(read.reader).alive) read.callback(std::move(result));
}

void Reads::cancel(LifeId reader, uint64_t session) {
  for (const auto& [id, read] : running_) {
    if (read.reader != reader || read.request.session_token != session) continue;
    // Until it says so, it may still write.
    events_.after(random_.between(0, cancel_grace_us), [this, id = id] {
      const auto found = running_.find(id);
      if (found == running_.end()) return;
      copy(found->second, workers_[found->second.reader].memory.block_bytes / 2);
      end(id, error(Code::cancelled, "the session was cancelled"));
    });
  }
}

}  // namespace troupe::sim
