#include "gateway/server.hpp"

#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>

#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <charconv>
#include <ctime>
#include <thread>

#include "base/log.hpp"
#include "gateway/connection.hpp"

namespace troupe::gateway {
namespace {

bool is_loopback(const std::string& address) {
  return address.starts_with("127.") || address == "::1";
}

/// The soft limit on descriptors is often 1024, the hard one rarely.
void raise_descriptor_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  const rlim_t wanted = limits::connections_max + 1024;
  if (limit.rlim_cur >= wanted) return;
  limit.rlim_cur = limit.rlim_max == RLIM_INFINITY ? wanted : std::min(limit.rlim_max, wanted);
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

}  // namespace

struct HttpServer::Impl {
  std::shared_ptr<ServerState> shared = std::make_shared<ServerState>();
  ServerState& state = *shared;
  tcp::acceptor acceptor{state.io};
  asio::steady_timer look_timer{state.io};
  asio::steady_timer pause_timer{state.io};
  std::thread thread;
  uint16_t port = 0;

  Status listen();
  Status load_tls();
  void accept();
  void take(tcp::socket socket);
  void look();
  void run();
};

Status HttpServer::Impl::load_tls() {
  const ServerOptions& options = state.options;
  if (options.certificate_file.empty() && options.key_file.empty()) return {};
  if (options.certificate_file.empty() || options.key_file.empty()) {
    return error(Code::invalid_argument, "TLS has a certificate or a key, not both",
                 "a certificate file and the file of its key");
  }
  auto& context = state.tls.emplace(asio::ssl::context::tls_server);
  context.set_options(asio::ssl::context::default_workarounds | asio::ssl::context::no_tlsv1 |
                      asio::ssl::context::no_tlsv1_1);
  ErrorCode failure;
  context.use_certificate_chain_file(options.certificate_file, failure);
  if (failure) {
    return error(
        Code::invalid_argument,
        concat("cannot use the certificate ", options.certificate_file, ": ", failure.message()),
        "a PEM file with the certificate and its chain");
  }
  context.use_private_key_file(options.key_file, asio::ssl::context::pem, failure);
  if (failure) {
    return error(Code::invalid_argument,
                 concat("cannot use the key ", options.key_file, ": ", failure.message()),
                 "a PEM file with the key of the certificate");
  }
  return {};
}

Status HttpServer::Impl::listen() {
  const ServerOptions& options = state.options;
  ErrorCode failure;
  const auto address = asio::ip::make_address(options.address, failure);
  if (failure) {
    return error(Code::invalid_argument, concat("\"", options.address, "\" is no IP address"),
                 "such as 127.0.0.1, 0.0.0.0 or ::1");
  }
  const tcp::endpoint endpoint(address, options.port);
  acceptor.open(endpoint.protocol(), failure);
  if (!failure) acceptor.set_option(asio::socket_base::reuse_address(true), failure);
  if (!failure) acceptor.bind(endpoint, failure);
  if (!failure) acceptor.listen(4096, failure);
  if (failure) {
    return error(
        Code::unavailable,
        concat("cannot listen on ", options.address, ":", options.port, ": ", failure.message()),
        "is the port in use, and the address one of this host?");
  }
  port = acceptor.local_endpoint(failure).port();
  return {};
}

void HttpServer::Impl::accept() {
  acceptor.async_accept([this](ErrorCode failure, tcp::socket socket) {
    if (failure == asio::error::operation_aborted) return;
    if (failure) {
      // No descriptors are left: those that are there go on.
      pause_timer.expires_after(std::chrono::milliseconds(limits::accept_pause_ms));
      pause_timer.async_wait([this](ErrorCode stopped) {
        if (!stopped) accept();
      });
      return;
    }
    take(std::move(socket));
    accept();
  });
}

void HttpServer::Impl::take(tcp::socket socket) {
  ErrorCode failure;
  const auto peer = socket.remote_endpoint(failure);
  if (failure) return;
  std::string address = peer.address().to_string();
  const auto known = state.per_address.find(address);
  const size_t open = known == state.per_address.end() ? 0 : known->second;
  const bool too_many =
      state.num_connections >= state.options.connections_max ||
      (!is_loopback(address) && open >= state.options.connections_per_address_max);
  if (too_many) {
    state.turned_away += 1;
    return;
  }
  state.accepted += 1;
  if (state.tls) {
    using Stream = asio::ssl::stream<tcp::socket>;
    std::make_shared<Connection<Stream>>(state, Stream(std::move(socket), *state.tls),
                                         std::move(address))
        ->start();
  } else {
    std::make_shared<Connection<tcp::socket>>(state, std::move(socket), std::move(address))
        ->start();
  }
}

void HttpServer::Impl::look() {
  look_timer.expires_after(std::chrono::milliseconds(limits::look_ms));
  look_timer.async_wait([this](ErrorCode stopped) {
    if (stopped) return;
    const TimeUs now = now_us();
    const std::vector<ConnectionBase*> all(state.connections.begin(), state.connections.end());
    for (ConnectionBase* connection : all) {
      if (state.connections.contains(connection)) connection->look(now);
    }
    look();
  });
}

void HttpServer::Impl::run() {
  ::pthread_setname_np(::pthread_self(), "http");
  // A peer that resets must not end the process; signals are the main thread's.
  sigset_t all;
  sigfillset(&all);
  ::pthread_sigmask(SIG_BLOCK, &all, nullptr);
  state.io.run();
}

HttpServer::HttpServer() : impl_(std::make_unique<Impl>()) {}

Result<std::unique_ptr<HttpServer>> HttpServer::start(const ServerOptions& options,
                                                      ServerHandler handler) {
  std::unique_ptr<HttpServer> server(new HttpServer);
  Impl& impl = *server->impl_;
  impl.state.options = options;
  impl.state.handler = std::move(handler);
  raise_descriptor_limit();
  TROUPE_TRY(impl.load_tls());
  TROUPE_TRY(impl.listen());
  impl.accept();
  impl.look();
  impl.thread = std::thread([&impl] { impl.run(); });
  return server;
}

HttpServer::~HttpServer() {
  if (!impl_->thread.joinable()) return;
  asio::post(impl_->state.io, [impl = impl_.get()] {
    const std::vector<ConnectionBase*> all(impl->state.connections.begin(),
                                           impl->state.connections.end());
    for (ConnectionBase* connection : all) {
      if (impl->state.connections.contains(connection)) connection->close();
    }
    impl->state.waiting.clear();
    impl->acceptor.close();
    impl->state.io.stop();
  });
  impl_->thread.join();
  impl_->state.outbox.close();
}

uint16_t HttpServer::port() const {
  return impl_->port;
}

ServerCounts HttpServer::counts() const {
  const ServerState& state = impl_->state;
  return {state.num_connections, state.accepted,  state.turned_away,
          state.cut_off,         state.exchanges, state.sends};
}

void HttpServer::end_keep_alive() {
  asio::post(impl_->state.io, [impl = impl_.get()] { impl->state.is_closing = true; });
}

void HttpServer::later(int ms, std::function<void()> run) {
  asio::post(impl_->state.io, [impl = impl_.get(), ms, run = std::move(run)] {
    auto timer = std::make_shared<asio::steady_timer>(impl->state.io);
    timer->expires_after(std::chrono::milliseconds(ms));
    timer->async_wait([timer, run](ErrorCode stopped) {
      if (!stopped) run();
    });
  });
}

}  // namespace troupe::gateway
