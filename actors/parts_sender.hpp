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
#include "actors/runtime.hpp"
#include "base/concat.hpp"
#include "schemas/convert.hpp"

namespace troupe::actors {

/// One transfer under way; shared by the callbacks of its parts.
struct PartsTransfer {
  v1::PartKind kind = v1::PART_NONE;
  uint64_t id = 0;
  std::string payload;
  size_t next = 0;
  size_t acknowledged = 0;
  bool over = false;
  std::function<void(Status)> done;

  void end(Status status) {
    if (over) return;
    over = true;
    payload.clear();
    if (done) done(std::move(status));
  }
};

template <class Self>
void send_next_part(Self* self, const PartSink& sink, std::shared_ptr<PartsTransfer> transfer) {
  const size_t bytes = std::min(limits::part_bytes, transfer->payload.size() - transfer->next);
  v1::Part part;
  part.set_kind(transfer->kind);
  part.set_transfer(transfer->id);
  part.set_total_bytes(transfer->payload.size());
  part.set_offset(transfer->next);
  part.set_data(transfer->payload.substr(transfer->next, bytes));
  transfer->next += bytes;
  self->request(sink, std::chrono::milliseconds(limits::request_timeout_ms), std::move(part))
      .then(
          [self, sink, transfer, bytes](const v1::PartAck& ack) {
            if (transfer->over) return;
            if (schemas::failed(ack.failure())) {
              transfer->end(schemas::from_wire(ack.failure()));
              return;
            }
            transfer->acknowledged += bytes;
            if (transfer->next < transfer->payload.size()) {
              send_next_part(self, sink, transfer);
            } else if (transfer->acknowledged == transfer->payload.size()) {
              transfer->end({});
            }
          },
          [self, transfer](const caf::error& e) {
            transfer->end(error(Code::unavailable,
                                concat("a part was not acknowledged: ", self->system().render(e))));
          });
}

/// Sends `payload` to `sink`; `done` is called once on the actor's thread. An empty payload is a
/// defect of the caller: every message of ours has content.
template <class Self>
void send_parts(Self* self, const PartSink& sink, v1::PartKind kind, std::string payload,
                std::function<void(Status)> done) {
  auto transfer = std::make_shared<PartsTransfer>();
  transfer->kind = kind;
  transfer->id = random_u64();
  transfer->payload = std::move(payload);
  transfer->done = std::move(done);
  for (int i = 0; i < limits::part_window && transfer->next < transfer->payload.size(); ++i) {
    send_next_part(self, sink, transfer);
  }
}

}  // namespace troupe::actors
