// The prefill side of a worker: sessions that read blocks from this worker's pool.
#include "actors/limits.hpp"
#include "actors/worker_logic.hpp"
#include "base/concat.hpp"
#include "base/log.hpp"
#include "schemas/convert.hpp"

namespace troupe::actors {

Status WorkerLogic::on_prefill(const v1::PrefillRequest& request, TimeUs now) {
  now_ = now;
  if (closing_) return error(Code::unavailable, "the worker is shutting down");
  if (sources_.size() >= limits::sessions_max && !sources_.contains(request.session())) {
    return error(Code::exhausted, concat(sources_.size(), " sessions are open"));
  }
  Source& source = sources_[request.session()];
  if (source.sequence) return {};
  source.session = request.session();
  source.request_id = request.request_id();
  source.attempt = request.attempt();
  source.lease_end_us = now + limits::pending_attach_us;

  engine::SequenceSpec spec;
  spec.tokens.assign(request.tokens().begin(), request.tokens().end());
  spec.num_prompt_tokens = static_cast<uint32_t>(spec.tokens.size());
  spec.prefill_only = true;
  auto root = schemas::unpack_name(request.root());
  auto id = root ? (spec.root = *root, parts_.engine.add(std::move(spec)))
                 : Result<engine::SequenceId>(root.error());
  if (!id) {
    if (source.reader) {
      v1::Announce announce;
      announce.set_session(source.session);
      announce.set_last(true);
      *announce.mutable_failure() = schemas::to_wire(id.error());
      ports_.send_announce(*source.reader, announce);
      end_source(request.session());
    } else {
      // Kept until the lease ends: the reader that is about to attach need not wait for nothing.
      source.failure = id.error();
    }
    return id.error();
  }
  source.sequence = *id;
  source_by_sequence_[*id] = request.session();
  return {};
}

v1::AttachReply WorkerLogic::on_attach(PeerKey reader, const v1::Attach& attach, TimeUs now) {
  now_ = now;
  v1::AttachReply reply;
  reply.set_kv_fingerprint(parts_.fingerprint);
  const auto refuse = [&reply](Error why) {
    *reply.mutable_failure() = schemas::to_wire(why);
    return reply;
  };
  if (attach.kv_fingerprint() != parts_.fingerprint) {
    const auto text = [](const std::string& bytes) {
      return troupe::hex({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()});
    };
    return refuse(error(Code::failed_precondition,
                        concat("KV fingerprints differ: reader ", text(attach.kv_fingerprint()),
                               ", source ", text(parts_.fingerprint)),
                        "both need the same model, compute mode, KV type and release"));
  }
  if (closing_) return refuse(error(Code::unavailable, "the worker is shutting down"));
  if (sources_.size() >= limits::sessions_max && !sources_.contains(attach.session())) {
    return refuse(error(Code::exhausted, concat(sources_.size(), " sessions are open")));
  }
  Source& source = sources_[attach.session()];
  if (source.failure) {
    const Error why = *source.failure;
    end_source(attach.session());
    return refuse(why);
  }
  source.session = attach.session();
  source.reader = reader;
  source.first_block = attach.first_block();
  source.end_block = attach.end_block();
  source.lease_end_us = now + limits::pending_attach_us;
  reply.set_transport_address(parts_.transport_address);
  announce_ready(source);
  return reply;
}

void WorkerLogic::take_block(const engine::BlockReady& ready) {
  const auto owner = source_by_sequence_.find(ready.sequence);
  if (owner == source_by_sequence_.end()) return;
  Source& source = sources_.at(owner->second);
  if (!source.blocks.emplace(ready.block_index, ready.block).second) return;
  parts_.pool.retain(ready.block.page);
  ports_.grant(source.session, ready.block.page);
  source.lease_end_us = now_ + limits::pending_attach_us;
}

void WorkerLogic::announce_ready(Source& source) {
  if (!source.reader) return;
  v1::Announce announce;
  announce.set_session(source.session);
  announce.set_last(source.prefilled);
  for (const auto& [index, block] : source.blocks) {
    if (index < source.first_block || index >= source.end_block) continue;
    if (!source.announced.insert(index).second) continue;
    v1::AnnouncedBlock* added = announce.add_blocks();
    added->set_block_index(index);
    added->set_page(block.page);
    added->set_checksum(block.checksum);
  }
  if (announce.blocks_size() > 0 || announce.last()) ports_.send_announce(*source.reader, announce);
}

void WorkerLogic::on_read_done(const v1::ReadDone& done) {
  const auto found = sources_.find(done.session());
  if (found == sources_.end()) return;
  Source& source = found->second;
  source.lease_end_us = now_ + limits::pending_attach_us;
  for (uint32_t index : done.block_index()) {
    const auto block = source.blocks.find(index);
    if (block == source.blocks.end()) continue;
    parts_.pool.release(block->second.page);
    source.blocks.erase(block);
  }
  if (done.all()) end_source(done.session());
}

void WorkerLogic::end_source(uint64_t session) {
  const auto found = sources_.find(session);
  if (found == sources_.end()) return;
  Source& source = found->second;
  ports_.revoke(session);
  for (const auto& [index, block] : source.blocks) parts_.pool.release(block.page);
  if (source.sequence) {
    source_by_sequence_.erase(*source.sequence);
    if (!source.prefilled) parts_.engine.cancel(*source.sequence);
  }
  sources_.erase(found);
}

}  // namespace troupe::actors
