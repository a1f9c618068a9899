#include "bench/transfer/raw_ucx.hpp"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "transport/environment.hpp"

namespace troupe::bench {
namespace {

using transport::UcxWorker;

constexpr unsigned piece_message = 1;
constexpr size_t pieces_in_flight = 4;
constexpr size_t message_bytes_max = 8192;

std::unique_ptr<UcxWorker> worker(const transport::Environment& environment, bool remote_reads) {
  auto made = UcxWorker::start(environment, remote_reads);
  if (!made) give_up(made.error().message());
  return std::move(made).value();
}

std::unique_ptr<transport::Endpoint> endpoint(UcxWorker& from, const std::string& address) {
  auto made = from.connect(address);
  if (!made) give_up(made.error().message());
  return std::move(made).value();
}

void say(int socket, const std::string& text) {
  if (::send(socket, text.data(), text.size(), 0) != static_cast<ssize_t>(text.size())) {
    give_up("the other end is gone");
  }
}

/// Empty: the other end is gone.
std::string hear(int socket) {
  std::string text(message_bytes_max, '\0');
  const ssize_t size = ::recv(socket, text.data(), text.size(), 0);
  text.resize(size > 0 ? static_cast<size_t>(size) : 0);
  return text;
}

std::string hear_something(int socket) {
  std::string text = hear(socket);
  if (text.empty()) give_up("the other end is gone");
  return text;
}

void finish(ucs_status_ptr_t request, UcxWorker& worker) {
  if (request == nullptr) return;
  if (UCS_PTR_IS_ERR(request)) give_up(ucs_status_string(UCS_PTR_STATUS(request)));
  ucs_status_t status = UCS_INPROGRESS;
  while ((status = ucp_request_check_status(request)) == UCS_INPROGRESS) worker.progress();
  ucp_request_free(request);
  if (status != UCS_OK) give_up(ucs_status_string(status));
}

}  // namespace

void give_up(const std::string& what) {
  std::fprintf(stderr, "bench_transfer: %s\n", what.c_str());
  std::exit(1);
}

RawSource::RawSource(int socket, size_t bytes)
    : socket_(socket),
      bytes_(bytes),
      shm_(worker(transport::shared_memory_environment(), true)),
      tcp_(worker(transport::tcp_environment("lo"), false)) {
  auto memory = transport::SharedMemory::allocate(shm_->context(), bytes, 1);
  if (!memory) give_up(memory.error().message());
  memory_ = std::move(memory).value();
  std::memset(memory_->data(), 1, bytes);
  say(socket, shm_->address());
  say(socket, memory_->rkey());
  const auto base = reinterpret_cast<uint64_t>(memory_->data());
  say(socket, {reinterpret_cast<const char*>(&base), sizeof base});
}

void RawSource::serve() {
  reader_ = endpoint(*tcp_, hear_something(socket_));
  // The first get is wired up by messages; those after it need nobody here.
  char news = 0;
  while (::recv(socket_, &news, 1, MSG_PEEK | MSG_DONTWAIT) < 0) shm_->progress();
  while (true) {
    const std::string asked = hear(socket_);
    if (asked.size() != sizeof(uint64_t)) return;
    uint64_t piece_bytes = 0;
    std::memcpy(&piece_bytes, asked.data(), sizeof piece_bytes);
    send_all(piece_bytes);
  }
}

void RawSource::send_all(size_t piece_bytes) {
  std::vector<ucs_status_ptr_t> sent;
  ucp_request_param_t params{};
  params.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS;
  params.flags = UCP_AM_SEND_FLAG_EAGER;
  size_t oldest = 0;
  for (size_t at = 0; at < bytes_; at += piece_bytes) {
    if (sent.size() - oldest == pieces_in_flight) finish(sent[oldest++], *tcp_);
    sent.push_back(ucp_am_send_nbx(reader_->handle, piece_message, nullptr, 0, memory_->data() + at,
                                   std::min(piece_bytes, bytes_ - at), &params));
  }
  for (; oldest < sent.size(); ++oldest) finish(sent[oldest], *tcp_);
  // A send may be over while its last bytes still wait for room in the socket, and nobody moves
  // them on while this end listens for the next question.
  const ucp_request_param_t plain{};
  finish(ucp_ep_flush_nbx(reader_->handle, &plain), *tcp_);
}

RawReader::RawReader(int socket, std::byte* to, size_t bytes)
    : socket_(socket),
      to_(to),
      bytes_(bytes),
      shm_(worker(transport::shared_memory_environment(), true)),
      tcp_(worker(transport::tcp_environment("lo"), false)),
      source_(endpoint(*shm_, hear_something(socket))) {
  const std::string key = hear_something(socket);
  const std::string base = hear_something(socket);
  std::memcpy(&from_, base.data(), sizeof from_);
  if (ucp_ep_rkey_unpack(source_->handle, key.data(), &key_) != UCS_OK) give_up("a bad key");
  const Status heard = tcp_->handle_messages(
      piece_message,
      [](void* self, const void*, size_t, void* data, size_t data_bytes,
         const ucp_am_recv_param_t*) {
        auto& reader = *static_cast<RawReader*>(self);
        std::memcpy(reader.to_ + reader.arrived_, data, data_bytes);
        reader.arrived_ += data_bytes;
        return UCS_OK;
      },
      this);
  if (!heard) give_up(heard.error().message());
  say(socket, tcp_->address());
  get(0, 1);
}

RawReader::~RawReader() {
  ucp_rkey_destroy(key_);
  shm_->close(std::move(source_), false);
  UcxWorker::dispose(std::move(shm_));
  UcxWorker::dispose(std::move(tcp_));
}

void RawReader::get(size_t offset, size_t length) {
  const ucp_request_param_t params{};
  finish(ucp_get_nbx(source_->handle, to_ + offset, length, from_ + offset, key_, &params), *shm_);
}

void RawReader::receive_all(size_t piece_bytes) {
  arrived_ = 0;
  const uint64_t wanted = piece_bytes;
  say(socket_, {reinterpret_cast<const char*>(&wanted), sizeof wanted});
  while (arrived_ < bytes_) tcp_->progress();
}

}  // namespace troupe::bench
