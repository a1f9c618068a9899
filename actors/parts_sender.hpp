// Sends a bulk payload in parts of 64 KiB with a window of unacknowledged parts: CAF itself has no
// back-pressure.
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "actors/interfaces.hpp"
#include "actors/limits.hpp"
#include "actors/parts.hpp"
#include "actors/runtime.hpp"
#include "base/concat.hpp"
#include "schemas/convert.hpp"

namespace troupe::actors {

/// One transfer under way; shared by the callbacks of its parts.
struct PartsTransfer {
  v1::PartKind kind = v1::PART_NONE;
  uint64_t id = 0;
  std::string payload;
  size_t next = 0;          ///< part to send
  size_t acknowledged = 0;  ///< parts
  bool over = false;
  std::function<void(Status)> done;

  /// Sends no further part; nobody is told.
  void abort() {
    over = true;
    payload.clear();
    done = nullptr;
  }
  void end(Status status) {
    if (over) return;
    const auto tell = std::move(done);
    abort();
    if (tell) tell(std::move(status));
  }
};

template <class Self>
void send_next_part(Self* self, const PartSink& sink, std::shared_ptr<PartsTransfer> transfer) {
  const PartView view = Parts(transfer->payload)[transfer->next++];
  v1::Part part;
  part.set_kind(transfer->kind);
  part.set_transfer(transfer->id);
  part.set_total_bytes(transfer->payload.size());
  part.set_offset(view.offset);
  part.set_data(view.bytes.data(), view.bytes.size());
  self->request(sink, std::chrono::milliseconds(limits::request_timeout_ms), std::move(part))
      .then(
          [self, sink, transfer](const v1::PartAck& ack) {
            if (transfer->over) return;
            if (schemas::failed(ack.failure())) {
              transfer->end(schemas::from_wire(ack.failure()));
              return;
            }
            const size_t parts = Parts(transfer->payload).size();
            transfer->acknowledged += 1;
            if (transfer->next < parts) {
              send_next_part(self, sink, transfer);
            } else if (transfer->acknowledged == parts) {
              transfer->end({});
            }
          },
          [self, transfer](const caf::error& e) {
            transfer->end(error(Code::unavailable,
                                concat("a part was not acknowledged: ", self->system().render(e))));
          });
}

/// Sends `payload` to `sink`; `done` is called once on the actor's thread, unless the transfer that
/// is returned is aborted before.
template <class Self>
std::shared_ptr<PartsTransfer> send_parts(Self* self, const PartSink& sink, v1::PartKind kind,
                                          std::string payload, std::function<void(Status)> done) {
  auto transfer = std::make_shared<PartsTransfer>();
  transfer->kind = kind;
  transfer->id = random_u64();
  transfer->payload = std::move(payload);
  transfer->done = std::move(done);
  const size_t parts = Parts(transfer->payload).size();
  while (transfer->next < std::min<size_t>(parts, limits::part_window)) {
    send_next_part(self, sink, transfer);
  }
  return transfer;
}

}  // namespace troupe::actors
