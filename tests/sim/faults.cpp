// Births, deaths and other faults of a run.
#include "actors/limits.hpp"
#include "base/concat.hpp"
#include "base/log.hpp"
#include "tests/sim/world.hpp"

namespace troupe::sim {

void World::start_life(size_t slot) {
  if (at(slot) != nullptr) return;
  lives_.push_back(std::make_unique<Life>(stage_, slot));
  log_info("sim", concat(plan_.nodes[slot].name, " starts as life ", lives_.back()->id));
}

Life* World::at(size_t slot) {
  const Process* process = links_.at(slot);
  return process == nullptr ? nullptr : life(process->life);
}

void World::restart_later(size_t slot, TimeUs delay) {
  events_.after(delay, [this, slot] { start_life(slot); });
}

void World::end_life(Life& one, bool silent) {
  if (one.dead) return;
  log_info("sim", concat(one.plan.name, " dies, life ", one.id));
  links_.die(one.id, silent);
  one.kill();
  for (auto& request : requests_) {
    if (request->client == one.id && !request->watched.ended()) request->abandoned = true;
  }
  // What it still had to do is not done: an exit is taken before anything else.
  const auto own = [this, &one](const caf::resumable* job) {
    const auto* actor = dynamic_cast<const caf::local_actor*>(job);
    return actor != nullptr && fabric_.home(actor->id()) == one.id;
  };
  scheduler_.run_jobs_filtered(own);
}

void World::inject(const FaultPlan& fault) {
  if (calm_) return;
  log_info("sim", concat(name(fault.kind), " of ", plan_.nodes[fault.slot].name, " (",
                         plan_.nodes[fault.other].name, ") for ", fault.duration_us, " us"));
  Life* one = at(fault.slot);
  switch (fault.kind) {
    case FaultKind::kill:
    case FaultKind::vanish:
      if (one == nullptr) return;
      end_life(*one, fault.kind == FaultKind::vanish);
      restart_later(fault.slot, fault.duration_us);
      break;
    case FaultKind::stop:
      if (one == nullptr) return;
      one->close();
      events_.after(200 * ms, [this, one, fault] {
        if (one->dead) return;
        end_life(*one, false);
        restart_later(fault.slot, fault.duration_us);
      });
      break;
    case FaultKind::pause:
      if (one != nullptr) links_.pause(one->id, fault.duration_us);
      break;
    case FaultKind::partition:
      links_.block(fault.slot, fault.other, fault.duration_us);
      links_.block(fault.other, fault.slot, fault.duration_us);
      break;
    case FaultKind::one_way:
      links_.block(fault.slot, fault.other, fault.duration_us);
      break;
    case FaultKind::isolate:
      for (size_t other = 0; other < plan_.nodes.size(); ++other) {
        if (other == fault.slot) continue;
        links_.block(fault.slot, other, fault.duration_us);
        links_.block(other, fault.slot, fault.duration_us);
      }
      break;
    case FaultKind::reset:
      links_.reset(fault.slot, fault.other);
      break;
    case FaultKind::slow_wire:
      links_.slow_down(fault.factor, fault.duration_us);
      break;
    case FaultKind::slow_device:
      stage_.device_slowness = fault.factor;
      events_.after(fault.duration_us, [this] { stage_.device_slowness = 1; });
      break;
    case FaultKind::hang:
      if (one != nullptr) hang(*one, fault.duration_us);
      break;
    case FaultKind::drain:
      drain(fault.slot, fault.duration_us);
      break;
  }
}

/// Its process must say so in time, and when it is over.
void World::hang(Life& one, TimeUs duration) {
  for (const uint64_t actor : one.role_actors()) hanging_.insert(actor);
  events_.after(duration, [this, &one] {
    for (const uint64_t actor : one.role_actors()) hanging_.erase(actor);
  });
  const auto expect = [this, &one](TimeUs delay, const char* health) {
    events_.after(delay, [this, &one, health] {
      if (one.dead || one.health() == health) return;
      fail(concat(one.plan.name, " says that it is ", one.health(), ", not ", health));
    });
  };
  expect(actors::limits::role_silence_us + second, "stalled");
  expect(duration + second, "ready");
}

void World::watch_silence() {
  events_.after(plan_.silence_us + second, [this] {
    if (still_running().empty()) fail("nothing runs when the clients fall silent");
  });
  events_.after(plan_.silence_us + actors::limits::client_silence_us + 2 * second, [this] {
    const std::string running = still_running();
    if (!running.empty()) fail(concat("work of clients that nobody hears of goes on: ", running));
  });
}

/// An operator asks for it; later the process is taken away and another one comes.
void World::drain(size_t slot, TimeUs duration) {
  Life* one = at(slot);
  if (one == nullptr || !one->worker) return;
  for (const auto& other : lives_) {
    if (other->dead || !other->plan.is_client()) continue;
    other->on_client([name = one->plan.name](actors::ClientCore& core) {
      core.drain(name, [](const Result<uint32_t>&) {});
    });
    break;
  }
  events_.after(duration, [this, one, slot] {
    if (one->dead) return;
    end_life(*one, false);
    restart_later(slot, 0);
  });
}

void World::end_faults() {
  log_info("sim", "the faults are over");
  calm_ = true;
  links_.calm();
  hanging_.clear();
  reads_.faults = {};
  stage_.disks_fail = false;
  stage_.device_slowness = 1;
  for (size_t slot = 0; slot < plan_.nodes.size(); ++slot) start_life(slot);
}

}  // namespace troupe::sim
