// Frames from somebody who has the cluster's key and knows UCX, but not our protocol: dropped,
// counted, survived.
#include <doctest/doctest.h>

#include <chrono>
#include <cstring>
#include <random>
#include <thread>

#include "base/crc32c.hpp"
#include "tests/transport/peer_process.hpp"
#include "transport/address.hpp"
#include "transport/data_port.hpp"
#include "transport/frames.hpp"
#include "transport/ucx.hpp"

using namespace troupe;
using namespace troupe::transport;
using namespace troupe::transport::testing;

namespace {

void send(UcxWorker& worker, Endpoint& to, unsigned id, const std::string& header,
          const std::string& payload) {
  ucp_request_param_t params{};
  void* request = ucp_am_send_nbx(to.handle, id, header.data(), header.size(), payload.data(),
                                  payload.size(), &params);
  if (!UCS_PTR_IS_PTR(request)) return;
  const TimeUs latest = now_us() + 5'000'000;
  while (ucp_request_check_status(request) == UCS_INPROGRESS && now_us() < latest) {
    worker.progress();
  }
  ucp_request_free(request);
}

}  // namespace

TEST_CASE("garbage frames are dropped and counted") {
  const LocalEnd end = local_end(1 << 20, 8);
  const auto address = parse_address(end.transport->address());
  REQUIRE(address.ok());
  Counters counters;
  DataPort port(cluster_key, 99, counters);
  std::unique_ptr<UcxWorker> worker;
  const Status opened = port.guard([&]() -> Status {
    TROUPE_ASSIGN(worker, UcxWorker::start(tcp_environment("lo"), false));
    return {};
  });
  REQUIRE(opened.ok());
  const auto hear = [](void*, const void*, size_t, void*, size_t, const ucp_am_recv_param_t*) {
    return UCS_OK;
  };
  REQUIRE(worker->handle_messages(static_cast<unsigned>(FrameKind::refused), hear, nullptr).ok());
  port.name_peer(address->data_socket, address->incarnation);
  auto endpoint = worker->connect(address->tcp_worker);
  REQUIRE(endpoint.ok());
  std::mt19937 random(5);
  constexpr uint64_t count = 300;
  for (uint64_t i = 0; i < count; ++i) {
    std::string header(random() % 3 == 0 ? sizeof(WantFrame) : random() % 120, '\0');
    for (char& c : header) c = static_cast<char>(random());
    if (i % 4 == 0 && header.size() >= sizeof(FrameHead)) {
      FrameHead head;
      head.kind = static_cast<uint16_t>(1 + random() % 3);
      std::memcpy(header.data(), &head, sizeof head);
    }
    send(*worker, **endpoint, static_cast<unsigned>(1 + i % 3), header,
         std::string(random() % 3000, 'g'));
  }
  send(*worker, **endpoint, 1, std::string(72, 'x'), std::string(1 << 20, 'g'));
  send(*worker, **endpoint, 2, std::string(56, 'x'), std::string(1 << 20, 'g'));
  const TimeUs latest = now_us() + 5'000'000;
  while (end.transport->stats().frames_dropped < count && now_us() < latest) {
    worker->progress();
  }
  CHECK(end.transport->stats().frames_dropped >= count);
  WantFrame misdirected;
  misdirected.head.kind = static_cast<uint16_t>(FrameKind::want);
  misdirected.head.target = address->incarnation + 1;
  misdirected.head.sender = 99;
  misdirected.address_crc = crc32c(std::as_bytes(std::span(worker->address())));
  send(*worker, **endpoint, 1,
       std::string(reinterpret_cast<const char*>(&misdirected), sizeof misdirected),
       worker->address());
  while (end.transport->stats().wants_refused == 0 && now_us() < latest) worker->progress();
  CHECK(end.transport->stats().wants_refused == 1);
  worker->close(std::move(*endpoint), true);
  while (worker->closing() && now_us() < latest) worker->progress();

  const PeerProcess source({});
  const auto peer = end.transport->connect(source.address(), PathPreference::tcp);
  REQUIRE(peer.ok());
  CHECK(end.read(*peer, {granted_token, 0, 0, page_checksum(0, 1 << 20)}).ok());
}
