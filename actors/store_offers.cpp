#include "actors/store_offers.hpp"

#include <algorithm>
#include <set>
#include <vector>

#include "actors/limits.hpp"
#include "base/log.hpp"
#include "schemas/convert.hpp"

namespace troupe::actors {

OfferPages pages_of(kv::Pool& pool, kv::LocalIndex& index) {
  OfferPages pages;
  pages.num_pages = pool.num_pages();
  pages.block_bytes = pool.layout().block_bytes();
  pages.find = [&index](const kv::BlockName& name) { return index.find(name); };
  pages.parent = [&index](const kv::BlockName& name) { return index.parent(name); };
  pages.retain = [&pool](kv::PageId page) { pool.retain(page); };
  pages.release = [&pool](kv::PageId page) { pool.release(page); };
  return pages;
}

OfferPages pages_of(kv::BlockStore& blocks) {
  OfferPages pages;
  pages.num_pages = blocks.num_pages();
  pages.block_bytes = blocks.block_bytes();
  pages.find = [&blocks](const kv::BlockName& name) { return blocks.block_of(name); };
  pages.parent = [&blocks](const kv::BlockName& name) { return blocks.parent_of(name); };
  pages.retain = [&blocks](kv::PageId page) { blocks.hold_page(page); };
  pages.release = [&blocks](kv::PageId page) { blocks.let_go(page); };
  return pages;
}

StoreOffers::StoreOffers(OfferPages pages, std::string transport_address, std::string fingerprint,
                         OfferPorts ports)
    : pages_(std::move(pages)),
      transport_address_(std::move(transport_address)),
      fingerprint_(std::move(fingerprint)),
      ports_(std::move(ports)) {}

StoreOffers::~StoreOffers() {
  for (auto& [id, offered] : sessions_) {
    for (const kv::PageId page : offered.session.cancel().unpin) pages_.release(page);
  }
}

void StoreOffers::set_store(std::optional<PeerKey> store) {
  if (store == store_) return;
  drop_all();
  queue_.clear();
  store_ = store;
}

void StoreOffers::add(const kv::BlockName& name, const kv::BlockName& root) {
  if (!store_) return;
  if (queue_.size() >= limits::offer_queue_max) {
    queue_.pop_front();
    ++num_dropped_;
  }
  queue_.push_back({name, root, 0});
}

std::optional<v1::Offer> StoreOffers::make_offer(TimeUs now) {
  // Pages that a store reads are pages that sequences lack: never more than a small share.
  const uint32_t pinned_max = std::clamp<uint32_t>(pages_.num_pages / limits::offer_pool_share, 1,
                                                   2 * limits::offer_blocks_max);
  v1::Offer offer;
  std::vector<kv::BlockName> names, parents, roots;
  std::vector<std::optional<Waiting>> waiting;
  std::vector<transport::BlockAnnouncement> blocks;
  while (!queue_.empty() && names.size() < limits::offer_blocks_max &&
         num_pinned_ + names.size() < pinned_max) {
    const auto [name, root, tries] = queue_.front();
    queue_.pop_front();
    const auto block = pages_.find(name);
    if (!block) continue;  // thrown out meanwhile
    blocks.push_back({static_cast<uint32_t>(names.size()), block->page, block->checksum});
    names.push_back(name);
    roots.push_back(root);
    parents.push_back(pages_.parent(name).value_or(kv::BlockName()));
    waiting.push_back(Waiting{name, root, tries + 1});
  }
  if (names.empty()) return std::nullopt;
  const uint64_t id = ports_.draw_session();
  transport::SourceSession& session =
      sessions_
          .try_emplace(id, Offered{transport::SourceSession(id, now, limits::offer_lease_us),
                                   std::move(waiting)})
          .first->second.session;
  apply(id, session.on_reserved(0, static_cast<uint32_t>(names.size()), now));
  for (const transport::BlockAnnouncement& block : blocks) {
    pages_.retain(block.page);
    ++num_pinned_;
    ports_.grant(id, block.page);
    apply(id, session.announce(block));
    v1::AnnouncedBlock* added = offer.add_blocks();
    added->set_block_index(block.index);
    added->set_page(block.page);
    added->set_checksum(block.checksum);
  }
  apply(id, session.finish());
  num_offered_ += names.size();
  offer.set_session(id);
  offer.set_block_bytes(pages_.block_bytes);
  offer.set_transport_address(transport_address_);
  offer.set_names(schemas::pack_names(names));
  offer.set_parents(schemas::pack_names(parents));
  offer.set_roots(schemas::pack_names(roots));
  offer.set_priority(limits::offer_priority);
  offer.set_kv_fingerprint(fingerprint_);
  return offer;
}

void StoreOffers::pump(TimeUs now) {
  while (store_ && num_unanswered_ < limits::offers_unanswered_max) {
    const auto offer = make_offer(now);
    if (!offer) return;
    ++num_unanswered_;
    ports_.send(*store_, *offer);
  }
}

void StoreOffers::on_reply(uint64_t id, const Result<v1::OfferReply>& reply, TimeUs now) {
  num_unanswered_ -= std::min<size_t>(num_unanswered_, 1);
  const auto found = sessions_.find(id);
  if (found == sessions_.end()) return;
  if (!reply || schemas::failed(reply->failure())) {
    log_debug("worker",
              "a store took no offer: " +
                  (reply ? schemas::from_wire(reply->failure()) : reply.error()).message());
    apply(id, found->second.session.cancel());
    return;
  }
  const std::set<uint32_t> wanted(reply->wanted().begin(), reply->wanted().end());
  std::vector<uint32_t> unwanted;
  for (uint32_t i = 0; i < limits::offer_blocks_max; ++i) {
    if (!wanted.contains(i)) unwanted.push_back(i);
  }
  settle(found->second, unwanted);
  apply(id, found->second.session.on_read_done(unwanted, now));
  if (wanted.empty() && sessions_.contains(id)) apply(id, found->second.session.on_done(now));
}

bool StoreOffers::on_read_done(const v1::ReadDone& done, TimeUs now) {
  const auto found = sessions_.find(done.session());
  if (found == sessions_.end()) return false;
  const std::vector<uint32_t> indices(done.block_index().begin(), done.block_index().end());
  settle(found->second, indices);
  apply(done.session(), found->second.session.on_read_done(indices, now));
  if (done.all() && sessions_.contains(done.session())) {
    apply(done.session(), found->second.session.on_done(now));
  }
  return true;
}

void StoreOffers::settle(Offered& offered, std::span<const uint32_t> indices) {
  for (const uint32_t index : indices) {
    if (index < offered.blocks.size()) offered.blocks[index].reset();
  }
}

void StoreOffers::offer_again(const Offered& offered) {
  // The first of them first, before all others: what follows needs them.
  for (auto block = offered.blocks.rbegin(); block != offered.blocks.rend(); ++block) {
    if (!*block || (*block)->tries >= limits::offer_tries_max) continue;
    if (queue_.size() >= limits::offer_queue_max) break;
    queue_.push_front(**block);
    ++num_repeated_;
  }
}

void StoreOffers::on_tick(TimeUs now) {
  std::vector<uint64_t> all;
  for (const auto& [id, offered] : sessions_) all.push_back(id);
  for (const uint64_t id : all) apply(id, sessions_.at(id).session.on_tick(now));
}

void StoreOffers::drop_all() {
  while (!sessions_.empty()) {
    const uint64_t id = sessions_.begin()->first;
    Offered& offered = sessions_.begin()->second;
    offered.blocks.clear();
    apply(id, offered.session.cancel());
  }
}

void StoreOffers::apply(uint64_t id, const transport::SourceActions& actions) {
  // A store that reads is told nothing on the way: what it may read, it knows from the offer.
  if (actions.over) ports_.revoke(id);
  for (const kv::PageId page : actions.unpin) {
    if (!actions.over) ports_.revoke_page(id, page);
    pages_.release(page);
  }
  num_pinned_ -= static_cast<uint32_t>(actions.unpin.size());
  if (!actions.over) return;
  const auto ended = sessions_.extract(id);
  if (!ended.empty()) offer_again(ended.mapped());
}

}  // namespace troupe::actors
