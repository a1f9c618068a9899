// What all connections of one HTTP server share, and what they have in common whatever they run
// over. Internal to server.cpp.
#pragma once

#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/http.hpp>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/clock.hpp"
#include "base/concat.hpp"
#include "gateway/limits.hpp"
#include "gateway/outbox.hpp"
#include "gateway/server.hpp"

namespace troupe::gateway {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using tcp = asio::ip::tcp;
using ErrorCode = boost::system::error_code;

class ConnectionBase;

/// Shared with exchanges, which may outlive the server.
struct ServerState : std::enable_shared_from_this<ServerState> {
  ServerOptions options;
  ServerHandler handler;
  std::optional<asio::ssl::context> tls;
  std::unordered_set<ConnectionBase*> connections;
  std::unordered_map<std::string, size_t> per_address;
  std::atomic<uint64_t> num_connections{0}, accepted{0}, turned_away{0}, cut_off{0}, exchanges{0},
      sends{0};
  uint64_t bodies_bytes = 0;
  bool is_closing = false;
  bool turn_comes = false;
  Outbox outbox;
  std::vector<Order> orders;  ///< being done; kept for its memory
  /// After everything above: what waits in it refers to the rest and goes first.
  asio::io_context io{1};
  asio::steady_timer turn_timer{io};
  /// Connections whose events wait for the next turn.
  std::vector<std::shared_ptr<ConnectionBase>> waiting;

  void remember(ConnectionBase& connection);
  void forget(ConnectionBase& connection);
  /// Does what others have said. `is_turn`: what waited goes out, too.
  void deliver(bool is_turn);
};

/// The part of a connection that replies go through.
class ConnectionBase {
 public:
  ConnectionBase(ServerState& state, std::string address);
  virtual ~ConnectionBase() = default;

  virtual void close() = 0;
  /// Looks whether its time is over or its peer is gone.
  virtual void look(TimeUs now) = 0;

  void obey(Order& order);
  /// Writes what is unsent, as far as the peer takes it.
  virtual void flush() = 0;
  /// Something went out less than limits::gather_us ago. From any thread.
  [[nodiscard]] bool has_just_written(TimeUs now) const {
    return now - written_us_.load(std::memory_order_relaxed) < limits::gather_us;
  }
  /// A stream so fast that its events can share a write.
  [[nodiscard]] bool may_wait(TimeUs now) const;
  /// False: it waits already.
  bool begin_waiting() { return !std::exchange(is_waiting_, true); }
  void end_waiting();
  [[nodiscard]] const std::string& address() const { return address_; }

 protected:
  enum class Stage : uint8_t { idle, head, body, answering, lingering };

  void send_reply(uint64_t number, HttpReply reply);
  void begin_stream(uint64_t number, HttpReply head);
  void write_piece(uint64_t number, const std::string& piece);
  void end_stream(uint64_t number);
  void set_gone(uint64_t number, std::function<void()> gone);
  /// The exchange under way, as its handler sees it.
  std::shared_ptr<Exchange> exchange(std::weak_ptr<ConnectionBase> self);
  /// Tells who waits that the peer is gone.
  void leave();
  [[nodiscard]] bool is_current(uint64_t number) const;
  void push(std::string_view bytes);

  ServerState& state_;
  const std::string address_;
  Stage stage_ = Stage::idle;
  TimeUs deadline_us_ = INT64_MAX;
  uint64_t number_ = 0;  ///< of the exchange
  bool is_closed_ = false;
  bool is_in_flight_ = false;
  bool is_streaming_ = false;
  bool is_ended_ = false;
  bool is_head_ = false;
  bool is_http_1_0_ = false;
  bool keep_alive_ = false;
  bool is_waiting_ = false;
  std::atomic<TimeUs> written_us_ = 0;
  std::string unsent_;
  std::function<void()> gone_;
};

}  // namespace troupe::gateway
