// Whoever does not belong to a cluster's authority is told so at once, in words that say who did
// not accept whom, and gets no actor handle; and what one peer said is not taken for another's.
#include <doctest/doctest.h>
#include <openssl/pem.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdio>
#include <future>
#include <memory>
#include <thread>

#include "actors/client.hpp"
#include "actors/monitor.hpp"
#include "actors/node.hpp"
#include "actors/tls_refusals.hpp"
#include "base/concat.hpp"
#include "launch/certificates.hpp"
#include "tests/support/loopback.hpp"
#include "tests/support/temporary_folder.hpp"

using namespace troupe;
using namespace troupe::actors;
using troupe::testing::TemporaryFolder;

namespace {

/// Long before anything is given up because nobody answers.
constexpr TimeUs at_once_us = 3'000'000;

/// Closed at the end.
struct Socket {
  explicit Socket(int descriptor) : fd(descriptor) { REQUIRE(fd >= 0); }
  ~Socket() { ::close(fd); }
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;
  int fd;
};

std::unique_ptr<Socket> dial(uint16_t port) {
  auto socket = std::make_unique<Socket>(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const timeval patience{5, 0};
  ::setsockopt(socket->fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  const sockaddr_in address = testing::loopback(port);
  REQUIRE(::connect(socket->fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
  return socket;
}

template <auto Release>
struct Free {
  template <class T>
  void operator()(T* pointer) const {
    Release(pointer);
  }
};
using File = std::unique_ptr<std::FILE, Free<std::fclose>>;
using Certificate = std::unique_ptr<X509, Free<X509_free>>;
using Key = std::unique_ptr<EVP_PKEY, Free<EVP_PKEY_free>>;

/// The same certificate, signed again, as of yesterday.
void let_expire(const std::string& folder, const std::string& node) {
  const std::string path = folder + "/" + node + ".pem";
  const Certificate certificate(
      PEM_read_X509(File(std::fopen(path.c_str(), "r")).get(), nullptr, nullptr, nullptr));
  const Key authority(PEM_read_PrivateKey(
      File(std::fopen((folder + "/ca-key.pem").c_str(), "r")).get(), nullptr, nullptr, nullptr));
  REQUIRE(certificate);
  REQUIRE(authority);
  X509_gmtime_adj(X509_getm_notBefore(certificate.get()), -2 * 86400);
  X509_gmtime_adj(X509_getm_notAfter(certificate.get()), -86400);
  REQUIRE(X509_sign(certificate.get(), authority.get(), EVP_sha256()) > 0);
  const File file(std::fopen(path.c_str(), "w"));
  REQUIRE(PEM_write_X509(file.get(), certificate.get()) == 1);
}

/// Certificates of two authorities; both call their cluster "test".
struct Authorities {
  TemporaryFolder own, rogue;

  Authorities() {
    for (const TemporaryFolder* folder : {&own, &rogue}) {
      REQUIRE(launch::make_certificates(folder->path(), "test", {"head", "guest", "late"}).ok());
    }
    let_expire(own.path(), "late");
  }
};

TlsFiles tls(const TemporaryFolder& folder, const std::string& name) {
  const auto files = launch::certificate_files(folder.path(), name);
  return {files.certificate.string(), files.key.string(), files.authority.string()};
}

std::unique_ptr<Node> start_node(const std::string& name, const std::string& role,
                                 const TlsFiles& files, uint16_t directory_port = 0) {
  NodeOptions options;
  options.cluster = "test";
  options.name = name;
  options.roles = {role};
  options.tls = files;
  options.directory_host = "127.0.0.1";
  options.directory_port = directory_port;
  auto node = Node::start(options);
  INFO((node ? std::string() : node.error().message()));
  REQUIRE(node.ok());
  return std::move(*node);
}

bool has(const Error& error, const std::string& words) {
  return error.message().find(words) != std::string::npos;
}

struct Stranger {
  const char* what;
  TlsFiles files;
  std::string words;
};

/// Whose certificates the head does not accept, or who does not accept the head's.
std::vector<Stranger> strangers(const Authorities& authorities) {
  TlsFiles foreign = tls(authorities.rogue, "guest");
  foreign.ca_path = tls(authorities.own, "guest").ca_path;
  return {{"another authority's", tls(authorities.rogue, "guest"), "is not accepted here"},
          {"another authority's, with ours to judge by", foreign, "accept our certificate"},
          {"expired", tls(authorities.own, "late"), "certificate expired"}};
}

}  // namespace

TEST_CASE("a node whose certificate is not the cluster's is told so at once") {
  const Authorities authorities;
  const auto head = start_node("head", "directory", tls(authorities.own, "head"));
  REQUIRE(head->wait_joined(10'000).ok());
  const std::string at = concat("127.0.0.1:", head->port());
  for (const Stranger& stranger : strangers(authorities)) {
    INFO(std::string(stranger.what));
    const auto guest = start_node("guest", "router", stranger.files, head->port());
    const TimeUs before = now_us();
    const Status joined = guest->wait_joined(30'000);
    REQUIRE_FALSE(joined.ok());
    INFO(joined.error().message());
    CHECK(now_us() - before < at_once_us);
    CHECK(joined.error().code == Code::failed_precondition);
    CHECK(has(joined.error(), stranger.words));
    CHECK(has(joined.error(), at));
    CHECK(has(joined.error(), "troupe certs"));
  }
  // Nobody else pays for that.
  const auto member = start_node("guest", "router", tls(authorities.own, "guest"), head->port());
  CHECK(member->wait_joined(10'000).ok());
  CHECK(head->joined());
}

TEST_CASE("a client and a monitor with a foreign certificate are told so at once") {
  const Authorities authorities;
  const auto head = start_node("head", "directory", tls(authorities.own, "head"));
  for (const Stranger& stranger : strangers(authorities)) {
    INFO(std::string(stranger.what));
    const ClientOptions options{"test", "127.0.0.1", head->port(), stranger.files, "guest"};
    const auto client = Client::connect(options);
    REQUIRE(client.ok());
    const TimeUs before = now_us();
    const auto answer = (*client)->generate_and_wait({}, {});
    REQUIRE_FALSE(answer.ok());
    INFO(answer.error().message());
    CHECK(answer.error().code == Code::failed_precondition);
    CHECK(has(answer.error(), stranger.words));
    const auto view = (*client)->view(std::chrono::seconds(20));
    REQUIRE_FALSE(view.ok());
    CHECK(has(view.error(), stranger.words));
    const auto drained = (*client)->drain("head", std::chrono::seconds(20));
    REQUIRE_FALSE(drained.ok());
    CHECK(has(drained.error(), stranger.words));

    std::promise<Error> told;
    bool is_told = false;  // on the monitor's thread only
    MonitorHandlers handlers;
    handlers.on_members = [](const v1::Members&) {};
    handlers.on_update = [](const v1::NodeInfo&, const v1::MetricsUpdate&) { return Taken::taken; };
    handlers.on_refused = [&](const Error& why) {
      if (!std::exchange(is_told, true)) told.set_value(why);
    };
    const auto monitor = Monitor::attach(options, 500, handlers);
    REQUIRE(monitor.ok());
    auto reason = told.get_future();
    REQUIRE(reason.wait_for(std::chrono::seconds(10)) == std::future_status::ready);
    CHECK(has(reason.get(), stranger.words));
    CHECK(now_us() - before < 2 * at_once_us);
  }
}

TEST_CASE("without a certificate or without TLS a control port gives nothing away") {
  const Authorities authorities;
  const auto head = start_node("head", "directory", tls(authorities.own, "head"));
  REQUIRE(head->wait_joined(10'000).ok());
  {
    INFO("TLS, but no certificate");
    const auto socket = dial(head->port());
    const std::unique_ptr<SSL_CTX, Free<SSL_CTX_free>> context(SSL_CTX_new(TLS_client_method()));
    const std::unique_ptr<SSL, Free<SSL_free>> ssl(SSL_new(context.get()));
    SSL_set_fd(ssl.get(), socket->fd);
    const uint64_t before = tls_refusals_seen();
    char byte = 0;
    // With TLS 1.3 the client's side of the handshake is over before the server has judged.
    const bool is_in = SSL_connect(ssl.get()) == 1 && SSL_read(ssl.get(), &byte, 1) > 0;
    CHECK_FALSE(is_in);
    const auto refusal = tls_refusal("localhost", head->port(), before);
    REQUIRE(refusal);
    INFO(refusal->message());
    CHECK(has(*refusal, "certificate required"));
    INFO("of the two ends in this process only the one that dialled keeps a reason");
    CHECK(tls_refusals_seen() == before + 1);
    INFO("it is this peer's, and of this attempt");
    CHECK_FALSE(tls_refusal("127.0.0.1", static_cast<uint16_t>(head->port() + 1), before));
    CHECK_FALSE(tls_refusal("127.0.0.2", head->port(), before));
    CHECK_FALSE(tls_refusal("127.0.0.1", head->port(), tls_refusals_seen()));
  }
  for (const std::string words : {"GET / HTTP/1.1\r\n\r\n", "\x16\x03\x01\x02\x00\x01"}) {
    INFO("no TLS");
    const auto socket = dial(head->port());
    REQUIRE(::send(socket->fd, words.data(), words.size(), MSG_NOSIGNAL) > 0);
    char byte = 0;
    // An alert at most: never anything of a node.
    ssize_t bytes = 0;
    for (ssize_t n = 0; (n = ::recv(socket->fd, &byte, 1, 0)) > 0;) bytes += n;
    CHECK(bytes <= 7);
  }
  CHECK(head->joined());
}

TEST_CASE("whoever answers without TLS is named, and waited for no longer than asked") {
  const Authorities authorities;
  const Socket listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address = testing::loopback(0);
  socklen_t size = sizeof address;
  auto* const raw = reinterpret_cast<sockaddr*>(&address);
  REQUIRE(::bind(listener.fd, raw, size) == 0);
  REQUIRE(::listen(listener.fd, 16) == 0);
  REQUIRE(::getsockname(listener.fd, raw, &size) == 0);
  std::thread web([&] {
    const std::string answer = "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n";
    for (int fd = 0; (fd = ::accept(listener.fd, nullptr, nullptr)) >= 0;) {
      (void)::send(fd, answer.data(), answer.size(), MSG_NOSIGNAL);
      ::close(fd);
    }
  });
  {
    const auto guest =
        start_node("guest", "router", tls(authorities.own, "guest"), ntohs(address.sin_port));
    const TimeUs before = now_us();
    const Status joined = guest->wait_joined(2'000);
    REQUIRE_FALSE(joined.ok());
    INFO(joined.error().message());
    CHECK(now_us() - before < 2 * at_once_us);
    CHECK(joined.error().code == Code::timeout);
    CHECK(has(joined.error(), concat("no TLS handshake with 127.0.0.1:", ntohs(address.sin_port))));
    CHECK(has(joined.error(), "control port"));
  }
  ::shutdown(listener.fd, SHUT_RDWR);
  web.join();
}
