#include "tests/sim/links.hpp"

#include <algorithm>

#include "base/concat.hpp"

namespace troupe::sim {
namespace {

constexpr size_t recent_max = 3;

}  // namespace

Process& Links::add(size_t slot) {
  processes_.push_back({static_cast<LifeId>(processes_.size() + 1), slot});
  // A packet of an old connection is answered with a reset by the new process.
  for (auto& [id, link] : links_) {
    if (link.lost) continue;
    for (const Side& side : link.sides) {
      if (process(side.life).slot == slot && side.life != processes_.back().life) {
        lose_later(id, 300 * ms, [] { return true; });
      }
    }
  }
  return processes_.back();
}

Process* Links::at(size_t slot) {
  for (auto it = processes_.rbegin(); it != processes_.rend(); ++it) {
    if (it->slot == slot) return it->alive ? &*it : nullptr;
  }
  return nullptr;
}

TimeUs Links::delay() {
  const int64_t us = random_.chance(0.05) ? random_.between(1000, 20000) : random_.between(40, 600);
  return static_cast<TimeUs>(static_cast<double>(us) * slowness_);
}

bool Links::passes(size_t from, size_t to) const {
  const auto found = blocked_until_.find({from, to});
  return found == blocked_until_.end() || found->second <= events_.now;
}

void Links::connect(LifeId from, size_t to, std::function<void(Result<LinkId>)> done) {
  events_.after(delay(), [this, from, to, done] {
    const Process& caller = process(from);
    if (!caller.alive || !passes(caller.slot, to) || !passes(to, caller.slot)) return;
    Process* target = at(to);
    if (target == nullptr) {
      done(error(Code::unavailable, "nobody listens there"));
      return;
    }
    if (target->paused) return;
    for (const LinkId id : links_of(from)) {
      if (links_.at(id).lost || other_end(id, from) != target->life) continue;
      done(id);
      return;
    }
    const LinkId id = ++last_link_;
    links_[id].sides[0].life = from;
    links_[id].sides[1].life = target->life;
    done(id);
    repeat(id);
  });
}

/// What went over an earlier connection of the two comes once more.
void Links::repeat(LinkId id) {
  for (size_t side : {size_t{0}, size_t{1}}) {
    const LifeId from = links_[id].sides[side].life;
    const LifeId to = links_[id].sides[1 - side].life;
    auto ghosts = std::move(ghosts_[{from, to}]);
    ghosts_.erase({from, to});
    for (Delivery& ghost : ghosts) {
      events_.after(random_.between(0, 300 * ms),
                    [this, id, from, ghost = std::move(ghost)] { send(id, from, ghost); });
    }
  }
}

LifeId Links::other_end(LinkId link, LifeId life) const {
  const Link& found = links_.at(link);
  return found.sides[1 - side_of(found, life)].life;
}

bool Links::is_up(LinkId link, LifeId side) const {
  const Link& found = links_.at(link);
  return found.sides[side_of(found, side)].up;
}

void Links::send(LinkId id, LifeId from, Delivery deliver) {
  Link& link = links_.at(id);
  const size_t side = side_of(link, from);
  if (link.lost || !link.sides[side].up || !process(from).alive) return;
  const size_t to_slot = process(link.sides[1 - side].life).slot;
  if (duplicates) {
    link.sides[side].recent.push_back(deliver);
    if (link.sides[side].recent.size() > recent_max) link.sides[side].recent.pop_front();
  }
  if (!passes(process(from).slot, to_slot) || !link.sides[side].held.empty()) {
    link.sides[side].held.push_back(std::move(deliver));
    return;
  }
  transmit(id, side, std::move(deliver));
}

void Links::transmit(LinkId id, size_t side, Delivery deliver) {
  Side& sender = links_.at(id).sides[side];
  sender.last_due = std::max(sender.last_due, events_.now + delay());
  events_.after(sender.last_due - events_.now, [this, id, side, deliver = std::move(deliver)] {
    const Link& link = links_.at(id);
    if (link.lost || !process(link.sides[1 - side].life).alive) return;
    deliver(id);
  });
}

void Links::lose(LinkId id, TimeUs first_delay, TimeUs second_delay) {
  Link& link = links_.at(id);
  if (link.lost) return;
  link.lost = true;
  const TimeUs delays[2] = {first_delay, second_delay};
  for (size_t side : {size_t{0}, size_t{1}}) {
    Side& one = link.sides[side];
    one.held.clear();
    if (duplicates && random_.chance(0.5)) {
      auto& ghosts = ghosts_[{one.life, link.sides[1 - side].life}];
      ghosts.insert(ghosts.end(), one.recent.begin(), one.recent.end());
    }
    one.recent.clear();
    events_.after(delays[side], [this, id, side] {
      Side& told = links_.at(id).sides[side];
      told.up = false;
      if (process(told.life).alive && on_lost) on_lost(told.life, id);
    });
  }
}

void Links::lose_later(LinkId id, TimeUs delay, std::function<bool()> still) {
  events_.after(delay + random_.between(0, second), [this, id, still] {
    if (still()) lose(id, random_.between(0, ms), random_.between(0, 500 * ms));
  });
}

std::vector<LinkId> Links::links_of(LifeId life) const {
  std::vector<LinkId> found;
  for (const auto& [id, link] : links_) {
    if (link.sides[0].life == life || link.sides[1].life == life) found.push_back(id);
  }
  return found;
}

std::vector<LinkId> Links::links_between(size_t a, size_t b) {
  std::vector<LinkId> found;
  for (const auto& [id, link] : links_) {
    const size_t one = process(link.sides[0].life).slot;
    const size_t two = process(link.sides[1].life).slot;
    if (!link.lost && ((one == a && two == b) || (one == b && two == a))) {
      found.push_back(id);
    }
  }
  return found;
}

void Links::block(size_t from, size_t to, TimeUs duration) {
  TimeUs& until = blocked_until_[{from, to}];
  until = std::max(until, events_.now + duration);
  events_.after(duration, [this, from, to] { release(from, to); });
  if (duration < hung_us) return;
  for (const LinkId id : links_between(from, to)) {
    lose_later(id, hung_us, [this, from, to] { return !passes(from, to); });
  }
}

void Links::release(size_t from, size_t to) {
  if (!passes(from, to)) return;
  for (const LinkId id : links_between(from, to)) {
    Link& link = links_.at(id);
    const size_t side = process(link.sides[0].life).slot == from ? 0 : 1;
    auto held = std::move(link.sides[side].held);
    link.sides[side].held.clear();
    for (Delivery& delivery : held) transmit(id, side, std::move(delivery));
  }
}

void Links::reset(size_t a, size_t b) {
  for (const LinkId id : links_between(a, b)) {
    lose(id, random_.between(0, 5 * ms), random_.between(0, 200 * ms));
  }
}

void Links::die(LifeId life, bool silent) {
  process(life).alive = false;
  for (const LinkId id : links_of(life)) {
    if (silent) {
      lose_later(id, hung_us, [] { return true; });
    } else {
      lose(id, random_.between(0, 5 * ms), random_.between(0, 5 * ms));
    }
  }
}

void Links::pause(LifeId life, TimeUs duration) {
  process(life).paused = true;
  events_.after(duration, [this, life] { process(life).paused = false; });
  if (duration < hung_us) return;
  for (const LinkId id : links_of(life)) {
    lose_later(id, hung_us, [this, life] { return process(life).paused; });
  }
}

void Links::slow_down(double factor, TimeUs duration) {
  slowness_ = factor;
  events_.after(duration, [this] { slowness_ = 1; });
}

void Links::calm() {
  slowness_ = 1;
  const auto blocked = std::move(blocked_until_);
  blocked_until_.clear();
  for (const auto& [direction, until] : blocked) release(direction.first, direction.second);
  for (Process& process : processes_) process.paused = false;
}

}  // namespace troupe::sim
