// HTTPS: certificates from files, clients that check them, those that do not speak TLS.
#include <openssl/err.h>
#include <openssl/ssl.h>

#include "launch/certificates.hpp"
#include "tests/gateway/echo_server.hpp"
#include "tests/launch/temporary_folder.hpp"

namespace troupe::testing {
namespace {

const std::string host = "Host: localhost\r\n";

/// An authority with certificates for localhost and another host.
struct Certificates {
  Certificates() {
    REQUIRE(launch::make_certificates(folder.path(), "tls", {"localhost", "elsewhere"}).ok());
  }
  [[nodiscard]] gateway::ServerOptions options(const std::string& name) const {
    const auto files = launch::certificate_files(folder.path(), name);
    gateway::ServerOptions options;
    options.certificate_file = files.certificate;
    options.key_file = files.key;
    return options;
  }
  [[nodiscard]] std::string authority() const {
    return launch::certificate_files(folder.path(), "localhost").authority;
  }
  launch::TemporaryFolder folder;
};

/// One connection whose client knows the authority and expects localhost.
class TlsClient {
 public:
  TlsClient(uint16_t port, const std::string& authority, int version_max = TLS1_3_VERSION)
      : plain_(port), context_(SSL_CTX_new(TLS_client_method())) {
    REQUIRE(SSL_CTX_load_verify_locations(context_, authority.c_str(), nullptr) == 1);
    SSL_CTX_set_verify(context_, SSL_VERIFY_PEER, nullptr);
    SSL_CTX_set_max_proto_version(context_, version_max);
    ssl_ = SSL_new(context_);
    SSL_set1_host(ssl_, "localhost");
    SSL_set_fd(ssl_, plain_.fd());
    is_open_ = SSL_connect(ssl_) == 1;
    ERR_clear_error();
  }
  ~TlsClient() {
    SSL_free(ssl_);
    SSL_CTX_free(context_);
  }
  TlsClient(const TlsClient&) = delete;
  TlsClient& operator=(const TlsClient&) = delete;

  [[nodiscard]] bool is_open() const { return is_open_; }
  void send(const std::string& bytes) {
    REQUIRE(SSL_write(ssl_, bytes.data(), static_cast<int>(bytes.size())) ==
            static_cast<int>(bytes.size()));
  }
  /// Reads until `mark` has come, or the end.
  bool read_until(const std::string& mark) {
    char buffer[4096];
    while (text_.find(mark) == std::string::npos) {
      const int n = SSL_read(ssl_, buffer, sizeof buffer);
      if (n <= 0) return false;
      text_.append(buffer, static_cast<size_t>(n));
    }
    return true;
  }
  void close() { plain_.close(); }

 private:
  RawClient plain_;
  SSL_CTX* context_;
  SSL* ssl_ = nullptr;
  std::string text_;
  bool is_open_ = false;
};

TEST_CASE("tls: whole replies, streams and large bodies pass; a peer that goes is noticed") {
  const Certificates certificates;
  EchoServer at(certificates.options("localhost"));
  TlsClient client(at.server->port(), certificates.authority());
  REQUIRE(client.is_open());
  client.send("GET /a HTTP/1.1\r\n" + host + "\r\nGET /stream HTTP/1.1\r\n" + host + "\r\n");
  CHECK(client.read_until("GET /a? 0"));
  CHECK(client.read_until("three\r\n0\r\n\r\n"));
  client.send("POST /big HTTP/1.1\r\n" + host + "Content-Length: 3000000\r\n\r\n" +
              std::string(3'000'000, 'x'));
  CHECK(client.read_until("POST /big? 3000000"));
  const int before = at.gone;
  client.send("GET /hold HTTP/1.1\r\n" + host + "\r\n");
  at.last_held();
  client.close();
  CHECK(eventually([&] { return at.gone == before + 1; }, 2'000));
}

TEST_CASE("tls: another host's certificate, old versions and plain HTTP do not get through") {
  const Certificates certificates;
  EchoServer at(certificates.options("elsewhere"));
  CHECK_FALSE(TlsClient(at.server->port(), certificates.authority()).is_open());
  EchoServer right(certificates.options("localhost"));
  CHECK_FALSE(TlsClient(right.server->port(), certificates.authority(), TLS1_1_VERSION).is_open());
  RawClient plain = right.client();
  plain.send("GET / HTTP/1.1\r\n" + host + "\r\n");
  CHECK(plain.read_to_end());
  CHECK(plain.text().find("HTTP/1.1 200") == std::string::npos);
  CHECK(right.handled == 0);
  CHECK(TlsClient(right.server->port(), certificates.authority()).is_open());
}

TEST_CASE("tls: a key of another certificate is refused at the start") {
  const Certificates certificates;
  gateway::ServerOptions options = certificates.options("localhost");
  options.key_file = certificates.options("elsewhere").key_file;
  const auto started = gateway::HttpServer::start(options, {});
  REQUIRE_FALSE(started.ok());
  CHECK(started.error().message().find("cannot use the key") != std::string::npos);
}

}  // namespace
}  // namespace troupe::testing
