// HTTP as the rest of the gateway sees it: a request, a reply, and an exchange that joins them. The
// protocol itself and its sockets stay in gateway/server.cpp.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace troupe::gateway {

using Headers = std::vector<std::pair<std::string, std::string>>;

struct HttpRequest {
  std::string method;
  std::string path;   ///< without the query
  std::string query;  ///< what stands behind the question mark
  Headers headers;    ///< names in lower case, in the order in which they came
  std::string body;
  std::string address;  ///< of the peer, without the port
  /// What refuse_head() leaves for handle(); nobody else looks at it.
  std::shared_ptr<const void> note;

  /// The first header of that name (in lower case); empty if there is none.
  [[nodiscard]] std::string_view header(std::string_view name) const;
};

struct HttpReply {
  int status = 200;
  std::string content_type = "application/json";
  std::string body;
  Headers headers;
};

/// What the reply to one request is written to. Every method may be called from any thread, none of
/// them blocks; after the end or once the peer is gone they do nothing.
class Exchange {
 public:
  virtual ~Exchange() = default;

  /// The whole reply.
  virtual void reply(HttpReply reply) = 0;
  /// The head of a stream; the body of `head` is ignored.
  virtual void begin(HttpReply head) = 0;
  /// A piece of the stream. What the peer does not take is held up to limits::unsent_bytes_max;
  /// beyond that the connection is closed.
  virtual void write(std::string piece) = 0;
  virtual void end() = 0;

  /// Called at most once, when the peer goes away before the end: on the server's thread, or at
  /// once if the peer is gone already.
  virtual void on_gone(std::function<void()> gone) = 0;
};

/// The sentence that belongs to a status code.
std::string_view reason_of(int status);

/// One event of a stream of events; without a name just its data.
std::string event(std::string_view name, std::string_view data);

}  // namespace troupe::gateway
