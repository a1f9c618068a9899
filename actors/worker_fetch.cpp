// Blocks that somebody has already: what a worker reads from others by name, and gives to them.
#include <algorithm>

#include "actors/limits.hpp"
#include "actors/worker_logic.hpp"
#include "base/concat.hpp"
#include "schemas/convert.hpp"

namespace troupe::actors {
namespace {

// A new measurement of how fast a store is read counts this much against those before.
constexpr double news_share = 0.25;

}  // namespace

bool WorkerLogic::begin_reading(uint64_t session, engine::SequenceId sequence,
                                const v1::NodeInfo& source, size_t end, bool by_name, TimeUs now) {
  const std::vector<kv::BlockName>& names = parts_.engine.block_names(sequence);
  const uint32_t cached = parts_.engine.num_cached_blocks(sequence);
  end = std::min(end, names.size());
  if (cached >= end) return false;
  auto pages = parts_.engine.expect_external(sequence, static_cast<uint32_t>(end));
  if (pages.empty()) return false;
  const uint32_t groups = parts_.engine.num_groups();
  std::vector<kv::BlockName> wanted;
  for (uint32_t i = 0; by_name && i < pages.size(); ++i) {
    if (pages[i] == kv::no_page) continue;
    wanted.push_back(kv::page_name(names[cached + i / groups], i % groups));
  }
  handovers_.begin(session, sequence, source, cached * groups, std::move(pages), parts_.fingerprint,
                   std::move(wanted), now);
  return true;
}

void WorkerLogic::begin_fetch(const v1::PrefillRequest& request, Source& source, TimeUs now) {
  const uint64_t fetch = request.fetch_session();
  if (fetch == 0 || request.fetch().name().empty()) return;
  source_by_fetch_[fetch] = request.session();
  source.fetch_session = fetch;
  if (begin_reading(fetch, *source.sequence, request.fetch(), request.fetch_blocks(), true, now)) {
    return;
  }
  source_by_fetch_.erase(fetch);
  source.fetch_session = 0;
}

void WorkerLogic::note_fetch(const HandoverSummary& summary) {
  if (summary.failure && summary.failure->code == Code::corrupt) ++blocks_corrupt_;
  if (!summary.by_name) return;
  blocks_fetched_ += summary.blocks_moved;
  if (summary.blocks_moved > 0 && summary.moving_us > 0) {
    const double rate =
        static_cast<double>(summary.bytes_moved) / static_cast<double>(summary.moving_us);
    fetch_bytes_per_us_ = fetch_bytes_per_us_ == 0
                              ? rate
                              : fetch_bytes_per_us_ + news_share * (rate - fetch_bytes_per_us_);
  }
  const auto fetch = source_by_fetch_.find(summary.session);
  if (fetch == source_by_fetch_.end()) return;
  Source& source = sources_.at(fetch->second);
  source.fetch_session = 0;
  // Blocks come in any order: after a failure it is not known which are a beginning.
  if (!summary.failure) source.num_reused = std::max(source.num_reused, summary.end);
  source_by_fetch_.erase(fetch);
}

Status WorkerLogic::give_by_name(PeerKey reader, const v1::Attach& attach, TimeUs now) {
  TROUPE_ASSIGN(const auto names, schemas::unpack_names(attach.names()));
  if (names.size() > limits::names_max) {
    return error(Code::invalid_argument, concat(names.size(), " block names"),
                 concat("at most ", limits::names_max));
  }
  const std::vector<kv::IndexedBlock> held = parts_.index.match(names);
  if (held.empty()) return error(Code::not_found, "the worker has none of these blocks");
  const uint64_t session = attach.session();
  Source& source = source_of(session, now);
  source.by_name = true;
  source.reader = reader;
  const uint32_t first = attach.first_block();
  source.num_reused = first + static_cast<uint32_t>(held.size());
  v1::Announce announce;
  apply(session, source.session.on_reserved(first, source.num_reused, now), announce);
  uint32_t index = first;
  for (const kv::IndexedBlock& block : held) {
    ports_.grant(session, block.page);
    apply(session, source.session.announce({index++, block.page, block.checksum}), announce);
  }
  apply(session, source.session.finish(), announce);
  tell_reader(reader, announce);
  return {};
}

bool WorkerLogic::came_from_store(const engine::BlockReady& ready) const {
  const auto owner = source_by_sequence_.find(ready.sequence);
  if (owner == source_by_sequence_.end()) return false;
  const Source& source = sources_.at(owner->second);
  return ready.block_index >= source.num_cached && ready.block_index < source.num_reused;
}

}  // namespace troupe::actors
