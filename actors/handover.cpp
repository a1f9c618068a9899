#include "actors/handover.hpp"

#include <algorithm>

#include "base/concat.hpp"
#include "base/log.hpp"
#include "schemas/convert.hpp"

namespace troupe::actors {

Handovers::Handovers(engine::Engine& engine, HandoverPorts ports,
                     std::function<void(const HandoverSummary&)> over)
    : engine_(engine), ports_(std::move(ports)), over_(std::move(over)) {}

Handovers::Session* Handovers::find(uint64_t session) {
  const auto found = sessions_.find(session);
  return found == sessions_.end() ? nullptr : &found->second;
}

void Handovers::begin(uint64_t id, engine::SequenceId sequence, const v1::NodeInfo& source,
                      uint32_t first, std::vector<kv::PageId> pages, const std::string& fingerprint,
                      std::vector<kv::BlockName> names, TimeUs now) {
  const uint32_t end = first + static_cast<uint32_t>(pages.size());
  std::vector<uint32_t> places;
  if (!names.empty()) {
    for (uint32_t i = 0; i < pages.size(); ++i) {
      if (pages[i] != kv::no_page) places.push_back(first + i);
    }
    std::erase(pages, kv::no_page);
  }
  v1::Attach attach;
  attach.set_session(id);
  attach.set_first_block(first);
  attach.set_end_block(first + static_cast<uint32_t>(pages.size()));
  attach.set_kv_fingerprint(fingerprint);
  attach.set_names(schemas::pack_names(names));
  if (!names.empty()) attach.set_root(schemas::pack_name(engine_.root(sequence)));

  Session begun{transport::ReceiverSession(id, now), sequence, {}, fingerprint, 0, 0, 0, {}, 0, {}};
  begun.summary.session = id;
  begun.summary.sequence = sequence;
  begun.summary.by_name = !names.empty();
  begun.summary.end = end;
  begun.first_block = first;
  begun.names = std::move(names);
  begun.places = std::move(places);
  Session& session = sessions_.insert_or_assign(id, std::move(begun)).first->second;
  const auto reserved = session.session.reserve(first, std::move(pages));
  if (reserved.failure) {
    apply(session, reserved);
    return;
  }
  ports_.attach(id, source, attach);
}

void Handovers::tell_over(uint64_t session) {
  v1::ReadDone done;
  done.set_session(session);
  done.set_all(true);
  ports_.tell_source(session, done);
}

void Handovers::tell_corrupt(const Session& session, uint32_t block_index) {
  const uint32_t nth = block_index - session.first_block;
  const std::string name = nth < session.names.size() ? " " + kv::hex(session.names[nth]) : "";
  log_error("worker", concat("block", name, " at position ", block_index,
                             " of a prompt is not what its source announced; it is computed here"));
  v1::ReadDone news;
  news.set_session(session.session.token());
  news.add_corrupt(block_index);
  ports_.tell_source(news.session(), news);
}

void Handovers::apply(Session& session, const transport::ReceiverActions& actions) {
  const uint64_t id = session.session.token();
  if (actions.failure) session.summary.failure = actions.failure;
  for (const transport::BlockRead& read : actions.read) {
    transport::ReadRequest request;
    request.session_token = id;
    request.remote_page = read.remote_page;
    request.local_page = read.local_page;
    request.checksum = read.checksum;
    ports_.read(session.peer, request, read.index);
  }
  if (!actions.arrived.empty() || actions.tell_heartbeat) {
    v1::ReadDone news;
    news.set_session(id);
    news.mutable_block_index()->Add(actions.arrived.begin(), actions.arrived.end());
    ports_.tell_source(id, news);
  }
  for (const uint32_t index : actions.arrived) {
    engine_.deliver_external(session.sequence, place_of(session, index));
  }
  if (actions.tell_over) tell_over(id);
  // A page must not be given to anybody while a read may still write it: settled comes after them.
  if (actions.cancel_reads) ports_.cancel_reads(id);
  if (actions.settled) finish(session);
}

void Handovers::on_attached(uint64_t id, const Result<v1::AttachReply>& reply, TimeUs now) {
  Session* session = find(id);
  if (session == nullptr) {
    // Cancelled before the source answered: it must not wait for a reader.
    tell_over(id);
    return;
  }
  transport::ReceiverSession& state = session->session;
  if (!reply) {
    apply(*session, state.fail(reply.error()));
  } else if (schemas::failed(reply->failure())) {
    apply(*session, state.fail(schemas::from_wire(reply->failure())));
  } else if (reply->kv_fingerprint() != session->fingerprint) {
    apply(*session,
          state.fail(error(Code::failed_precondition, "the source's KV fingerprint differs")));
  } else if (transport::is_final(state.state())) {
    tell_over(id);
  } else {
    apply(*session, state.on_attached(now));
    ports_.connect(id, reply->transport_address());
  }
}

void Handovers::on_connected(uint64_t id, const Result<transport::PeerId>& peer, TimeUs now) {
  Session* session = find(id);
  if (session == nullptr) return;
  if (!peer) {
    apply(*session, session->session.fail(peer.error()));
    return;
  }
  session->peer = *peer;
  session->connected_us = now;
  apply(*session, session->session.on_connected(now));
}

void Handovers::on_announce(const v1::Announce& announce, TimeUs now) {
  const uint64_t id = announce.session();
  Session* session = find(id);
  if (session == nullptr) return;
  if (schemas::failed(announce.failure())) {
    apply(*session, session->session.fail(schemas::from_wire(announce.failure())));
    return;
  }
  for (const v1::AnnouncedBlock& wire : announce.blocks()) {
    if (session->first_announce_us == 0) session->first_announce_us = now;
    if (wire.reused()) session->reused.insert(wire.block_index());
    const transport::BlockAnnouncement block{wire.block_index(), wire.page(), wire.checksum()};
    apply(*session, session->session.on_announce(block, now));
    session = find(id);
    if (session == nullptr) return;
  }
  apply(*session,
        announce.last() ? session->session.on_last(now) : session->session.on_heartbeat(now));
}

void Handovers::on_read(uint64_t id, uint32_t block_index,
                        const Result<transport::ReadDone>& result, TimeUs now) {
  Session* session = find(id);
  if (session == nullptr) return;
  if (result) {
    session->summary.blocks_moved += 1;
    session->summary.bytes_moved += result->bytes;
    session->summary.read_us += result->duration_us;
    session->summary.transport = transport::name(result->path);
    session->summary.handover_us = now - session->first_announce_us;
    session->summary.last_read_us = now;
    session->summary.moving_us = now - std::max(session->first_announce_us, session->connected_us);
    const bool is_block = place_of(*session, block_index) % engine_.num_groups() == 0;
    session->summary.blocks_reused += is_block && session->reused.contains(block_index) ? 1 : 0;
  } else if (result.error().code == Code::corrupt) {
    tell_corrupt(*session, block_index);
  }
  const Status status = result ? Status() : Status(result.error());
  apply(*session, session->session.on_read_done(block_index, status, now));
}

void Handovers::on_source_down(uint64_t id, TimeUs) {
  Session* session = find(id);
  if (session == nullptr) return;
  apply(*session,
        session->session.fail(error(Code::unavailable, "the process that has the blocks is gone")));
}

void Handovers::on_tick(TimeUs now) {
  std::vector<uint64_t> all;
  for (const auto& [id, session] : sessions_) all.push_back(id);
  for (const uint64_t id : all) {
    if (Session* session = find(id)) apply(*session, session->session.on_tick(now));
  }
}

void Handovers::cancel(uint64_t id, std::function<void()> then) {
  Session* session = find(id);
  if (session == nullptr) {
    then();
    return;
  }
  session->cancelled = std::move(then);
  apply(*session, session->session.cancel());
}

void Handovers::finish(Session& session) {
  const HandoverSummary summary = session.summary;
  const auto cancelled = std::move(session.cancelled);
  sessions_.erase(summary.session);
  if (cancelled) {
    cancelled();
  } else if (summary.failure) {
    log_warning("worker", concat("hand-over ended after ", summary.blocks_moved, " blocks: ",
                                 summary.failure->message(), "; the rest is computed here"));
    engine_.abandon_external(summary.sequence);
  }
  over_(summary);
}

}  // namespace troupe::actors
