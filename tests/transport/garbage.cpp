// Frames from somebody who knows UCX but not our protocol: dropped, counted, survived.
#include <doctest/doctest.h>

#include <chrono>
#include <cstring>
#include <random>
#include <thread>

#include "base/crc32c.hpp"
#include "tests/transport/peer_process.hpp"
#include "transport/address.hpp"
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
  auto worker = UcxWorker::start(tcp_environment("lo"), false);
  REQUIRE(worker.ok());
  auto endpoint = (*worker)->connect(address->tcp_worker);
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
    send(**worker, **endpoint, static_cast<unsigned>(1 + i % 3), header,
         std::string(random() % 3000, 'g'));
  }
  send(**worker, **endpoint, 1, std::string(72, 'x'), std::string(1 << 20, 'g'));
  send(**worker, **endpoint, 2, std::string(56, 'x'), std::string(1 << 20, 'g'));
  const TimeUs latest = now_us() + 5'000'000;
  while (end.transport->stats().frames_dropped < count && now_us() < latest) {
    (*worker)->progress();
  }
  CHECK(end.transport->stats().frames_dropped >= count);
  (*worker)->close(std::move(*endpoint), true);
  while ((*worker)->closing() && now_us() < latest) (*worker)->progress();

  const PeerProcess source({});
  const auto peer = end.transport->connect(source.address(), PathPreference::tcp);
  REQUIRE(peer.ok());
  CHECK(end.read(*peer, {granted_token, 0, 0, page_checksum(0, 1 << 20)}).ok());
}
