// Clients that mean harm, over real sockets: memory stays bounded, the others are not disturbed.
#include <fstream>

#include "tests/gateway/echo_server.hpp"
#include "tests/support/loopback.hpp"

namespace troupe::testing {
namespace {

const std::string host = "Host: localhost\r\n";

uint64_t resident_bytes() {
  std::ifstream file("/proc/self/statm");
  uint64_t total = 0, resident = 0;
  file >> total >> resident;
  return resident * static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
}

bool answers(const EchoServer& at) {
  RawClient client = at.client();
  client.send("GET /fine HTTP/1.1\r\n" + host + "\r\n");
  return client.take_reply().find("GET /fine") != std::string::npos;
}

/// Sends one byte every 20 ms until the server is tired of it.
std::string drip(const EchoServer& at, const std::string& first, const std::string& rest) {
  RawClient client = at.client();
  client.send(first);
  const TimeUs until = now_us() + 15'000'000;
  for (size_t i = 0; now_us() < until && client.send(rest.substr(i % rest.size(), 1)); ++i) {
    if (client.read_until("\r\n\r\n", 20)) break;
  }
  client.read_to_end();
  return client.text();
}

/// A process of its own that holds so many connections open and says nothing.
class Crowd {
 public:
  Crowd(uint16_t port, int connections) {
    int ends[2];
    REQUIRE(::pipe(ends) == 0);
    pid_ = ::fork();
    if (pid_ == 0) {
      int open = 0;
      const sockaddr_in address = loopback(port);
      for (; open < connections; ++open) {
        const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
        if (::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) break;
      }
      if (::write(ends[1], &open, sizeof open) < 0) ::_exit(1);
      for (;;) ::pause();
    }
    ::close(ends[1]);
    if (::read(ends[0], &open_, sizeof open_) != sizeof open_) open_ = 0;
    ::close(ends[0]);
  }
  ~Crowd() { leave(); }
  Crowd(const Crowd&) = delete;
  Crowd& operator=(const Crowd&) = delete;

  void leave() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(std::exchange(pid_, 0), nullptr, 0);
  }
  [[nodiscard]] int open() const { return open_; }

 private:
  pid_t pid_ = 0;
  int open_ = 0;
};

TEST_CASE("abuse: heads and bodies byte by byte end with their time, not with their last byte") {
  gateway::ServerOptions options;
  options.header_s = 1;
  options.body_silence_s = 5;
  options.body_s = 1;
  const EchoServer at(options);
  SUBCASE("a head") {
    CHECK(drip(at, "GET / HTTP/1.1\r\nX: ", "slow").starts_with("HTTP/1.1 408"));
  }
  SUBCASE("a body by length") {
    CHECK(drip(at, "POST / HTTP/1.1\r\n" + host + "Content-Length: 100000\r\n\r\n", "slow")
              .starts_with("HTTP/1.1 408"));
  }
  SUBCASE("a body in chunks") {
    CHECK(
        drip(at, "POST / HTTP/1.1\r\n" + host + "Transfer-Encoding: chunked\r\n\r\n", "1\r\nx\r\n")
            .starts_with("HTTP/1.1 408"));
  }
  CHECK(at.server->counts().cut_off == 1);
  CHECK(at.handled == 0);
  CHECK(answers(at));
}

TEST_CASE("abuse: 10,000 idle connections cost little, and requests pass between them") {
  constexpr int many = 10'000;
  const EchoServer at;
  REQUIRE(answers(at));
  const uint64_t before = resident_bytes();
  Crowd crowd(at.server->port(), many);
  REQUIRE(crowd.open() == many);
  REQUIRE(eventually([&] { return at.server->counts().connections == many; }, 20'000));
  const uint64_t grown = resident_bytes() - std::min(resident_bytes(), before);
  const std::string told = std::to_string(grown / many) + " bytes for each idle connection";
  MESSAGE(told);
  CHECK(grown < uint64_t{many} * 8192);
  CHECK(answers(at));
  crowd.leave();
  CHECK(eventually([&] { return at.server->counts().connections == 0; }, 20'000));
}

TEST_CASE("abuse: a gigabyte is refused before it is read, or as soon as it is too long") {
  const EchoServer at;
  REQUIRE(answers(at));
  const uint64_t before = resident_bytes();
  RawClient client = at.client();
  SUBCASE("announced") {
    client.send("POST / HTTP/1.1\r\n" + host + "Content-Length: 1073741824\r\n\r\n");
    CHECK(client.read_until("HTTP/1.1 413", 2'000));
  }
  SUBCASE("announced, with 100-continue") {
    client.send("POST / HTTP/1.1\r\n" + host +
                "Expect: 100-continue\r\nContent-Length: 1073741824\r\n\r\n");
    CHECK(client.read_until("HTTP/1.1 413", 2'000));
    CHECK(client.text().find("100 Continue") == std::string::npos);
  }
  SUBCASE("in chunks") {
    client.send("POST / HTTP/1.1\r\n" + host + "Transfer-Encoding: chunked\r\n\r\n");
    const std::string chunk = "100000\r\n" + std::string(1 << 20, 'x') + "\r\n";
    int sent = 0;
    while (sent < 1024 && client.send(chunk)) ++sent;
    CHECK(client.read_until("HTTP/1.1 413", 2'000));
    CHECK(resident_bytes() < before + (uint64_t{64} << 20));
  }
  CHECK(at.handled == 1);
  CHECK(answers(at));
}

TEST_CASE("abuse: bodies that are read at once stay within what all of them may hold") {
  gateway::ServerOptions options;
  options.body_bytes_max = uint64_t{16} << 20;
  const EchoServer at(options);
  const std::string piece(1 << 20, 'x');
  std::vector<RawClient> clients;
  int refused = 0;
  for (int i = 0; i < 40 && refused == 0; ++i) {
    clients.push_back(at.client());
    RawClient& client = clients.back();
    client.send("POST / HTTP/1.1\r\n" + host + "Content-Length: 16777216\r\n\r\n");
    for (int mib = 0; mib < 15 && client.send(piece); ++mib) {
    }
    if (client.read_until("HTTP/1.1 503", 20)) refused += 1;
  }
  CHECK(refused == 1);
  clients.clear();
  CHECK(eventually([&] { return at.server->counts().connections == 0; }, 5'000));
  RawClient client = at.client();
  client.send("POST /ok HTTP/1.1\r\n" + host + "Content-Length: 1048576\r\n\r\n" + piece);
  CHECK(client.take_reply().find("POST /ok") != std::string::npos);
}

TEST_CASE("abuse: floods of heads without end or sense leave the server as it was") {
  const EchoServer at;
  const std::vector<std::string> floods = {
      "GET / HTTP/1.1\r\n" + std::string(1 << 20, 'a'),
      std::string(1 << 20, '\r'),
      std::string(1 << 20, '\0'),
      "GET /" + std::string(1 << 20, 'x') + " HTTP/1.1\r\n\r\n",
      "POST / HTTP/1.1\r\n" + host + "Transfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\n",
      "POST / HTTP/1.1\r\n" + host + "Transfer-Encoding: chunked\r\n\r\n1;" +
          std::string(1 << 20, 'e'),
      "POST / HTTP/1.1\r\n" + host + "Transfer-Encoding: chunked\r\n\r\n0\r\n" +
          std::string(1 << 20, 't') + ": x\r\n"};
  for (const std::string& flood : floods) {
    RawClient client = at.client();
    client.send(flood);
    CHECK(client.read_to_end());
    const std::string& text = client.text();
    CHECK((text.empty() || text.starts_with("HTTP/1.1 4")));
  }
  CHECK(at.handled == 0);
  CHECK(answers(at));
}

}  // namespace
}  // namespace troupe::testing
