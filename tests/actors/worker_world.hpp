// Workers on simulated devices, joined in memory: messages wait in one queue, reads copy pages from
// pool to pool and check them, clients keep resume points. Everything happens when a test says so.
#pragma once

#include <doctest/doctest.h>

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "actors/limits.hpp"
#include "actors/worker_logic.hpp"
#include "base/concat.hpp"
#include "base/crc32c.hpp"
#include "engine/sim_backend.hpp"
#include "schemas/convert.hpp"
#include "tests/actors/world_client.hpp"
#include "tests/actors/world_store.hpp"
#include "tests/support/sim_world.hpp"

namespace troupe::testing {

/// Draws every token of world_tokenizer(), broken characters among them.
inline engine::SimOptions world_device() {
  engine::SimOptions options;
  options.vocab_size = static_cast<uint32_t>(world_tokenizer()->size());
  return options;
}

struct WorkerSpec {
  engine::SimOptions device = world_device();
  engine::EngineLimits limits{};
  uint32_t pages = 256;
  std::string fingerprint = std::string(32, 'f');
  std::shared_ptr<const text::Tokenizer> tokenizer = world_tokenizer();
  TimeUs page_lease_us = transport::limits::lease_us;
};

class WorkerWorld;

class WorldWorker {
 public:
  WorldWorker(WorkerWorld& world, std::string worker_name, size_t worker_index, WorkerSpec spec)
      : name(std::move(worker_name)),
        index(worker_index),
        backend(spec.device),
        pool(kv::allocate_region(spec.pages * backend.kv_layout().block_bytes()).value(),
             backend.kv_layout()),
        blocks(pool, events),
        engine((attach(), backend), pool, blocks, spec.limits),
        logic({engine, pool, blocks, spec.tokenizer, spec.fingerprint, name, spec.page_lease_us},
              ports(world)) {}

  /// Nothing is held but blocks that are only cached.
  void check_all_free() const {
    CHECK_MESSAGE(pool.num_free() + blocks.size() == pool.num_pages(), name);
    CHECK_MESSAGE(blocks.num_evictable() == blocks.size(), name);
    CHECK_MESSAGE(logic.load(0).sessions() == 0, name);
    CHECK_MESSAGE(logic.load(0).running() == 0, name);
    CHECK_MESSAGE(logic.load(0).waiting() == 0, name);
    CHECK_MESSAGE(granted.empty(), name);
  }

  std::string name;
  size_t index;
  engine::SimBackend backend;
  kv::EventLog events;
  kv::Pool pool;
  kv::LocalIndex blocks;
  engine::Engine engine;
  actors::WorkerLogic logic;
  std::optional<engine::StepPlan> running;
  std::set<std::pair<uint64_t, kv::PageId>> granted;
  std::map<uint64_t, std::string> sources;  ///< session -> worker that it reads from
  std::set<uint64_t> cancelled_reads;
  int reads_under_way = 0;
  bool dead = false;

 private:
  void attach() { REQUIRE(backend.attach_pool(pool.region()).ok()); }
  actors::WorkerPorts ports(WorkerWorld& world);
  actors::HandoverPorts handover_ports(WorkerWorld& world);
};

class WorkerWorld {
 public:
  explicit WorkerWorld(uint32_t seed = 0) : random_(seed), shuffled_(seed != 0) {}

  WorldWorker& add_worker(const std::string& name, WorkerSpec spec = {}) {
    workers.push_back(std::make_unique<WorldWorker>(*this, name, workers.size(), std::move(spec)));
    return *workers.back();
  }
  WorldWorker& worker(const std::string& name) {
    for (auto& one : workers) {
      if (one->name == name) return *one;
    }
    FAIL("no worker " << name);
    return *workers.front();
  }
  WorldClient& add_client(const WorldRequest& request) {
    auto client = std::make_unique<WorldClient>();
    client->key = 1000 + clients.size();
    client->request_id = 5000 + clients.size();
    client->resume = request.resume_point(client->request_id);
    clients.push_back(std::move(client));
    return *clients.back();
  }

  /// A store that all workers know.
  WorldStore& add_store(size_t bytes) {
    store = std::make_unique<WorldStore>(bytes, store_ports());
    for (auto& one : workers) one->logic.offers().set_store(store_key);
    return *store;
  }

  /// A store on what the disk holds, in the place of the one before.
  WorldStore& add_disk_store(size_t bytes, SimDisk& disk, uint64_t disk_bytes) {
    store_disk = &disk;
    for (auto& one : workers) one->logic.offers().set_store(std::nullopt);
    std::erase_if(mail_, [](const auto& letter) { return letter.first == store_name; });
    store = std::make_unique<WorldStore>(bytes, store_ports(), disk, disk_bytes);
    for (auto& one : workers) one->logic.offers().set_store(store_key);
    return *store;
  }

  /// Begins the client's next attempt; an empty prefill name: the decode worker does it all. Who
  /// computes reads the first fetch_blocks blocks from fetch_from.
  uint64_t start(WorldClient& client, const std::string& decode, const std::string& prefill = "",
                 bool send_prefill_too = true) {
    v1::Placement placement;
    placement.mutable_decode()->set_name(decode);
    placement.mutable_prefill()->set_name(prefill);
    if (fetch_blocks > 0) placement.mutable_fetch()->set_name(fetch_from);
    placement.set_fetch_blocks(fetch_blocks);
    const uint64_t session = ++last_session_;
    const v1::StartRequest started = client.resume.next_attempt(placement, session);
    if (!prefill.empty() && send_prefill_too) send_prefill(client, prefill, session);
    send(decode, [this, &client, decode, started] {
      worker(decode).logic.on_start(client.key, started, now);
    });
    return session;
  }
  void send_prefill(WorldClient& client, const std::string& prefill, uint64_t session) {
    v1::PrefillRequest request;
    request.set_request_id(client.request_id);
    request.set_attempt(client.resume.attempt());
    request.set_session(session);
    request.set_root(client.resume.prepared().root());
    const auto tokens = client.resume.prefill_tokens();
    request.mutable_tokens()->Add(tokens.begin(), tokens.end());
    if (fetch_blocks > 0) request.mutable_fetch()->set_name(fetch_from);
    request.set_fetch_blocks(fetch_blocks);
    request.set_fetch_session(++last_session_);
    send(prefill, [this, prefill, request, client_key = client.key] {
      prefill_statuses.push_back(worker(prefill).logic.on_prefill(client_key, request, now));
    });
  }
  void cancel(WorldClient& client, const std::string& decode) {
    const uint32_t attempt = client.resume.attempt();
    send(decode, [this, &client, decode, attempt] {
      worker(decode).logic.on_cancel(client.request_id, attempt);
    });
  }

  /// A message to a worker; one that died gets nothing any more.
  void send(const std::string& to, std::function<void()> run) {
    mail_.emplace_back(to, std::move(run));
  }

  /// One event: a message arrives, or a device finishes its step. False when nothing is left.
  bool step() {
    std::vector<WorldWorker*> busy;
    for (auto& one : workers) {
      if (!one->dead && one->running) busy.push_back(one.get());
    }
    if (mail_.empty() && busy.empty()) return false;
    const size_t choices = busy.size() + (mail_.empty() ? 0 : 1);
    const size_t chosen = shuffled_ ? random_() % choices : choices - 1;
    if (chosen < busy.size()) {
      finish_step(*busy[chosen]);
      return true;
    }
    deliver_one();
    return true;
  }
  /// Messages only: no device finishes a step.
  void deliver_mail() {
    while (!mail_.empty()) deliver_one();
  }
  void run() {
    for (int steps = 0; step(); ++steps) REQUIRE(steps < 200000);
  }
  template <class Until>
  void run_until(const Until& until) {
    for (int steps = 0; !until() && step(); ++steps) REQUIRE(steps < 200000);
  }

  void tick(TimeUs later) {
    now += later;
    if (store && !store->dead && !store->stopped) store->logic.on_tick(now);
    for (auto& one : workers) {
      if (one->dead) continue;
      one->logic.on_tick(now);
      one->logic.pump();
    }
  }

  /// The process is gone; the others hear of it.
  void kill_store() {
    store->dead = true;
    for (auto& one : workers) {
      for (const auto& [session, source] : std::map(one->sources)) {
        if (source == store_name) one->logic.handovers().on_source_down(session, now);
      }
      one->logic.on_peer_down(store_key);
      one->logic.pump();
    }
  }
  /// A stopped store goes on with what was sent to it meanwhile.
  void wake_store() {
    store->stopped = false;
    for (auto& run : std::exchange(kept_, {})) mail_.emplace_back(store_name, std::move(run));
  }
  void do_disk_job(const kv::DiskJob& job) {
    if (disk_stands) {
      disk_jobs_.push_back(job);
      return;
    }
    store->logic.on_disk_done({job.id, store_disk->run(job), 100}, now);
  }
  void disk_goes_on() {
    disk_stands = false;
    for (const kv::DiskJob& job : std::exchange(disk_jobs_, {})) do_disk_job(job);
  }
  void kill(const std::string& name) {
    WorldWorker& gone = worker(name);
    gone.dead = true;
    if (store && !store->dead) store->logic.on_peer_down(gone.index);
    for (auto& one : workers) {
      if (one->dead) continue;
      for (const auto& [session, source] : std::map(one->sources)) {
        if (source == name) one->logic.handovers().on_source_down(session, now);
      }
      one->logic.on_peer_down(gone.index);
      one->logic.pump();
    }
  }

  void check_all_free() const {
    for (const auto& one : workers) {
      if (!one->dead) one->check_all_free();
    }
    if (store && !store->dead) store->check_idle();
  }

  void take_deltas(actors::PeerKey key, WorldWorker& from, const v1::Deltas& deltas) {
    for (auto& client : clients) {
      if (client->key != key) continue;
      client->inbox.push_back(deltas);
      for (const v1::Delta& delta : deltas.deltas()) {
        if (delta.request_id() != client->request_id) continue;
        const auto accepted = client->resume.accept(delta);
        CHECK_FALSE(accepted.gap);
        if (accepted.failure) client->failures.push_back(*accepted.failure);
      }
      if (client->acks) acknowledge(*client, from.name, deltas.number());
    }
  }
  void acknowledge(WorldClient& client, const std::string& to, uint64_t number) {
    send(to, [this, key = client.key, to, number] {
      worker(to).logic.on_deltas_ack(key, number, now);
    });
  }

  Result<transport::ReadDone> copy(std::byte* to, const std::byte* from, size_t bytes,
                                   const transport::ReadRequest& request) {
    now += 5;
    std::copy_n(from, bytes, to);
    if (crc32c({to, bytes}) != request.checksum) return error(Code::corrupt, "bad checksum");
    return transport::ReadDone{transport::Path::shared_memory, bytes, 5};
  }
  Result<transport::ReadDone> read_from_store(WorldWorker& reader,
                                              const transport::ReadRequest& request) {
    if (reader.cancelled_reads.contains(request.session_token)) {
      return error(Code::cancelled, "cancelled");
    }
    if (store->dead) return error(Code::unavailable, "the peer is gone");
    if (!store->granted.contains({request.session_token, request.remote_page})) {
      return error(Code::failed_precondition, "the page is not granted");
    }
    return copy(reader.pool.page(request.local_page), store->page(request.remote_page),
                reader.pool.layout().block_bytes(), request);
  }
  Result<transport::ReadDone> read_into_store(const WorldWorker& source,
                                              const transport::ReadRequest& request) {
    if (store->cancelled_reads.contains(request.session_token)) {
      return error(Code::cancelled, "cancelled");
    }
    if (source.dead) return error(Code::unavailable, "the peer is gone");
    if (!source.granted.contains({request.session_token, request.remote_page})) {
      return error(Code::failed_precondition, "the page is not granted");
    }
    return copy(store->page(request.local_page), source.pool.page(request.remote_page),
                source.pool.layout().block_bytes(), request);
  }

  /// Reads as the transport does: granted pages only, checksum verified, bytes copied.
  Result<transport::ReadDone> read(WorldWorker& reader, WorldWorker& source,
                                   const transport::ReadRequest& request, uint32_t block_index) {
    if (reader.cancelled_reads.contains(request.session_token)) {
      return error(Code::cancelled, "cancelled");
    }
    if (source.dead) return error(Code::unavailable, "the peer is gone");
    if (!source.granted.contains({request.session_token, request.remote_page})) {
      return error(Code::failed_precondition, "the page is not granted");
    }
    const size_t bytes = source.pool.layout().block_bytes();
    std::byte* page = reader.pool.page(request.local_page);
    std::copy_n(source.pool.page(request.remote_page), bytes, page);
    if (read_fault && read_fault(block_index)) page[3] ^= std::byte{1};
    if (crc32c({page, bytes}) != request.checksum) return error(Code::corrupt, "bad checksum");
    return transport::ReadDone{transport::Path::shared_memory, bytes, 5};
  }

  TimeUs now = 1'000'000;
  std::vector<std::unique_ptr<WorldWorker>> workers;
  std::vector<std::unique_ptr<WorldClient>> clients;
  std::unique_ptr<WorldStore> store;
  SimDisk* store_disk = nullptr;
  bool disk_stands = false;             ///< its jobs wait until it goes on
  uint32_t fetch_blocks = 0;            ///< what placements say from now on
  std::string fetch_from = store_name;  ///< the same
  std::vector<Status> prefill_statuses;
  std::function<bool(uint32_t block_index)> read_fault;

 private:
  friend class WorldWorker;
  actors::StorePorts store_ports();
  void deliver_one() {
    auto [to, run] = std::move(mail_.front());
    mail_.pop_front();
    if (to == store_name) {
      if (store->stopped) {
        kept_.push_back(std::move(run));
      } else if (!store->dead) {
        run();
      }
      return;
    }
    if (worker(to).dead) return;
    run();
    worker(to).logic.pump();
  }
  void finish_step(WorldWorker& one) {
    engine::StepPlan plan = std::move(*one.running);
    one.running.reset();
    auto ticket = one.backend.submit(std::move(plan));
    auto result = ticket ? one.backend.wait(*ticket) : Result<engine::StepResult>(ticket.error());
    now += 100;
    one.logic.on_step_done(std::move(result), now);
    one.logic.pump();
  }

  std::mt19937 random_;
  bool shuffled_;
  uint64_t last_session_ = 0;
  std::deque<std::pair<std::string, std::function<void()>>> mail_;
  std::vector<std::function<void()>> kept_;  ///< for a stopped store
  std::vector<kv::DiskJob> disk_jobs_;       ///< of a disk that stands
};

}  // namespace troupe::testing

#include "tests/actors/world_ports.hpp"
