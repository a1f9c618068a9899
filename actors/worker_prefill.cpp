// The prefill side of a worker: sessions that read blocks from this worker's pool. The states are
// transport::SourceSession's.
#include "actors/limits.hpp"
#include "actors/worker_logic.hpp"
#include "base/concat.hpp"
#include "base/log.hpp"
#include "schemas/convert.hpp"

namespace troupe::actors {

WorkerLogic::Source& WorkerLogic::source_of(uint64_t session, TimeUs now) {
  const auto found = sources_.find(session);
  if (found != sources_.end()) return found->second;
  Source made{transport::SourceSession(session, now, parts_.page_lease_us),
              0,
              0,
              {},
              false,
              {},
              {},
              {},
              now};
  return sources_.emplace(session, std::move(made)).first->second;
}

Status WorkerLogic::on_prefill(PeerKey client, const v1::PrefillRequest& request, TimeUs now) {
  now_ = now;
  if (closing_) return error(Code::unavailable, "the worker is shutting down");
  if (draining_) return error(Code::unavailable, "the worker drains");
  if (sources_.size() >= limits::sessions_max && !sources_.contains(request.session())) {
    return error(Code::exhausted, concat(sources_.size(), " sessions are open"));
  }
  const uint64_t session = request.session();
  Source& source = source_of(session, now);
  if (source.sequence) return {};
  source.request_id = request.request_id();
  source.attempt = request.attempt();
  source.client = client;

  engine::SequenceSpec spec;
  spec.tokens.assign(request.tokens().begin(), request.tokens().end());
  spec.num_prompt_tokens = static_cast<uint32_t>(spec.tokens.size());
  spec.prefill_only = true;
  auto root = schemas::unpack_name(request.root());
  auto id = root ? (spec.root = *root, parts_.engine.add(std::move(spec)))
                 : Result<engine::SequenceId>(root.error());
  if (!id) {
    if (source.reader) {
      apply(session, source.session.fail(id.error()));
    } else {
      // Kept until the lease ends: the reader that is about to attach need not wait for nothing.
      source.failure = id.error();
    }
    return id.error();
  }
  metrics_.on_prefill(request, now);
  source.sequence = *id;
  source_by_sequence_[*id] = session;
  source.num_cached = source.num_reused =
      parts_.engine.num_cached_blocks(*id) * parts_.engine.num_groups();
  begin_fetch(request, source, now);
  return {};
}

v1::AttachReply WorkerLogic::on_attach(PeerKey reader, const v1::Attach& attach, TimeUs now) {
  now_ = now;
  v1::AttachReply reply;
  reply.set_kv_fingerprint(parts_.fingerprint);
  const auto refused = [&reply](const Error& why) {
    *reply.mutable_failure() = schemas::to_wire(why);
    return reply;
  };
  if (attach.kv_fingerprint() != parts_.fingerprint) {
    const auto text = [](const std::string& bytes) {
      return troupe::hex({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()});
    };
    return refused(error(Code::failed_precondition,
                         concat("KV fingerprints differ: reader ", text(attach.kv_fingerprint()),
                                ", source ", text(parts_.fingerprint)),
                         "both need the same model, compute mode, KV type and release"));
  }
  if (closing_) return refused(error(Code::unavailable, "the worker is shutting down"));
  const bool known = sources_.contains(attach.session());
  const bool by_name = !attach.names().empty();
  if (by_name && known) {
    return refused(error(Code::failed_precondition, "the session is another one's already"));
  }
  // What is here can be read as long as the worker is there.
  if (draining_ && !known && !by_name) {
    return refused(error(Code::unavailable, "the worker drains"));
  }
  if (sources_.size() >= limits::sessions_max && !known) {
    return refused(error(Code::exhausted, concat(sources_.size(), " sessions are open")));
  }
  if (by_name) {
    if (auto given = give_by_name(reader, attach, now); !given) return refused(given.error());
    reply.set_transport_address(parts_.transport_address);
    return reply;
  }
  Source& source = source_of(attach.session(), now);
  if (source.failure) {
    const Error why = *source.failure;
    apply(attach.session(), source.session.cancel());
    return refused(why);
  }
  if (source.session.is_reserved()) {
    return refused(error(Code::failed_precondition, "the session has a reader already"));
  }
  source.reader = reader;
  reply.set_transport_address(parts_.transport_address);
  apply(attach.session(),
        source.session.on_reserved(attach.first_block(), attach.end_block(), now));
  return reply;
}

void WorkerLogic::take_block(const engine::BlockReady& ready, Announces& announces) {
  const auto owner = source_by_sequence_.find(ready.sequence);
  if (owner == source_by_sequence_.end() || ready.passing) return;
  const uint64_t session = owner->second;
  parts_.pool.retain(ready.block.page);
  ports_.grant(session, ready.block.page);
  const transport::BlockAnnouncement block{ready.block_index, ready.block.page,
                                           ready.block.checksum};
  apply(session, sources_.at(session).session.announce(block), announces[session]);
}

void WorkerLogic::apply(uint64_t session, const transport::SourceActions& actions,
                        v1::Announce& announce) {
  announce.set_session(session);
  const auto found = sources_.find(session);
  for (const transport::BlockAnnouncement& block : actions.announce) {
    v1::AnnouncedBlock* added = announce.add_blocks();
    added->set_block_index(block.index);
    added->set_page(block.page);
    added->set_checksum(block.checksum);
    added->set_reused(block.index < found->second.num_reused);
  }
  if (actions.tell_last) announce.set_last(true);
  if (actions.tell_failure) *announce.mutable_failure() = schemas::to_wire(*actions.tell_failure);
  if (actions.over) ports_.revoke(session);
  for (const kv::PageId page : actions.unpin) {
    if (!actions.over) ports_.revoke_page(session, page);
    parts_.pool.release(page);
  }
  if (!actions.over) return;
  const auto sequence = found->second.sequence;
  const uint64_t fetch = found->second.fetch_session;
  const bool runs = sequence && !found->second.prefilled;
  if (sequence) source_by_sequence_.erase(*sequence);
  sources_.erase(found);
  source_by_fetch_.erase(fetch);
  // No page may go while a read can still write it.
  if (runs) handovers_.cancel(fetch, [this, sequence] { parts_.engine.cancel(*sequence); });
}

void WorkerLogic::apply(uint64_t session, const transport::SourceActions& actions) {
  const std::optional<PeerKey> reader = sources_.at(session).reader;
  v1::Announce announce;
  apply(session, actions, announce);
  if (announce.blocks_size() > 0 || actions.tell_last || actions.tell_heartbeat ||
      actions.tell_failure) {
    tell_reader(reader, announce);
  }
}

void WorkerLogic::tell_reader(std::optional<PeerKey> reader, const v1::Announce& announce) {
  if (reader) ports_.send_announce(*reader, announce);
}

void WorkerLogic::on_read_done(const v1::ReadDone& done, TimeUs now) {
  now_ = now;
  if (offers_.on_read_done(done, now)) return;
  const auto found = sources_.find(done.session());
  if (found == sources_.end()) return;
  const std::vector<uint32_t> indices(done.block_index().begin(), done.block_index().end());
  apply(done.session(), found->second.session.on_read_done(indices, now));
  if (done.all()) apply(done.session(), found->second.session.on_done(now));
}

}  // namespace troupe::actors
