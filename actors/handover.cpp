#include "actors/handover.hpp"

#include "base/concat.hpp"
#include "base/log.hpp"
#include "kv/layout.hpp"
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
                      uint32_t first_block, std::vector<kv::PageId> pages,
                      const std::string& fingerprint, TimeUs now) {
  v1::Attach attach;
  attach.set_session(id);
  attach.set_first_block(first_block);
  attach.set_end_block(first_block + static_cast<uint32_t>(pages.size()));
  attach.set_kv_fingerprint(fingerprint);

  Session& session = sessions_[id];
  session.id = id;
  session.sequence = sequence;
  session.first_block = first_block;
  session.pages = std::move(pages);
  session.fingerprint = fingerprint;
  session.last_news_us = now;
  session.summary.session = id;
  session.summary.sequence = sequence;
  ports_.attach(id, source, attach);
}

void Handovers::on_attached(uint64_t id, const Result<v1::AttachReply>& reply, TimeUs now) {
  Session* session = find(id);
  if (session == nullptr) {
    // Cancelled before the source answered: it must not wait for a reader.
    v1::ReadDone done;
    done.set_session(id);
    done.set_all(true);
    ports_.tell_source(id, done);
    return;
  }
  if (session->state != State::offered) return;
  if (!reply) {
    end(*session, reply.error(), now);
  } else if (schemas::failed(reply->failure())) {
    end(*session, schemas::from_wire(reply->failure()), now);
  } else if (reply->kv_fingerprint() != session->fingerprint) {
    end(*session, error(Code::failed_precondition, "the source's KV fingerprint differs"), now);
  } else {
    session->last_news_us = now;
    session->state = State::connecting;
    ports_.connect(id, reply->transport_address());
  }
}

void Handovers::on_connected(uint64_t id, const Result<transport::PeerId>& peer, TimeUs now) {
  Session* session = find(id);
  if (session == nullptr || session->state != State::connecting) return;
  if (!peer) {
    end(*session, peer.error(), now);
    return;
  }
  session->peer = *peer;
  session->state = State::moving;
  session->last_news_us = now;
  read_more(*session);
  end_if_short(*session, now);
}

void Handovers::on_announce(const v1::Announce& announce, TimeUs now) {
  Session* session = find(announce.session());
  if (session == nullptr || session->state == State::ending) return;
  session->last_news_us = now;
  if (schemas::failed(announce.failure())) {
    end(*session, schemas::from_wire(announce.failure()), now);
    return;
  }
  for (const v1::AnnouncedBlock& block : announce.blocks()) {
    const uint64_t end_block = session->first_block + session->pages.size();
    if (block.block_index() < session->first_block || block.block_index() >= end_block) continue;
    if (session->first_announce_us == 0) session->first_announce_us = now;
    session->announced.emplace(block.block_index(), block);
  }
  session->source_done |= announce.last();
  if (session->state == State::moving) read_more(*session);
  end_if_short(*session, now);
}

void Handovers::end_if_short(Session& session, TimeUs now) {
  if (session.state != State::moving || !session.source_done || !session.announced.empty() ||
      !session.reading.empty()) {
    return;
  }
  end(session, error(Code::unavailable, "the source announced fewer blocks than were wanted"), now);
}

void Handovers::read_more(Session& session) {
  while (!session.announced.empty() && session.reading.size() < limits::reads_in_flight_max) {
    const auto next = session.announced.begin();
    const v1::AnnouncedBlock block = next->second;
    session.announced.erase(next);
    session.reading.emplace(block.block_index(), block);
    transport::ReadRequest request;
    request.session_token = session.id;
    request.remote_page = block.page();
    request.local_page = session.pages[block.block_index() - session.first_block];
    request.checksum = block.checksum();
    ports_.read(session.peer, request, block.block_index());
  }
}

void Handovers::on_read(uint64_t id, uint32_t block_index,
                        const Result<transport::ReadDone>& result, TimeUs now) {
  Session* session = find(id);
  if (session == nullptr) return;
  session->reading.erase(block_index);
  session->last_news_us = now;
  if (session->state == State::ending) {
    if (session->reading.empty()) finish(*session);
    return;
  }
  if (!result) {
    end(*session, result.error(), now);
    return;
  }
  session->delivered += 1;
  session->summary.blocks_moved += 1;
  session->summary.bytes_moved += result->bytes;
  session->summary.read_us += result->duration_us;
  session->summary.transport = transport::name(result->path);
  session->summary.handover_us = now - session->first_announce_us;
  v1::ReadDone done;
  done.set_session(id);
  done.add_block_index(block_index);
  ports_.tell_source(id, done);
  engine_.deliver_external(session->sequence, block_index);
  if (session->delivered == session->pages.size()) {
    end(*session, std::nullopt, now);
    return;
  }
  read_more(*session);
  end_if_short(*session, now);
}

void Handovers::on_source_down(uint64_t id, TimeUs now) {
  Session* session = find(id);
  if (session == nullptr || session->state == State::ending) return;
  end(*session, error(Code::unavailable, "the worker that computed the prompt is gone"), now);
}

void Handovers::on_tick(TimeUs now) {
  std::vector<uint64_t> late;
  for (auto& [id, session] : sessions_) {
    if (session.state != State::ending && now - session.last_news_us > limits::handover_idle_us) {
      late.push_back(id);
    }
  }
  for (uint64_t id : late) {
    end(sessions_[id], error(Code::timeout, "no news from the worker that computes the prompt"),
        now);
  }
}

void Handovers::cancel(uint64_t id, std::function<void()> then) {
  Session* session = find(id);
  if (session == nullptr) {
    then();
    return;
  }
  session->cancelled = std::move(then);
  if (session->state == State::ending) return;
  end(*session, error(Code::cancelled, "the request was cancelled"), session->last_news_us);
}

void Handovers::end(Session& session, std::optional<Error> failure, TimeUs) {
  session.state = State::ending;
  session.announced.clear();
  session.summary.failure = std::move(failure);
  v1::ReadDone done;
  done.set_session(session.id);
  done.set_all(true);
  ports_.tell_source(session.id, done);
  // A page must not be given to anybody while a read may still write it: wait for the reads.
  if (session.reading.empty()) {
    finish(session);
  } else {
    ports_.cancel_reads(session.id);
  }
}

void Handovers::finish(Session& session) {
  const HandoverSummary summary = session.summary;
  const auto cancelled = std::move(session.cancelled);
  sessions_.erase(session.id);
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
