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
#include "actors/resume_point.hpp"
#include "actors/worker_logic.hpp"
#include "base/concat.hpp"
#include "base/crc32c.hpp"
#include "engine/sim_backend.hpp"
#include "schemas/convert.hpp"
#include "tests/support/sim_world.hpp"
#include "tests/text/small_tokenizer.hpp"

namespace troupe::testing {

inline std::shared_ptr<const text::Tokenizer> world_tokenizer() {
  static const auto tokenizer = *text::Tokenizer::make(text::small_spec());
  return tokenizer;
}

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

/// What a test asks for.
struct WorldRequest {
  std::vector<int32_t> prompt;
  uint32_t max_tokens = 24;
  uint32_t choices = 1;
  std::vector<std::string> stop{};
  std::vector<int32_t> stop_ids{};
  float temperature = 1.0f;
  uint64_t seed = 7;
  bool drafts = false;
  uint32_t top_logprobs = 0;

  [[nodiscard]] actors::ResumePoint resume_point(uint64_t id) const {
    engine::SamplingParams sampling;
    sampling.max_tokens = max_tokens;
    sampling.temperature = temperature;
    sampling.seed = seed;
    sampling.stop_ids = stop_ids;
    sampling.top_logprobs = top_logprobs;
    v1::PreparedRequest prepared;
    prepared.set_request_id(id);
    prepared.mutable_prompt()->Add(prompt.begin(), prompt.end());
    *prepared.mutable_sampling() = schemas::to_wire(sampling);
    prepared.set_root(schemas::pack_name(kv::root_name(Digest{}, "")));
    actors::GenerateRequest request;
    request.choices = choices;
    request.stop = stop;
    request.drafts = drafts;
    return {std::move(prepared), request};
  }
};

/// A client of one request.
struct WorldClient {
  actors::PeerKey key = 0;
  uint64_t request_id = 0;
  actors::ResumePoint resume;
  bool acks = true;
  std::vector<v1::Deltas> inbox;
  std::vector<Error> failures;

  [[nodiscard]] const actors::ChoiceResult& choice(size_t i = 0) const {
    return resume.choices().at(i);
  }
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
  bool dead = false;

 private:
  void attach() { REQUIRE(backend.attach_pool(pool.region()).ok()); }
  actors::WorkerPorts ports(WorkerWorld& world);
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

  /// Begins the client's next attempt; an empty prefill name: the decode worker does it all.
  uint64_t start(WorldClient& client, const std::string& decode, const std::string& prefill = "",
                 bool send_prefill_too = true) {
    v1::Placement placement;
    placement.mutable_decode()->set_name(decode);
    placement.mutable_prefill()->set_name(prefill);
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
    for (auto& one : workers) {
      if (one->dead) continue;
      one->logic.on_tick(now);
      one->logic.pump();
    }
  }

  /// The process is gone; the others hear of it.
  void kill(const std::string& name) {
    WorldWorker& gone = worker(name);
    gone.dead = true;
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
  std::vector<Status> prefill_statuses;
  std::function<bool(uint32_t block_index)> read_fault;

 private:
  void deliver_one() {
    auto [to, run] = std::move(mail_.front());
    mail_.pop_front();
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
};

inline actors::WorkerPorts WorldWorker::ports(WorkerWorld& world) {
  actors::WorkerPorts ports;
  ports.send_deltas = [this, &world](actors::PeerKey client, const v1::Deltas& deltas) {
    world.take_deltas(client, *this, deltas);
  };
  ports.send_announce = [&world](actors::PeerKey reader, const v1::Announce& announce) {
    const std::string to = world.workers.at(reader)->name;
    world.send(to, [&world, to, announce] {
      world.worker(to).logic.handovers().on_announce(announce, world.now);
    });
  };
  ports.submit = [this](engine::StepPlan plan) { running = std::move(plan); };
  ports.grant = [this](uint64_t session, kv::PageId page) { granted.insert({session, page}); };
  ports.revoke = [this](uint64_t session) {
    std::erase_if(granted, [session](const auto& entry) { return entry.first == session; });
  };
  ports.handover.attach = [this, &world](uint64_t session, const v1::NodeInfo& source,
                                         const v1::Attach& attach) {
    if (world.worker(source.name()).dead) {
      world.send(name, [this, &world, session] {
        logic.handovers().on_attached(session, error(Code::unavailable, "cannot connect"),
                                      world.now);
      });
      return;
    }
    sources[session] = source.name();
    world.send(source.name(), [this, &world, session, attach, to = source.name()] {
      const auto reply = world.worker(to).logic.on_attach(index, attach, world.now);
      world.send(name, [this, &world, session, reply] {
        logic.handovers().on_attached(session, reply, world.now);
      });
    });
  };
  ports.handover.connect = [this, &world](uint64_t session, const std::string& address) {
    world.send(name, [this, &world, session, address] {
      logic.handovers().on_connected(session, transport::PeerId{world.worker(address).index},
                                     world.now);
    });
  };
  ports.handover.read = [this, &world](transport::PeerId peer,
                                       const transport::ReadRequest& request,
                                       uint32_t block_index) {
    world.send(name, [this, &world, peer, request, block_index] {
      const auto done = world.read(*this, *world.workers.at(peer), request, block_index);
      logic.handovers().on_read(request.session_token, block_index, done, world.now);
    });
  };
  ports.handover.cancel_reads = [this](uint64_t session) { cancelled_reads.insert(session); };
  ports.handover.tell_source = [this, &world](uint64_t session, const v1::ReadDone& done) {
    const auto source = sources.find(session);
    if (source == sources.end()) return;
    world.send(source->second, [&world, to = source->second, done] {
      world.worker(to).logic.on_read_done(done, world.now);
    });
    if (done.all()) sources.erase(source);
  };
  return ports;
}

}  // namespace troupe::testing
