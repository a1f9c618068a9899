#include "transport/source.hpp"

#include <utility>

#include "base/concat.hpp"
#include "base/crc32c.hpp"
#include "base/log.hpp"
#include "transport/limits.hpp"

namespace troupe::transport {
namespace {

FrameHead answer_head(const WantFrame& want, FrameKind kind, uint64_t incarnation) {
  FrameHead head;
  head.kind = static_cast<uint16_t>(kind);
  head.target = want.head.sender;
  head.sender = incarnation;
  head.token = want.head.token;
  head.request = want.head.request;
  return head;
}

}  // namespace

void GrantTable::grant(uint64_t token, kv::PageId page) {
  const std::lock_guard lock(mutex_);
  pages_[token].insert(page);
}

void GrantTable::revoke(uint64_t token) {
  const std::lock_guard lock(mutex_);
  pages_.erase(token);
}

void GrantTable::revoke_page(uint64_t token, kv::PageId page) {
  const std::lock_guard lock(mutex_);
  const auto found = pages_.find(token);
  if (found == pages_.end()) return;
  found->second.erase(page);
  if (found->second.empty()) pages_.erase(found);
}

bool GrantTable::allows(uint64_t token, kv::PageId page) const {
  const std::lock_guard lock(mutex_);
  const auto found = pages_.find(token);
  return found != pages_.end() && found->second.contains(page);
}

size_t GrantTable::size() const {
  const std::lock_guard lock(mutex_);
  return pages_.size();
}

Status Source::listen() {
  return worker_.handle_messages(
      static_cast<unsigned>(FrameKind::want),
      [](void* self, const void* header, size_t header_bytes, void* data, size_t data_bytes,
         const ucp_am_recv_param_t* param) -> ucs_status_t {
        auto& source = *static_cast<Source*>(self);
        // A want is small: one that comes by rendezvous is not ours.
        const bool eager = (param->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV) == 0;
        source.on_want({static_cast<const std::byte*>(header), eager ? header_bytes : 0},
                       {static_cast<const char*>(data), eager ? data_bytes : 0});
        return UCS_OK;
      },
      this);
}

void Source::on_want(std::span<const std::byte> header, std::string_view payload) {
  const auto want = parse_want(header);
  if (stopped_ || !want || payload.empty() || payload.size() > limits::worker_address_bytes_max ||
      arrived_.size() >= limits::wants_arrived_max ||
      crc32c(std::as_bytes(std::span(payload.data(), payload.size()))) != want->address_crc) {
    ++counters_.frames_dropped;
    return;
  }
  arrived_.push_back({*want, std::string(payload)});
}

void Source::answer(const Arrived& arrived) {
  Receiver* receiver = receiver_of(arrived.want, arrived.address);
  if (receiver == nullptr) {
    ++counters_.frames_dropped;
  } else if (const auto reason = why_refused(arrived.want)) {
    refuse(*receiver, arrived.want, *reason);
  } else if (receiver->jobs.size() >= limits::wants_queued_max) {
    refuse(*receiver, arrived.want, Refusal::too_many);
  } else {
    receiver->jobs.push_back({arrived.want});
  }
}

Source::Receiver* Source::receiver_of(const WantFrame& want, std::string_view address) {
  const ReceiverKey key{want.head.sender, want.generation};
  const auto found = receivers_.find(key);
  if (found != receivers_.end()) {
    if (!found->second.endpoint->down) return &found->second;
    forget(found);
  }
  if (receivers_.size() >= limits::receivers_max) return nullptr;
  auto endpoint = worker_.connect(address);
  if (!endpoint) {
    log_warning("transport", endpoint.error().message());
    return nullptr;
  }
  Receiver& receiver = receivers_[key];
  receiver.endpoint = std::move(endpoint).value();
  receiver.key = key;
  return &receiver;
}

void Source::forget(std::map<ReceiverKey, Receiver>::iterator receiver) {
  auto endpoint = std::move(receiver->second.endpoint);
  receivers_.erase(receiver);
  worker_.close(std::move(endpoint), true);
}

std::optional<Refusal> Source::why_refused(const WantFrame& want) const {
  if (want.head.target != incarnation_) return Refusal::wrong_incarnation;
  if (pool_.region.data == nullptr || want.block_bytes != pool_.block_bytes ||
      want.piece_bytes < limits::tcp_piece_bytes_min ||
      want.piece_bytes > limits::tcp_piece_bytes_max) {
    return Refusal::wrong_block_size;
  }
  if (want.page >= pool_.num_pages) return Refusal::out_of_range;
  if (!grants_.allows(want.head.token, want.page)) return Refusal::not_granted;
  return std::nullopt;
}

void Source::refuse(Receiver& receiver, const WantFrame& want, Refusal reason) {
  ++counters_.wants_refused;
  auto send = std::make_unique<Send>();
  send->refused.head = answer_head(want, FrameKind::refused, incarnation_);
  send->refused.reason = static_cast<uint32_t>(reason);
  const auto header = std::as_bytes(std::span(&send->refused, 1));
  post(receiver, std::move(send), FrameKind::refused, header, {});
}

bool Source::turn() {
  bool active = !arrived_.empty();
  for (const Arrived& arrived : std::exchange(arrived_, {})) answer(arrived);
  for (auto it = receivers_.begin(); it != receivers_.end();) {
    const auto receiver = it++;
    if (receiver->second.endpoint->down) {
      ++counters_.peers_lost;
      forget(receiver);
      active = true;
    } else {
      active |= pump(receiver->second);
    }
  }
  return active;
}

bool Source::pump(Receiver& receiver) {
  bool active = false;
  while (!receiver.jobs.empty() && receiver.in_flight < limits::pieces_in_flight_max &&
         !receiver.endpoint->down) {
    Job& job = receiver.jobs.front();
    active = true;
    // Asked again for every piece: a revoked session stops within one window.
    if (!grants_.allows(job.want.head.token, job.want.page)) {
      refuse(receiver, job.want, Refusal::not_granted);
      receiver.jobs.pop_front();
      continue;
    }
    send_piece(receiver, job);
    if (job.offset == pool_.block_bytes) receiver.jobs.pop_front();
  }
  return active;
}

void Source::send_piece(Receiver& receiver, Job& job) {
  const uint64_t length = piece_length(pool_.block_bytes, job.want.piece_bytes, job.offset);
  auto send = std::make_unique<Send>();
  send->data.head = answer_head(job.want, FrameKind::data, incarnation_);
  send->data.offset = job.offset;
  send->data.length = length;
  send->last_piece = job.offset + length == pool_.block_bytes;
  const auto header = std::as_bytes(std::span(&send->data, 1));
  const std::span<const std::byte> payload(pool_.page(job.want.page) + job.offset, length);
  job.offset += length;
  post(receiver, std::move(send), FrameKind::data, header, payload);
}

void Source::post(Receiver& receiver, std::unique_ptr<Send> send, FrameKind kind,
                  std::span<const std::byte> header, std::span<const std::byte> payload) {
  send->source = this;
  send->receiver = receiver.key;
  ucp_request_param_t params{};
  params.op_attr_mask =
      UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA | UCP_OP_ATTR_FIELD_FLAGS;
  // Receivers do not post buffers (receiver_tcp.cpp says why): a piece fits into one segment, and
  // they copy it out of UCX's own buffer.
  params.flags = UCP_AM_SEND_FLAG_EAGER;
  params.user_data = send.get();
  params.cb.send = [](void* request, ucs_status_t status, void* user_data) {
    const std::unique_ptr<Send> done(static_cast<Send*>(user_data));
    done->source->on_sent(*done, status);
    ucp_request_free(request);
  };
  ++receiver.in_flight;
  ++sends_;
  const ucs_status_ptr_t request =
      ucp_am_send_nbx(receiver.endpoint->handle, static_cast<unsigned>(kind), header.data(),
                      header.size(), payload.data(), payload.size(), &params);
  if (UCS_PTR_IS_PTR(request)) {
    // The callback owns it now.
    [[maybe_unused]] const Send* owned = send.release();
  } else {
    on_sent(*send, UCS_PTR_STATUS(request));
  }
}

void Source::on_sent(const Send& send, ucs_status_t status) {
  --sends_;
  const auto found = receivers_.find(send.receiver);
  const bool current = found != receivers_.end();
  if (current) --found->second.in_flight;
  if (status != UCS_OK) {
    if (current) {
      found->second.endpoint->down = true;
      if (found->second.endpoint->why == UCS_OK) found->second.endpoint->why = status;
    }
    return;
  }
  counters_.bytes_served += send.data.length;
  if (send.last_piece) ++counters_.blocks_served;
}

void Source::stop() {
  stopped_ = true;
  while (!receivers_.empty()) forget(receivers_.begin());
}

}  // namespace troupe::transport
