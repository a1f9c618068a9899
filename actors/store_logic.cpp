#include "actors/store_logic.hpp"

#include <algorithm>
#include <set>

#include "actors/limits.hpp"
#include "base/concat.hpp"
#include "base/log.hpp"
#include "schemas/convert.hpp"

namespace troupe::actors {
namespace {

void report_disk(const StoreDisk& disk, v1::StoreReport& report) {
  const kv::DiskTierStats stats = disk.tier().stats();
  report.set_disk_bytes_max(stats.bytes_max);
  report.set_disk_bytes(stats.bytes);
  report.set_disk_blocks(static_cast<uint32_t>(stats.blocks));
  report.set_disk_waiting(static_cast<uint32_t>(disk.num_waiting()));
  report.set_disk_read(stats.read);
  report.set_disk_written(stats.written);
  report.set_disk_dropped(stats.dropped);
  report.set_disk_corrupt(stats.corrupt);
  report.set_disk_failed(stats.failed);
  report.set_disk_bytes_per_us(stats.bytes_per_us);
}

}  // namespace

Digest digest_of(const std::string& bytes) {
  Digest digest;
  std::copy_n(bytes.begin(), digest.size(), digest.begin());
  return digest;
}

StoreLogic::StoreLogic(kv::Region region, StorePorts ports)
    : region_(std::move(region)), ports_(std::move(ports)) {}

void StoreLogic::use_disk(uint64_t bytes_max, const std::vector<kv::FoundSegment>& found) {
  auto tier = std::make_unique<kv::DiskTier>(bytes_max, events_, ports_.disk);
  tier->load(found);
  disk_ = std::make_unique<StoreDisk>(std::move(tier));
}

Status StoreLogic::check_fingerprint(const std::string& fingerprint, const char* whose) const {
  if (fingerprint.size() != sizeof(Digest)) {
    return error(Code::invalid_argument,
                 concat("a KV fingerprint of ", fingerprint.size(), " bytes"),
                 concat(sizeof(Digest), " bytes"));
  }
  if (!blocks_ || fingerprint == fingerprint_) return {};
  return error(Code::failed_precondition,
               concat(whose, " KV fingerprint is ", hex(digest_of(fingerprint)),
                      ", this store keeps blocks of ", hex(digest_of(fingerprint_))),
               "run one store for each model, KV type and numerics");
}

Status StoreLogic::check(const v1::Offer& offer) const {
  if (is_flushing_ || is_leaving_) return error(Code::unavailable, "the store is about to stop");
  TROUPE_TRY(check_fingerprint(offer.kv_fingerprint(), "the worker's"));
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

Status StoreLogic::prepare(size_t block_bytes, const std::string& fingerprint) {
  if (blocks_) return {};
  if (block_bytes == 0 || region_.bytes / block_bytes == 0) {
    return error(Code::exhausted,
                 concat("a memory of ", region_.bytes, " bytes holds no block of ", block_bytes),
                 "give the store more store_memory");
  }
  auto made = std::make_unique<kv::BlockStore>(region_, block_bytes, events_);
  TROUPE_ASSIGN(transport_address_, ports_.serve(block_bytes, made->num_pages()));
  blocks_ = std::move(made);
  fingerprint_ = fingerprint;
  if (disk_) disk_->use(*blocks_, digest_of(fingerprint_));
  log_info("store",
           concat("keeps up to ", blocks_->num_pages(), " blocks of ", block_bytes / 1024, " KiB"));
  return {};
}

Result<std::vector<kv::OfferedBlock>> StoreLogic::unpack(const v1::Offer& offer) const {
  TROUPE_ASSIGN(const auto names, schemas::unpack_names(offer.names()));
  TROUPE_ASSIGN(const auto parents, schemas::unpack_names(offer.parents()));
  const auto count = static_cast<size_t>(offer.blocks_size());
  TROUPE_ASSIGN(const auto roots, schemas::unpack_names(offer.roots()));
  if (names.size() != count || parents.size() != count || roots.size() != count) {
    return error(Code::corrupt, concat(count, " offered blocks have ", names.size(), " names, ",
                                       parents.size(), " parents and ", roots.size(), " roots"));
  }
  std::vector<kv::OfferedBlock> blocks(count);
  for (size_t i = 0; i < count; ++i) {
    const v1::AnnouncedBlock& wire = offer.blocks(static_cast<int>(i));
    if (wire.block_index() != i) {
      return error(Code::corrupt, concat("offered block ", i, " is numbered ", wire.block_index()));
    }
    const uint32_t priority = std::min<uint32_t>(offer.priority(), kv::num_priorities - 1);
    blocks[i] = {names[i], parents[i], wire.checksum(), static_cast<uint8_t>(priority), roots[i]};
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
  if (auto status = prepare(offer.block_bytes(), offer.kv_fingerprint()); !status)
    return refuse(status.error());
  std::vector<kv::PageId> pages;
  std::vector<uint32_t> wanted;
  for (uint32_t i = 0; i < offered->size(); ++i) {
    const kv::BlockStore::Answer answer = blocks_->offer((*offered)[i]);
    if (disk_ && answer.verdict == kv::BlockStore::Verdict::held) {
      disk_->on_used((*offered)[i].name);
    }
    if (answer.verdict != kv::BlockStore::Verdict::wanted) continue;
    pages.push_back(answer.page);
    wanted.push_back(i);
  }
  reply.mutable_wanted()->Add(wanted.begin(), wanted.end());
  if (!wanted.empty()) take(worker, offer, std::move(pages), std::move(wanted), *offered, now);
  return reply;
}

void StoreLogic::take(PeerKey worker, const v1::Offer& offer, std::vector<kv::PageId> pages,
                      std::vector<uint32_t> wanted, const std::vector<kv::OfferedBlock>& offered,
                      TimeUs now) {
  const uint64_t id = offer.session();
  const size_t count = wanted.size();
  std::vector<kv::OfferedBlock> blocks;
  for (const uint32_t i : wanted) blocks.push_back(offered[i]);
  Intake intake{transport::ReceiverSession(id, now), worker, 0, pages, wanted, std::move(blocks),
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
    if (disk_) disk_->on_stored(intake.blocks[index]);
  }
  if (!result && result.error().code == Code::corrupt) ++damaged_on_the_way_;
  const Status status = result ? Status() : Status(result.error());
  apply(id, intake.session.on_read_done(index, status, now));
  pump(now);
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

void StoreLogic::on_peer_down(PeerKey peer) {
  if (offers_ && offers_->store() == peer) {
    log_warning("store", "the store that takes our blocks over is gone");
    to_offer_.clear();
    offers_->set_store(std::nullopt);
  }
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
  pump(now);
  if (!blocks_) return;
  if (offers_) offers_->on_tick(now);
  pump_offers(now);
  tick_readers(now);
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

std::vector<kv::Residence> StoreLogic::residences() const {
  std::vector<kv::Residence> all;
  if (blocks_) {
    for (const kv::BlockName& name : blocks_->names()) all.push_back({name, kv::Tier::host});
  }
  if (disk_) {
    for (const kv::BlockName& name : disk_->tier().names()) all.push_back({name, kv::Tier::disk});
  }
  return all;
}

void StoreLogic::begin_flush(TimeUs now) {
  is_flushing_ = true;
  if (disk_) disk_->begin_flush();
  pump(now);
}

void StoreLogic::pump(TimeUs now) {
  if (disk_) disk_->pump(now);
}

v1::StoreReport StoreLogic::report() const {
  v1::StoreReport report;
  report.set_memory_bytes(region_.bytes);
  report.set_sessions(static_cast<uint32_t>(intakes_.size() + readers_.size()));
  if (disk_) report_disk(*disk_, report);
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
