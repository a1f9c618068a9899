// The part of StoreLogic that gives blocks out, from memory and from disk.
#include <algorithm>

#include "actors/limits.hpp"
#include "actors/store_logic.hpp"
#include "base/concat.hpp"
#include "base/log.hpp"
#include "schemas/convert.hpp"

namespace troupe::actors {
namespace {

void add_block(v1::Announce& announce, uint32_t block_index, const kv::IndexedBlock& held) {
  v1::AnnouncedBlock* block = announce.add_blocks();
  block->set_block_index(block_index);
  block->set_page(held.page);
  block->set_checksum(held.checksum);
  block->set_reused(true);
}

}  // namespace

Status StoreLogic::check(const v1::Attach& attach, size_t num_names) const {
  if (num_names == 0 || num_names > limits::names_max) {
    return error(Code::invalid_argument, concat(num_names, " block names"),
                 concat("1 to ", limits::names_max));
  }
  const uint64_t id = attach.session();
  if (intakes_.contains(id) || readers_.contains(id)) {
    return error(Code::failed_precondition, "a session of this number is open already");
  }
  if (readers_.size() >= limits::sessions_max) {
    return error(Code::exhausted, concat(readers_.size(), " sessions are open"));
  }
  return check_fingerprint(attach.kv_fingerprint(), "the reader's");
}

Status StoreLogic::prepare_for(const v1::Attach& attach) {
  if (blocks_) return {};
  const std::string& fingerprint = attach.kv_fingerprint();
  const auto bytes = disk_ ? disk_->tier().block_bytes_of(digest_of(fingerprint)) : std::nullopt;
  if (!bytes) return error(Code::not_found, "the store is empty");
  return prepare(*bytes, fingerprint);
}

v1::AttachReply StoreLogic::on_attach(PeerKey peer, const v1::Attach& attach, TimeUs now) {
  v1::AttachReply reply;
  const auto refuse = [&reply](const Error& why) {
    *reply.mutable_failure() = schemas::to_wire(why);
    return reply;
  };
  // A name begins with the fingerprint (the chain's root); check() compares it all the same.
  reply.set_kv_fingerprint(attach.kv_fingerprint());
  const auto names = schemas::unpack_names(attach.names());
  if (!names) return refuse(names.error());
  if (auto status = check(attach, names->size()); !status) return refuse(status.error());
  if (auto status = prepare_for(attach); !status) return refuse(status.error());
  const uint64_t id = attach.session();
  Reader reader;
  reader.reader = peer;
  reader.first_block = attach.first_block();
  if (auto root = schemas::unpack_name(attach.root())) reader.root = *root;
  reader.news = now;
  const auto held = gather(id, reader, *names, now);
  blocks_->count_misses(names->size() - held.size() - reader.num_waiting);
  if (held.empty() && reader.num_waiting == 0) {
    return refuse(error(Code::not_found, "the store has none of these blocks"));
  }
  v1::Announce announce;
  announce.set_session(id);
  announce.set_last(reader.num_waiting == 0);
  for (const auto& [place, block] : held) {
    ports_.grant(id, block.page);
    add_block(announce, reader.first_block + place, block);
  }
  readers_[id] = std::move(reader);
  reply.set_transport_address(transport_address_);
  if (!held.empty()) ports_.send_announce(peer, announce);
  pump(now);
  return reply;
}

std::vector<std::pair<uint32_t, kv::IndexedBlock>> StoreLogic::gather(
    uint64_t session, Reader& reader, std::span<const kv::BlockName> names, TimeUs now) {
  std::vector<std::pair<uint32_t, kv::IndexedBlock>> held;
  // First what is in memory, so that it does not make room for what is on disk.
  const TimeUs until = now + limits::store_lease_us;
  uint32_t end = 0;
  while (end < names.size() && blocks_->page_of(names[end])) ++end;
  for (const kv::IndexedBlock& block : blocks_->pin(session, names.first(end), until)) {
    held.emplace_back(static_cast<uint32_t>(held.size()), block);
  }
  end = static_cast<uint32_t>(held.size());
  for (; disk_ && end < names.size(); ++end) {
    const auto page = blocks_->page_of(names[end]);
    const auto pinned = page ? blocks_->pin_page(session, *page, until) : std::nullopt;
    if (pinned) held.emplace_back(end, *pinned);
    if (!pinned && !disk_->coming(names[end]) && !disk_->tier().contains(names[end])) break;
  }
  for (const auto& [place, block] : held) {
    reader.pages[place] = block.page;
    if (disk_) disk_->on_used(names[place]);
  }
  for (uint32_t place = 0; place < end; ++place) {
    if (reader.pages.contains(place)) continue;
    auto page = disk_->coming(names[place]);
    if (!page) page = disk_->fetch(names[place], reader.root);
    if (!page) {
      // No room: what is behind it is of no use.
      std::erase_if(held, [place](const auto& block) { return block.first > place; });
      break;
    }
    waiters_[*page].push_back({session, place});
    ++reader.num_waiting;
  }
  return held;
}

void StoreLogic::on_disk_done(const kv::DiskDone& done, TimeUs now) {
  if (!disk_) return;
  if (const auto arrival = disk_->on_done(done, now))
    on_page(arrival->page, arrival->is_whole, now);
  pump(now);
}

void StoreLogic::on_page(kv::PageId page, bool is_whole, TimeUs now) {
  const auto found = waiters_.find(page);
  if (found == waiters_.end()) return;
  const std::vector<Waiter> waiters = std::move(found->second);
  waiters_.erase(found);
  for (const Waiter& waiter : waiters) {
    const auto owner = readers_.find(waiter.session);
    // It has ended, or was told not to wait any longer.
    if (owner == readers_.end() || owner->second.num_waiting == 0) continue;
    Reader& reader = owner->second;
    --reader.num_waiting;
    reader.news = now;
    v1::Announce announce;
    announce.set_session(waiter.session);
    announce.set_last(reader.num_waiting == 0);
    if (is_whole) {
      const auto pinned = blocks_->pin_page(waiter.session, page, now + limits::store_lease_us);
      if (pinned) {
        reader.pages[waiter.place] = page;
        ports_.grant(waiter.session, page);
        add_block(announce, reader.first_block + waiter.place, *pinned);
      }
    } else {
      blocks_->count_misses(1);
    }
    ports_.send_announce(reader.reader, announce);
  }
}

void StoreLogic::tick_readers(TimeUs now) {
  std::vector<uint64_t> silent;
  for (auto& [session, reader] : readers_) {
    // Nothing came for it, so no pin ends with its lease.
    const bool is_silent = reader.pages.empty() && now - reader.news >= limits::store_lease_us;
    if (reader.num_waiting == 0 && is_silent) silent.push_back(session);
    if (reader.num_waiting == 0) continue;
    v1::Announce announce;
    announce.set_session(session);
    if (now - reader.news >= limits::disk_wait_us) {
      log_warning("store", concat("the disk gave no block for ", limits::disk_wait_us / 1'000'000,
                                  " s; a reader computes ", reader.num_waiting, " of them"));
      reader.num_waiting = 0;
      announce.set_last(true);
    }
    ports_.send_announce(reader.reader, announce);
  }
  for (const uint64_t session : silent) end_reader(session);
}

void StoreLogic::on_read_done(const v1::ReadDone& done, TimeUs now) {
  if (offers_ && offers_->on_read_done(done, now)) {
    pump_offers(now);
    return;
  }
  const auto found = readers_.find(done.session());
  if (found == readers_.end()) return;
  const Reader& reader = found->second;
  for (const uint32_t index : done.corrupt()) {
    const auto page = reader.pages.find(index - reader.first_block);
    if (index < reader.first_block || page == reader.pages.end()) continue;
    const auto bad = blocks_->recheck(done.session(), page->second);
    if (!bad) continue;
    log_error("store", concat("block ", kv::hex(*bad),
                              " is damaged in this store's memory; it is forgotten"));
  }
  // Pages stay pinned to the end, so that a chain's beginning is used after its end.
  blocks_->extend(done.session(), now + limits::store_lease_us);
  if (done.all()) end_reader(done.session());
}

void StoreLogic::end_reader(uint64_t session) {
  ports_.revoke(session);
  blocks_->unpin(session);
  readers_.erase(session);
}

}  // namespace troupe::actors
