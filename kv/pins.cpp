#include "kv/pins.hpp"

#include <algorithm>

namespace troupe::kv {

uint32_t Pins::pin(std::span<const BlockName> names, const BlockName& root, TimeUs ttl,
                   TimeUs now) {
  for (uint32_t i = 0; i < names.size(); ++i) {
    const BlockName& name = names[i];
    if (const auto found = pins_.find(name); found != pins_.end()) {
      renew(name, found->second, ttl, now);
      continue;
    }
    const auto block = index_.find(name);
    if (!block) return i;
    if (pins_.size() >= pages_max_ && !make_room(root, now + ttl)) return i;
    pool_.retain(block->page);
    const Pin& added = pins_[name] = {block->page, i, now + ttl, ttl, root};
    by_root_[root].insert(turn_of(name, added));
  }
  return static_cast<uint32_t>(names.size());
}

void Pins::use(std::span<const BlockName> names, TimeUs now) {
  if (pins_.empty()) return;
  for (const BlockName& name : names) {
    const auto found = pins_.find(name);
    if (found != pins_.end()) renew(name, found->second, found->second.ttl, now);
  }
}

void Pins::renew(const BlockName& name, Pin& pin, TimeUs ttl, TimeUs now) {
  Turns& turns = by_root_.at(pin.root);
  turns.erase(turn_of(name, pin));
  pin.ttl = std::max(pin.ttl, ttl);
  pin.until = std::max(pin.until, now + pin.ttl);
  turns.insert(turn_of(name, pin));
}

bool Pins::make_room(const BlockName& root, TimeUs until) {
  const auto most = std::max_element(
      by_root_.begin(), by_root_.end(),
      [](const auto& a, const auto& b) { return a.second.size() < b.second.size(); });
  if (most == by_root_.end()) return false;
  const auto own = by_root_.find(root);
  if (most != own && (own == by_root_.end() || own->second.size() < most->second.size())) {
    end_first(most);
    return true;
  }
  if (own->second.begin()->until >= until) return false;
  end_first(own);
  return true;
}

void Pins::end_first(std::map<BlockName, Turns>::iterator root) {
  const auto first = root->second.begin();
  const auto pin = pins_.find(first->name);
  pool_.release(pin->second.page);
  pins_.erase(pin);
  root->second.erase(first);
  if (root->second.empty()) by_root_.erase(root);
}

void Pins::expire(TimeUs now) {
  for (auto root = by_root_.begin(); root != by_root_.end();) {
    const auto at = root++;
    for (size_t left = at->second.size(); left > 0 && at->second.begin()->until <= now; --left) {
      end_first(at);
    }
  }
}

size_t Pins::give_up(size_t pins) {
  size_t ended = 0;
  for (; ended < pins && !by_root_.empty(); ++ended) {
    end_first(std::min_element(by_root_.begin(), by_root_.end(), [](const auto& a, const auto& b) {
      return *a.second.begin() < *b.second.begin();
    }));
  }
  return ended;
}

}  // namespace troupe::kv
