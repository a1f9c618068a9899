// Puts bulk payloads together, one assembler a sender, and answers each part.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>

#include "actors/interfaces.hpp"
#include "actors/parts.hpp"
#include "schemas/convert.hpp"

namespace troupe::actors {

inline BulkKind bulk_kind(v1::PartKind kind) {
  switch (kind) {
    case v1::PART_PREPARE:
      return BulkKind::prompt;
    case v1::PART_SNAPSHOT:
      return BulkKind::snapshot;
    default:
      return BulkKind::resume;
  }
}

class PeerParts {
 public:
  /// The answer to one part and, with its last part, the whole payload.
  std::pair<v1::PartAck, std::optional<std::string>> take(const caf::strong_actor_ptr& sender,
                                                          const v1::Part& part, TimeUs now) {
    PartsAssembler& assembler = by_peer_[caf::actor_cast<caf::actor_addr>(sender)];
    auto whole = assembler.add(bulk_kind(part.kind()), part.transfer(), part.total_bytes(),
                               part.offset(), part.data(), now);
    v1::PartAck ack;
    if (!whole) {
      *ack.mutable_failure() = schemas::to_wire(whole.error());
      return {ack, std::nullopt};
    }
    ack.set_received_bytes(part.offset() + part.data().size());
    return {ack, std::move(*whole)};
  }

  void expire(TimeUs now) {
    for (auto it = by_peer_.begin(); it != by_peer_.end();) {
      it->second.expire(now);
      it = it->second.num_open() == 0 ? by_peer_.erase(it) : std::next(it);
    }
  }

 private:
  std::map<caf::actor_addr, PartsAssembler> by_peer_;
};

inline v1::PartAck refuse_part(const Error& why) {
  v1::PartAck ack;
  *ack.mutable_failure() = schemas::to_wire(why);
  return ack;
}

}  // namespace troupe::actors
