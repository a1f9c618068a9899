// How the workers and the store of worker_world.hpp are joined; included by it.
#pragma once

#include <set>
#include <string>
#include <utility>

#include "tests/actors/worker_world.hpp"

namespace troupe::testing {

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
  ports.revoke_page = [this](uint64_t session, kv::PageId page) { granted.erase({session, page}); };
  ports.revoke = [this](uint64_t session) {
    std::erase_if(granted, [session](const auto& entry) { return entry.first == session; });
  };
  ports.handover = handover_ports(world);
  ports.send_offer = [this, &world](actors::PeerKey, const v1::Offer& offer) {
    world.send(store_name, [this, &world, offer] {
      const auto reply = world.store->logic.on_offer(index, offer, world.now);
      world.send(name, [this, &world, session = offer.session(), reply] {
        logic.offers().on_reply(session, reply, world.now);
      });
    });
  };
  ports.draw_session = [&world] { return ++world.last_session_; };
  return ports;
}

inline actors::HandoverPorts WorldWorker::handover_ports(WorkerWorld& world) {
  actors::HandoverPorts ports;
  ports.attach = [this, &world](uint64_t session, const v1::NodeInfo& source,
                                const v1::Attach& attach) {
    if (source.name() == store_name) {
      sources[session] = store_name;
      world.send(store_name, [this, &world, session, attach] {
        const auto reply = world.store->logic.on_attach(index, attach, world.now);
        world.send(name, [this, &world, session, reply] {
          logic.handovers().on_attached(session, reply, world.now);
        });
      });
      return;
    }
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
  ports.connect = [this, &world](uint64_t session, const std::string& address) {
    world.send(name, [this, &world, session, address] {
      if (address == store_name) {
        logic.handovers().on_connected(session, transport::PeerId{store_key}, world.now);
        return;
      }
      logic.handovers().on_connected(session, transport::PeerId{world.worker(address).index},
                                     world.now);
    });
  };
  ports.read = [this, &world](transport::PeerId peer, const transport::ReadRequest& request,
                              uint32_t block_index) {
    ++reads_under_way;
    world.send(name, [this, &world, peer, request, block_index] {
      --reads_under_way;
      const auto done = peer == store_key
                            ? world.read_from_store(*this, request)
                            : world.read(*this, *world.workers.at(peer), request, block_index);
      logic.handovers().on_read(request.session_token, block_index, done, world.now);
    });
  };
  ports.cancel_reads = [this](uint64_t session) { cancelled_reads.insert(session); };
  ports.tell_source = [this, &world](uint64_t session, const v1::ReadDone& done) {
    const auto source = sources.find(session);
    if (source == sources.end()) return;
    world.send(source->second, [&world, to = source->second, done] {
      if (to == store_name) {
        world.store->logic.on_read_done(done, world.now);
        return;
      }
      world.worker(to).logic.on_read_done(done, world.now);
    });
    if (done.all()) sources.erase(source);
  };
  return ports;
}

inline actors::StorePorts WorkerWorld::store_ports() {
  actors::StorePorts ports;
  ports.serve = [](size_t, uint32_t) { return Result<std::string>(std::string(store_name)); };
  ports.connect = [this](uint64_t session, const std::string& address) {
    send(store_name, [this, session, address] {
      store->logic.on_connected(session, transport::PeerId{worker(address).index}, now);
    });
  };
  ports.read = [this](transport::PeerId peer, const transport::ReadRequest& request,
                      uint32_t block) {
    send(store_name, [this, peer, request, block] {
      const auto done = read_into_store(*workers.at(peer), request);
      store->logic.on_read(request.session_token, block, done, now);
    });
  };
  ports.cancel_reads = [this](uint64_t session) { store->cancelled_reads.insert(session); };
  ports.tell_worker = [this](actors::PeerKey key, const v1::ReadDone& done) {
    const std::string to = workers.at(key)->name;
    send(to, [this, to, done] { worker(to).logic.on_read_done(done, now); });
  };
  ports.send_announce = [this](actors::PeerKey key, const v1::Announce& announce) {
    const std::string to = workers.at(key)->name;
    send(to, [this, to, announce] { worker(to).logic.handovers().on_announce(announce, now); });
  };
  ports.grant = [this](uint64_t session, kv::PageId page) {
    store->granted.insert({session, page});
  };
  ports.revoke_page = [this](uint64_t session, kv::PageId page) {
    store->granted.erase({session, page});
  };
  ports.revoke = [this](uint64_t session) {
    std::erase_if(store->granted, [session](const auto& e) { return e.first == session; });
  };
  ports.disk = [this](const kv::DiskJob& job) {
    send(store_name, [this, job] { do_disk_job(job); });
  };
  return ports;
}

}  // namespace troupe::testing
