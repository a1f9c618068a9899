// The HTTP server on loopback: bounds, odd clients, peers that go away.
#include <ifaddrs.h>

#include <algorithm>
#include <thread>

#include "tests/gateway/echo_server.hpp"

namespace troupe::testing {
namespace {

const std::string host = "Host: localhost\r\n";

TEST_CASE("http: bodies by length and in chunks, several requests on one connection") {
  const EchoServer at;
  RawClient client = at.client();
  client.send("POST /a?b=c HTTP/1.1\r\n" + host + "Content-Length: 5\r\n\r\nhello");
  CHECK(client.take_reply().ends_with("POST /a?b=c 5 hello"));
  client.send("POST /a HTTP/1.1\r\n" + host +
              "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n6;x=y\r\n world\r\n0\r\n\r\n");
  CHECK(client.take_reply().ends_with(" 11 hello world"));
  client.send("GET /last HTTP/1.1\r\n" + host + "Connection: close\r\n\r\n");
  const std::string last = client.take_reply();
  CHECK(last.find("connection: close") != std::string::npos);
  CHECK(client.read_to_end());
}

TEST_CASE("http: pipelined requests are answered in their order") {
  const EchoServer at;
  RawClient client = at.client();
  std::string many;
  for (int i = 0; i < 200; ++i)
    many += "GET /" + std::to_string(i) + " HTTP/1.1\r\n" + host + "\r\n";
  client.send(many);
  for (int i = 0; i < 200; ++i) {
    const std::string reply = client.take_reply();
    REQUIRE(reply.find("GET /" + std::to_string(i) + "? ") != std::string::npos);
  }
}

TEST_CASE("http: HEAD has the head alone, 1.0 gets its stream until the end") {
  const EchoServer at;
  RawClient client = at.client();
  client.send("HEAD /x HTTP/1.1\r\n" + host + "\r\nGET /y HTTP/1.1\r\n" + host + "\r\n");
  REQUIRE(client.read_until("GET /y"));
  CHECK(client.text().find("HEAD /x") == std::string::npos);
  RawClient old = at.client();
  old.send("GET /stream HTTP/1.0\r\n\r\n");
  REQUIRE(old.read_to_end());
  CHECK(old.text().ends_with("\r\n\r\none two three"));
  RawClient modern = at.client();
  modern.send("GET /stream HTTP/1.1\r\n" + host + "\r\n");
  REQUIRE(modern.read_until("0\r\n\r\n"));
  CHECK(modern.text().find("4\r\none \r\n") != std::string::npos);
}

TEST_CASE("http: 100-continue is said before the body, unless the head is refused") {
  const EchoServer at;
  RawClient client = at.client();
  client.send("POST /a HTTP/1.1\r\n" + host + "Expect: 100-continue\r\nContent-Length: 2\r\n\r\n");
  REQUIRE(client.read_until("100 Continue\r\n\r\n"));
  client.send("ok");
  REQUIRE(client.read_until(" 2 ok"));
  RawClient refused = at.client();
  refused.send("POST /refused HTTP/1.1\r\n" + host +
               "Expect: 100-continue\r\nContent-Length: 2\r\n\r\n");
  REQUIRE(refused.read_to_end());
  CHECK(refused.text().starts_with("HTTP/1.1 404"));
  RawClient other = at.client();
  other.send("POST /a HTTP/1.1\r\n" + host + "Expect: wonders\r\nContent-Length: 2\r\n\r\n");
  REQUIRE(other.read_to_end());
  CHECK(other.text().starts_with("HTTP/1.1 417"));
}

TEST_CASE("http: what is too large or no HTTP is refused, and the others are not disturbed") {
  gateway::ServerOptions options;
  options.body_bytes_max = 1000;
  const EchoServer at(options);
  const auto first_line = [&](const std::string& bytes) {
    RawClient client = at.client();
    client.send(bytes);
    CHECK(client.read_to_end());
    return client.text().substr(0, 12);
  };
  CHECK(first_line("POST / HTTP/1.1\r\n" + host + "Content-Length: 1001\r\n\r\n") ==
        "HTTP/1.1 413");
  CHECK(first_line("POST / HTTP/1.1\r\n" + host + "Content-Length: 99999999999999\r\n\r\n") ==
        "HTTP/1.1 413");
  CHECK(first_line("POST / HTTP/1.1\r\n" + host + "Transfer-Encoding: chunked\r\n\r\nffff\r\n" +
                   std::string(2000, 'x')) == "HTTP/1.1 413");
  CHECK(first_line("GET / HTTP/1.1\r\nX: " + std::string(20'000, 'x') + "\r\n\r\n") ==
        "HTTP/1.1 431");
  std::string flood = "GET / HTTP/1.1\r\n";
  for (int i = 0; i < 5000; ++i) flood += "A" + std::to_string(i) + ": b\r\n";
  CHECK(first_line(flood) == "HTTP/1.1 431");
  CHECK(first_line("\x16\x03\x01\x02 this is TLS\r\n\r\n") == "HTTP/1.1 400");
  CHECK(first_line("POST / HTTP/1.1\r\n" + host +
                   "Content-Length: 5\r\nContent-Length: 6\r\n\r\n") == "HTTP/1.1 400");
  CHECK(first_line("POST / HTTP/1.1\r\n" + host + "Content-Length: -1\r\n\r\n") == "HTTP/1.1 400");
  CHECK(at.handled == 0);
  RawClient good = at.client();
  good.send("GET /fine HTTP/1.1\r\n" + host + "\r\n");
  CHECK(good.take_reply().find("GET /fine") != std::string::npos);
}

TEST_CASE("http: a peer that goes away is noticed at once, with a goodbye or a reset") {
  EchoServer at;
  SUBCASE("closes") {
    RawClient client = at.client();
    client.send("GET /hold HTTP/1.1\r\n" + host + "\r\n");
    at.last_held();
    client.close();
  }
  SUBCASE("resets") {
    RawClient client = at.client();
    client.send("GET /hold HTTP/1.1\r\n" + host + "\r\n");
    at.last_held();
    client.reset();
  }
  SUBCASE("after it sent its next request already") {
    RawClient client = at.client();
    client.send("GET /hold HTTP/1.1\r\n" + host + "\r\nGET /next HTTP/1.1\r\n" + host + "\r\n");
    at.last_held();
    client.close();
  }
  SUBCASE("in the middle of a stream") {
    RawClient client = at.client();
    client.send("GET /hold HTTP/1.1\r\n" + host + "\r\n");
    const auto exchange = at.last_held();
    exchange->begin({200, "text/event-stream", {}, {}});
    exchange->write("a");
    REQUIRE(client.read_until("a\r\n"));
    client.close();
  }
  CHECK(eventually([&] { return at.gone == 1; }, 1'000));
  CHECK(eventually([&] { return at.server->counts().connections == 0; }, 1'000));
  // What is said to an exchange whose peer is gone is forgotten.
  at.last_held()->write("x");
  at.last_held()->end();
}

TEST_CASE("http: slow heads, silent bodies and slow readers are cut off") {
  gateway::ServerOptions options;
  options.header_s = 1;
  options.body_silence_s = 1;
  options.idle_s = 1;
  options.write_silence_s = 1;
  EchoServer at(options);
  RawClient idle = at.client();
  RawClient head = at.client();
  head.send("GET / HT");
  RawClient body = at.client();
  body.send("POST / HTTP/1.1\r\n" + host + "Content-Length: 5\r\n\r\nab");
  CHECK(idle.read_to_end(4'000));
  CHECK(idle.text().empty());
  CHECK(head.read_to_end(5'000));
  CHECK(head.text().starts_with("HTTP/1.1 408"));
  CHECK(body.read_to_end(5'000));
  CHECK(body.text().starts_with("HTTP/1.1 408"));

  RawClient reader = at.client();
  reader.send("GET /hold HTTP/1.1\r\n" + host + "\r\n");
  const auto exchange = at.last_held();
  exchange->begin({200, "text/event-stream", {}, {}});
  for (int i = 0; i < 100; ++i) exchange->write(std::string(64 * 1024, 'x'));
  RawClient other = at.client();
  other.send("GET /other HTTP/1.1\r\n" + host + "\r\n");
  CHECK(other.take_reply().find("GET /other") != std::string::npos);
  CHECK(eventually([&] { return at.gone == 1; }, 5'000));
}

TEST_CASE("http: what a slow reader leaves is bounded") {
  EchoServer at;
  RawClient reader = at.client();
  reader.send("GET /hold HTTP/1.1\r\n" + host + "\r\n");
  const auto exchange = at.last_held();
  exchange->begin({200, "text/event-stream", {}, {}});
  for (int i = 0; i < 1000 && at.gone == 0; ++i) exchange->write(std::string(64 * 1024, 'x'));
  CHECK(eventually([&] { return at.gone == 1; }, 2'000));
  CHECK(at.server->counts().cut_off == 1);
}

TEST_CASE("http: events that come fast share a write, those that come slowly never wait") {
  EchoServer at;
  RawClient reader = at.client();
  reader.send("GET /hold HTTP/1.1\r\n" + host + "\r\n");
  const auto exchange = at.last_held();
  exchange->begin({200, "text/event-stream", {}, {}});
  size_t read = 0;
  const auto say = [&](const std::string& event) {
    const TimeUs before = now_us();
    exchange->write(event);
    REQUIRE(reader.read_past(event, read));
    return now_us() - before;
  };
  const auto sleep = [](TimeUs us) { std::this_thread::sleep_for(std::chrono::microseconds(us)); };
  SUBCASE("slow ones") {
    std::vector<TimeUs> waits;
    for (int i = 0; i < 15; ++i) {
      waits.push_back(say("event " + std::to_string(i) + ";"));
      sleep(gateway::limits::gather_us + 4'000);
    }
    std::ranges::sort(waits);
    CHECK(waits[waits.size() / 2] < gateway::limits::gather_us / 2);
  }
  SUBCASE("one after another: each comes, soon") {
    for (int i = 0; i < 20; ++i) CHECK(say("event " + std::to_string(i) + ";") < 1'000'000);
  }
  SUBCASE("fast ones") {
    const uint64_t before = at.server->counts().sends;
    for (int i = 0; i < 200; ++i) {
      exchange->write("event " + std::to_string(i) + ";");
      sleep(500);
    }
    for (int i = 0; i < 200; ++i)
      REQUIRE(reader.read_past("event " + std::to_string(i) + ";", read));
    CHECK(at.server->counts().sends - before < 60);
  }
  SUBCASE("the last ones do not wait for the end's turn") {
    for (int i = 0; i < 5; ++i) exchange->write("event;");
    exchange->end();
    REQUIRE(reader.read_past("0\r\n\r\n", read));
    reader.send("GET /next HTTP/1.1\r\n" + host + "\r\n");
    REQUIRE(reader.read_past("GET /next", read));
  }
  SUBCASE("a long one does not wait") {
    const uint64_t before = at.server->counts().sends;
    say("first;");
    const std::string piece(gateway::limits::gather_bytes, 'x');
    exchange->write(piece);
    CHECK(reader.read_past(piece, read, 1'000));
    CHECK(eventually([&] { return at.server->counts().sends >= before + 2; }, 1'000));
  }
  SUBCASE("a reader that goes while its events wait") {
    exchange->write("first;");
    REQUIRE(reader.read_past("first;", read));
    exchange->write("second;");
    reader.reset();
    exchange->write("third;");
    CHECK(eventually([&] { return at.gone == 1; }, 1'000));
  }
}

TEST_CASE("http: connections beyond the limit are closed, those that are there go on") {
  gateway::ServerOptions options;
  options.connections_max = 3;
  const EchoServer at(options);
  std::vector<RawClient> clients;
  for (int i = 0; i < 3; ++i) clients.push_back(at.client());
  REQUIRE(eventually([&] { return at.server->counts().connections == 3; }, 2'000));
  RawClient more = at.client();
  CHECK(more.read_to_end(2'000));
  CHECK(at.server->counts().turned_away == 1);
  clients[0].send("GET /fine HTTP/1.1\r\n" + host + "\r\n");
  CHECK(clients[0].take_reply().find("GET /fine") != std::string::npos);
  clients[1].close();
  REQUIRE(eventually([&] { return at.server->counts().connections == 2; }, 2'000));
  RawClient again = at.client();
  again.send("GET /again HTTP/1.1\r\n" + host + "\r\n");
  CHECK(again.take_reply().find("GET /again") != std::string::npos);
}

/// An address of this machine beside loopback; empty: it has none.
std::string other_address() {
  ifaddrs* all = nullptr;
  if (::getifaddrs(&all) != 0) return {};
  std::string found;
  for (const ifaddrs* one = all; one != nullptr; one = one->ifa_next) {
    if (one->ifa_addr == nullptr || one->ifa_addr->sa_family != AF_INET) continue;
    char text[INET_ADDRSTRLEN] = {};
    const auto* address = reinterpret_cast<const sockaddr_in*>(one->ifa_addr);
    ::inet_ntop(AF_INET, &address->sin_addr, text, sizeof text);
    if (!std::string(text).starts_with("127.")) found = text;
  }
  ::freeifaddrs(all);
  return found;
}

TEST_CASE("http: one address has so many connections, and takes none of another's") {
  const std::string address = other_address();
  if (address.empty()) {
    MESSAGE("this machine has loopback alone");
    return;
  }
  gateway::ServerOptions options;
  options.address = "0.0.0.0";
  options.connections_per_address_max = 3;
  const EchoServer at(options);
  std::vector<RawClient> clients;
  for (int i = 0; i < 3; ++i) clients.emplace_back(at.server->port(), address);
  REQUIRE(eventually([&] { return at.server->counts().connections == 3; }, 2'000));
  RawClient more(at.server->port(), address);
  CHECK(more.read_to_end(2'000));
  CHECK(at.server->counts().turned_away == 1);
  for (int i = 0; i < 5; ++i) clients.push_back(at.client());
  for (RawClient& client : clients) {
    client.send("GET /fine HTTP/1.1\r\n" + host + "\r\n");
    CHECK(client.take_reply().find("GET /fine") != std::string::npos);
  }
  clients[0].close();
  REQUIRE(eventually([&] { return at.server->counts().connections == 7; }, 2'000));
  RawClient again(at.server->port(), address);
  again.send("GET /again HTTP/1.1\r\n" + host + "\r\n");
  CHECK(again.take_reply().find("GET /again") != std::string::npos);
}

TEST_CASE("http: replies may come late, from another thread, and after the server's end") {
  auto at = std::make_unique<EchoServer>();
  RawClient client = at->client();
  client.send("GET /hold HTTP/1.1\r\n" + host + "\r\n");
  const auto exchange = at->last_held();
  SUBCASE("late") {
    exchange->reply({200, "text/plain", "late", {}});
    exchange->reply({200, "text/plain", "twice", {}});
    CHECK(client.take_reply().ends_with("late"));
  }
  SUBCASE("after the end") {
    at->held.clear();
    at.reset();
    exchange->reply({200, "text/plain", "too late", {}});
    exchange->on_gone([] {});
    CHECK(client.read_to_end());
  }
}

TEST_CASE("http: an address or a port that cannot be had is an error") {
  const EchoServer at;
  gateway::ServerOptions options;
  options.port = at.server->port();
  CHECK_FALSE(gateway::HttpServer::start(options, {}).ok());
  options.address = "not an address";
  CHECK_FALSE(gateway::HttpServer::start(options, {}).ok());
  options = {};
  options.certificate_file = "nothing.pem";
  CHECK_FALSE(gateway::HttpServer::start(options, {}).ok());
  options.key_file = "nothing.pem";
  CHECK_FALSE(gateway::HttpServer::start(options, {}).ok());
}

}  // namespace
}  // namespace troupe::testing
