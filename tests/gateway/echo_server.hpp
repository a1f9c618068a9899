// A server that echoes, for tests of HTTP itself.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "gateway/server.hpp"
#include "tests/gateway/http_client.hpp"
#include "tests/support/cluster_program.hpp"

namespace troupe::testing {

/// Echoes bodies; /hold keeps its exchange for the test, /stream streams a few pieces.
struct EchoServer {
  explicit EchoServer(gateway::ServerOptions options = {}) {
    gateway::ServerHandler handler;
    handler.refuse_head = [](gateway::HttpRequest& head, gateway::HttpReply& refusal) {
      if (head.path != "/refused") return false;
      refusal.status = 404;
      refusal.body = "no";
      return true;
    };
    handler.refusal = [](const gateway::HttpRequest&, int status, const std::string& what) {
      return gateway::HttpReply{status, "text/plain", what, {}};
    };
    handler.handle = [this](gateway::HttpRequest request,
                            const std::shared_ptr<gateway::Exchange>& exchange) {
      handle(std::move(request), exchange);
    };
    auto started = gateway::HttpServer::start(options, std::move(handler));
    INFO((started.ok() ? std::string() : started.error().message()));
    REQUIRE(started.ok());
    server = std::move(*started);
  }
  ~EchoServer() { server.reset(); }

  void handle(gateway::HttpRequest request, const std::shared_ptr<gateway::Exchange>& exchange) {
    handled += 1;
    exchange->on_gone([this] { gone += 1; });
    if (request.path == "/hold") {
      const std::lock_guard lock(mutex);
      held.push_back(exchange);
    } else if (request.path == "/stream") {
      exchange->begin({200, "text/event-stream", {}, {}});
      for (const char* piece : {"one ", "two ", "three"}) exchange->write(piece);
      exchange->end();
    } else {
      exchange->reply({200,
                       "text/plain",
                       request.method + " " + request.path + "?" + request.query + " " +
                           std::to_string(request.body.size()) + " " + request.body.substr(0, 20),
                       {}});
    }
  }

  RawClient client() const { return RawClient(server->port()); }
  std::shared_ptr<gateway::Exchange> last_held() {
    REQUIRE(eventually(
        [&] {
          const std::lock_guard lock(mutex);
          return !held.empty();
        },
        5'000));
    const std::lock_guard lock(mutex);
    return held.back();
  }

  std::atomic<int> handled = 0, gone = 0;
  std::mutex mutex;
  std::vector<std::shared_ptr<gateway::Exchange>> held;
  std::unique_ptr<gateway::HttpServer> server;
};

}  // namespace troupe::testing
