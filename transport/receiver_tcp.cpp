// TCP: a want goes out, pieces come back as active messages and are copied into the page.
#include "base/concat.hpp"
#include "base/crc32c.hpp"
#include "transport/limits.hpp"
#include "transport/receiver.hpp"

namespace troupe::transport {
namespace {

/// What UCX reads until the send completes.
struct WantSend {
  WantFrame want;
  std::string address;
};

std::span<const std::byte> header_of(const void* header, size_t bytes) {
  return {static_cast<const std::byte*>(header), bytes};
}

Error refusal_error(Refusal reason, const kv::PageId page) {
  const auto with = [page](Code code, const char* why, const char* hint) {
    return error(code, concat("the peer refused page ", page, ": ", why), hint);
  };
  switch (reason) {
    case Refusal::wrong_incarnation:
      return with(Code::failed_precondition, "it is another process than the one addressed",
                  "the peer has restarted: ask for its new address");
    case Refusal::not_granted:
      return with(Code::failed_precondition, "the session may not read it",
                  "the session has ended at the source, or the block was never announced");
    case Refusal::out_of_range:
      return with(Code::failed_precondition, "its pool has no such page", "");
    case Refusal::wrong_block_size:
      return with(Code::failed_precondition, "its pool has another block size",
                  "run the same model and KV layout on both ends");
    case Refusal::too_many:
      break;
  }
  return with(Code::exhausted, "too many reads wait there", "try again later");
}

}  // namespace

Status Receiver::listen() {
  if (tcp_ == nullptr) return {};
  TROUPE_TRY(tcp_->handle_messages(
      static_cast<unsigned>(FrameKind::data),
      [](void* self, const void* header, size_t header_bytes, void* data, size_t data_bytes,
         const ucp_am_recv_param_t* param) -> ucs_status_t {
        // Never by rendezvous: a buffer posted to UCX cannot be taken back, not even by closing
        // the endpoint, so a peer that stops in mid piece could write a page that has a new owner.
        const bool here = (param->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV) == 0;
        static_cast<Receiver*>(self)->on_data(header_of(header, here ? header_bytes : 0), data,
                                              data_bytes);
        return UCS_OK;
      },
      this));
  return tcp_->handle_messages(
      static_cast<unsigned>(FrameKind::refused),
      [](void* self, const void* header, size_t header_bytes, void*, size_t,
         const ucp_am_recv_param_t*) -> ucs_status_t {
        static_cast<Receiver*>(self)->on_refused(header_of(header, header_bytes));
        return UCS_OK;
      },
      this);
}

void Receiver::want(Peer& peer, Read& read) {
  auto send = std::make_unique<WantSend>();
  send->address = tcp_->address();
  WantFrame& frame = send->want;
  frame.head.kind = static_cast<uint16_t>(FrameKind::want);
  frame.head.target = peer.address.incarnation;
  frame.head.sender = incarnation_;
  frame.head.token = read.request.session_token;
  frame.head.request = read.id;
  frame.generation = peer.generation;
  frame.block_bytes = pool_.block_bytes;
  frame.page = read.request.remote_page;
  frame.piece_bytes = piece_bytes(Path::tcp);
  frame.address_crc = crc32c(std::as_bytes(std::span(send->address)));
  ucp_request_param_t params{};
  params.op_attr_mask =
      UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA | UCP_OP_ATTR_FIELD_FLAGS;
  params.flags = UCP_AM_SEND_FLAG_EAGER;
  params.user_data = send.get();
  // A failed send needs no answer here: its endpoint goes down, and the read has a deadline.
  params.cb.send = [](void* request, ucs_status_t, void* user_data) {
    const std::unique_ptr<WantSend> done(static_cast<WantSend*>(user_data));
    ucp_request_free(request);
  };
  const ucs_status_ptr_t request =
      ucp_am_send_nbx(peer.endpoint->handle, static_cast<unsigned>(FrameKind::want), &frame,
                      sizeof frame, send->address.data(), send->address.size(), &params);
  if (UCS_PTR_IS_PTR(request)) {
    [[maybe_unused]] const WantSend* owned = send.release();
  } else if (UCS_PTR_IS_ERR(request)) {
    give_up(read,
            ucx_error(Code::unavailable, "the peer cannot be asked", UCS_PTR_STATUS(request)));
  }
}

void Receiver::on_data(std::span<const std::byte> header, const void* data, size_t bytes) {
  const auto frame = parse_data(header);
  Read* read = frame ? find(frame->head.request) : nullptr;
  const auto peer = read != nullptr ? peers_.find(read->peer) : peers_.end();
  const uint32_t step = piece_bytes(Path::tcp);
  if (read == nullptr || peer == peers_.end() || !read->moving || read->verdict ||
      peer->second.path != Path::tcp || frame->head.target != incarnation_ ||
      frame->head.sender != peer->second.address.incarnation ||
      frame->head.token != read->request.session_token || frame->offset % step != 0 ||
      frame->offset >= pool_.block_bytes || frame->length != bytes ||
      bytes != piece_length(pool_.block_bytes, step, frame->offset) ||
      read->pieces[frame->offset / step] != 0) {
    ++counters_.frames_dropped;
    return;
  }
  peer->second.last_heard = now_us();
  take_piece(*read, frame->offset / step, static_cast<const std::byte*>(data));
}

void Receiver::on_refused(std::span<const std::byte> header) {
  const auto frame = parse_refused(header);
  Read* read = frame ? find(frame->head.request) : nullptr;
  if (read == nullptr || !read->moving || frame->head.target != incarnation_ ||
      frame->head.token != read->request.session_token) {
    ++counters_.frames_dropped;
    return;
  }
  if (const auto peer = peers_.find(read->peer); peer != peers_.end()) {
    peer->second.last_heard = now_us();
  }
  give_up(*read, refusal_error(static_cast<Refusal>(frame->reason), read->request.remote_page));
}

}  // namespace troupe::transport
