#include "actors/store_logic.hpp"

#include <algorithm>
#include <set>

#include "actors/limits.hpp"
#include "base/concat.hpp"
#include "base/log.hpp"
#include "schemas/convert.hpp"

namespace troupe::actors {

StoreLogic::StoreLogic(kv::Region region, StorePorts ports)
    : region_(std::move(region)), ports_(std::move(ports)) {}

Status StoreLogic::check(const v1::Offer& offer) const {
  const auto count = static_cast<size_t>(offer.blocks_size());
  if (count == 0 || count > limits::offer_blocks_max) {
    return error(Code::invalid_argument, concat("an offer of ", count, " blocks"),
                 concat("1 to ", limits::offer_blocks_max));
  }
  if (blocks_ && offer.block_bytes() != blocks_->block_bytes()) {
    return error(Code::failed_precondition,
                 concat("offered blocks have ", offer.block_bytes(), " bytes, this store keeps ",
                        blocks_->block_bytes()),
                 "run one store for each model and KV type");
  }
  if (intakes_.contains(offer.session()) || readers_.contains(offer.session())) {
    return error(Code::failed_precondition, "a session of this number is open already");
  }
  if (intakes_.size() >= limits::intakes_max) {
    return error(Code::exhausted, concat(intakes_.size(), " offers are being taken in"),
                 "offer again later");
  }
  return {};
}

Status StoreLogic::prepare(size_t block_bytes) {
  if (blocks_) return {};
  if (block_bytes == 0 || region_.bytes / block_bytes == 0) {
    return error(Code::exhausted,
                 concat("a memory of ", region_.bytes, " bytes holds no block of ", block_bytes),
                 "give the store more store_memory");
  }
  auto made = std::make_unique<kv::BlockStore>(region_, block_bytes, events_);
  TROUPE_ASSIGN(transport_address_, ports_.serve(block_bytes, made->num_pages()));
  blocks_ = std::move(made);
  log_info("store",
           concat("keeps up to ", blocks_->num_pages(), " blocks of ", block_bytes / 1024, " KiB"));
  return {};
}

Result<std::vector<kv::OfferedBlock>> StoreLogic::unpack(const v1::Offer& offer) const {
  TROUPE_ASSIGN(const auto names, schemas::unpack_names(offer.names()));
  TROUPE_ASSIGN(const auto parents, schemas::unpack_names(offer.parents()));
  const auto count = static_cast<size_t>(offer.blocks_size());
  if (names.size() != count || parents.size() != count) {
    return error(Code::corrupt, concat(count, " offered blocks have ", names.size(), " names and ",
                                       parents.size(), " parents"));
  }
  std::vector<kv::OfferedBlock> blocks(count);
  for (size_t i = 0; i < count; ++i) {
    const v1::AnnouncedBlock& wire = offer.blocks(static_cast<int>(i));
    if (wire.block_index() != i) {
      return error(Code::corrupt, concat("offered block ", i, " is numbered ", wire.block_index()));
    }
    const uint32_t priority = std::min<uint32_t>(offer.priority(), kv::num_priorities - 1);
    blocks[i] = {names[i], parents[i], wire.checksum(), static_cast<uint8_t>(priority)};
  }
  return blocks;
}

v1::OfferReply StoreLogic::on_offer(PeerKey worker, const v1::Offer& offer, TimeUs now) {
  v1::OfferReply reply;
  const auto refuse = [&reply](const Error& why) {
    *reply.mutable_failure() = schemas::to_wire(why);
    return reply;
  };
  if (auto status = check(offer); !status) return refuse(status.error());
  auto offered = unpack(offer);
  if (!offered) return refuse(offered.error());
  if (auto status = prepare(offer.block_bytes()); !status) return refuse(status.error());
  std::vector<kv::PageId> pages;
  std::vector<uint32_t> wanted;
  for (uint32_t i = 0; i < offered->size(); ++i) {
    const kv::BlockStore::Answer answer = blocks_->offer((*offered)[i]);
    if (answer.verdict != kv::BlockStore::Verdict::wanted) continue;
    pages.push_back(answer.page);
    wanted.push_back(i);
  }
  reply.mutable_wanted()->Add(wanted.begin(), wanted.end());
  if (!wanted.empty()) take(worker, offer, std::move(pages), std::move(wanted), now);
  return reply;
}

void StoreLogic::take(PeerKey worker, const v1::Offer& offer, std::vector<kv::PageId> pages,
                      std::vector<uint32_t> wanted, TimeUs now) {
  const uint64_t id = offer.session();
  const size_t count = wanted.size();
  Intake intake{transport::ReceiverSession(id, now), worker, 0, pages, wanted,
                std::vector<bool>(count, false)};
  Intake& added = intakes_.emplace(id, std::move(intake)).first->second;
  // What the worker said at once is what a source says bit by bit: nothing is read before the
  // transport is connected, so nothing here can end the session.
  added.session.reserve(0, std::move(pages));
  for (uint32_t i = 0; i < count; ++i) {
    const v1::AnnouncedBlock& wire = offer.blocks(static_cast<int>(wanted[i]));
    added.session.on_announce({i, wire.page(), wire.checksum()}, now);
  }
  added.session.on_last(now);
  ports_.connect(id, offer.transport_address());
}

void StoreLogic::on_connected(uint64_t id, const Result<transport::PeerId>& peer, TimeUs now) {
  const auto found = intakes_.find(id);
  if (found == intakes_.end()) return;
  if (!peer) {
    apply(id, found->second.session.fail(peer.error()));
    return;
  }
  found->second.peer = *peer;
  apply(id, found->second.session.on_connected(now));
}

void StoreLogic::on_read(uint64_t id, uint32_t index, const Result<transport::ReadDone>& result,
                         TimeUs now) {
  const auto found = intakes_.find(id);
  if (found == intakes_.end()) return;
  Intake& intake = found->second;
  if (result && index < intake.pages.size() && !intake.arrived[index]) {
    intake.arrived[index] = true;
    blocks_->arrived(intake.pages[index]);
  }
  if (!result && result.error().code == Code::corrupt) ++damaged_on_the_way_;
  const Status status = result ? Status() : Status(result.error());
  apply(id, intake.session.on_read_done(index, status, now));
}

void StoreLogic::apply(uint64_t id, const transport::ReceiverActions& actions) {
  const auto found = intakes_.find(id);
  if (found == intakes_.end()) return;
  Intake& intake = found->second;
  for (const transport::BlockRead& read : actions.read) {
    transport::ReadRequest request;
    request.session_token = id;
    request.remote_page = read.remote_page;
    request.local_page = read.local_page;
    request.checksum = read.checksum;
    ports_.read(intake.peer, request, read.index);
  }
  v1::ReadDone news;
  news.set_session(id);
  for (const uint32_t index : actions.arrived) news.add_block_index(intake.offered_index[index]);
  news.set_all(actions.tell_over);
  if (news.all() || news.block_index_size() > 0 || actions.tell_heartbeat) {
    ports_.tell_worker(intake.worker, news);
  }
  if (actions.failure) {
    log_warning("store", concat("an offer was not taken in whole: ", actions.failure->message()));
  }
  if (actions.cancel_reads) ports_.cancel_reads(id);
  if (!actions.settled) return;
  for (size_t i = 0; i < intake.pages.size(); ++i) {
    if (!intake.arrived[i]) blocks_->lost(intake.pages[i]);
  }
  intakes_.erase(found);
}

v1::AttachReply StoreLogic::on_attach(PeerKey reader, const v1::Attach& attach, TimeUs now) {
  v1::AttachReply reply;
  const auto refuse = [&reply](const Error& why) {
    *reply.mutable_failure() = schemas::to_wire(why);
    return reply;
  };
  // A name begins with the fingerprint (the chain's root), so whoever knows it has the same one.
  reply.set_kv_fingerprint(attach.kv_fingerprint());
  const auto names = schemas::unpack_names(attach.names());
  if (!names) return refuse(names.error());
  if (names->empty() || names->size() > limits::names_max) {
    return refuse(error(Code::invalid_argument, concat(names->size(), " block names"),
                        concat("1 to ", limits::names_max)));
  }
  const uint64_t id = attach.session();
  if (intakes_.contains(id) || readers_.contains(id)) {
    return refuse(error(Code::failed_precondition, "a session of this number is open already"));
  }
  if (readers_.size() >= limits::sessions_max) {
    return refuse(error(Code::exhausted, concat(readers_.size(), " sessions are open")));
  }
  if (!blocks_) return refuse(error(Code::not_found, "the store is empty"));
  const auto held = blocks_->pin(id, *names, now + limits::store_lease_us);
  if (held.empty()) return refuse(error(Code::not_found, "the store has none of these blocks"));
  Reader& added = readers_[id];
  added.reader = reader;
  added.first_block = attach.first_block();
  v1::Announce announce;
  announce.set_session(id);
  announce.set_last(true);
  for (uint32_t i = 0; i < held.size(); ++i) {
    ports_.grant(id, held[i].page);
    added.pages.push_back(held[i].page);
    v1::AnnouncedBlock* block = announce.add_blocks();
    block->set_block_index(attach.first_block() + i);
    block->set_page(held[i].page);
    block->set_checksum(held[i].checksum);
    block->set_reused(true);
  }
  reply.set_transport_address(transport_address_);
  ports_.send_announce(reader, announce);
  return reply;
}

void StoreLogic::on_read_done(const v1::ReadDone& done, TimeUs now) {
  const auto found = readers_.find(done.session());
  if (found == readers_.end()) return;
  const Reader& reader = found->second;
  for (const uint32_t index : done.corrupt()) {
    if (index < reader.first_block || index - reader.first_block >= reader.pages.size()) continue;
    const auto bad = blocks_->recheck(done.session(), reader.pages[index - reader.first_block]);
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

void StoreLogic::on_peer_down(PeerKey peer) {
  std::vector<uint64_t> gone;
  for (const auto& [session, reader] : readers_) {
    if (reader.reader == peer) gone.push_back(session);
  }
  for (const uint64_t session : gone) end_reader(session);
  gone.clear();
  for (const auto& [session, intake] : intakes_) {
    if (intake.worker == peer) gone.push_back(session);
  }
  for (const uint64_t session : gone) {
    apply(session, intakes_.at(session).session.fail(
                       error(Code::unavailable, "the worker that offered it is gone")));
  }
}

void StoreLogic::on_tick(TimeUs now) {
  if (!blocks_) return;
  for (const uint64_t session : blocks_->expire(now)) {
    log_warning("store", "a reader did not come to its end within its lease");
    end_reader(session);
  }
  std::vector<uint64_t> all;
  for (const auto& [session, intake] : intakes_) all.push_back(session);
  for (const uint64_t session : all) {
    const auto found = intakes_.find(session);
    if (found != intakes_.end()) apply(session, found->second.session.on_tick(now));
  }
}

std::vector<kv::BlockName> StoreLogic::names() const {
  return blocks_ ? blocks_->names() : std::vector<kv::BlockName>();
}

v1::StoreReport StoreLogic::report() const {
  v1::StoreReport report;
  report.set_memory_bytes(region_.bytes);
  report.set_sessions(static_cast<uint32_t>(intakes_.size() + readers_.size()));
  if (!blocks_) return report;
  const kv::BlockStoreStats stats = blocks_->stats();
  report.set_block_bytes(blocks_->block_bytes());
  report.set_blocks_total(stats.total);
  report.set_blocks(stats.held);
  report.set_blocks_arriving(stats.arriving);
  report.set_blocks_pinned(stats.pinned);
  report.set_hits(stats.hits);
  report.set_misses(stats.misses);
  report.set_stored(stats.stored);
  report.set_evicted(stats.evicted);
  report.set_refused(stats.refused);
  report.set_corrupt(stats.corrupt + damaged_on_the_way_);
  return report;
}

}  // namespace troupe::actors
