// What connections have in common, whatever they run over: replies and streams become bytes that
// wait for their socket.
#include "gateway/server_state.hpp"

#include <boost/asio/post.hpp>

#include "gateway/wire.hpp"

namespace troupe::gateway {
namespace {

/// An exchange as its handler holds it: it may outlive connection and server.
class ConnectionExchange : public Exchange {
 public:
  ConnectionExchange(std::shared_ptr<ServerState> state, std::weak_ptr<ConnectionBase> connection,
                     uint64_t number)
      : state_(std::move(state)), connection_(std::move(connection)), number_(number) {}

  void reply(HttpReply reply) override {
    put(Order::Kind::reply, {}, std::make_unique<HttpReply>(std::move(reply)), {});
  }
  void begin(HttpReply head) override {
    put(Order::Kind::begin, {}, std::make_unique<HttpReply>(std::move(head)), {});
  }
  void write(std::string piece) override { put(Order::Kind::write, std::move(piece), nullptr, {}); }
  void end() override { put(Order::Kind::end, {}, nullptr, {}); }
  void on_gone(std::function<void()> gone) override {
    if (connection_.expired()) {
      gone();
    } else {
      put(Order::Kind::gone, {}, nullptr, std::move(gone));
    }
  }

 private:
  void put(Order::Kind kind, std::string piece, std::unique_ptr<HttpReply> reply,
           std::function<void()> gone) {
    auto to = connection_.lock();
    if (!to) return;
    const bool can_wait = kind == Order::Kind::write && to->has_just_written(now_us());
    Order order{kind, number_, std::move(to), std::move(piece), std::move(reply), std::move(gone)};
    if (!state_->outbox.put(std::move(order), can_wait)) return;
    asio::post(state_->io, [state = state_.get()] { state->deliver(false); });
  }

  std::shared_ptr<ServerState> state_;
  std::weak_ptr<ConnectionBase> connection_;
  uint64_t number_;
};

}  // namespace

void ServerState::remember(ConnectionBase& connection) {
  connections.insert(&connection);
  per_address[connection.address()] += 1;
  num_connections += 1;
}

void ServerState::forget(ConnectionBase& connection) {
  if (connections.erase(&connection) == 0) return;
  num_connections -= 1;
  const auto found = per_address.find(connection.address());
  if (found != per_address.end() && --found->second == 0) per_address.erase(found);
}

void ServerState::deliver(bool is_turn) {
  outbox.take(orders, is_turn);
  for (Order& order : orders) order.to->obey(order);
  const TimeUs now = now_us();
  for (Order& order : orders) {
    if (is_turn || !order.to->may_wait(now)) {
      order.to->flush();
    } else if (order.to->begin_waiting()) {
      waiting.push_back(std::move(order.to));
    }
  }
  orders.clear();
  if (is_turn) {
    for (const auto& connection : std::exchange(waiting, {})) connection->end_waiting();
  } else if (!waiting.empty() && !std::exchange(turn_comes, true)) {
    outbox.expect_turn();
    turn_timer.expires_after(std::chrono::microseconds(limits::gather_us));
    turn_timer.async_wait([this](ErrorCode stopped) {
      turn_comes = false;
      if (!stopped) deliver(true);
    });
  }
}

ConnectionBase::ConnectionBase(ServerState& state, std::string address)
    : state_(state), address_(std::move(address)) {
  state_.remember(*this);
}

std::shared_ptr<Exchange> ConnectionBase::exchange(std::weak_ptr<ConnectionBase> self) {
  return std::make_shared<ConnectionExchange>(state_.shared_from_this(), std::move(self), number_);
}

bool ConnectionBase::is_current(uint64_t number) const {
  return !is_closed_ && is_in_flight_ && !is_ended_ && number == number_;
}

void ConnectionBase::leave() {
  if (std::exchange(is_in_flight_, false)) state_.exchanges -= 1;
  if (const auto gone = std::exchange(gone_, nullptr)) gone();
}

void ConnectionBase::push(std::string_view bytes) {
  if (unsent_.size() + bytes.size() > limits::unsent_bytes_max && is_streaming_) {
    state_.cut_off += 1;
    close();
    return;
  }
  unsent_ += bytes;
}

void ConnectionBase::send_reply(uint64_t number, HttpReply reply) {
  if (!is_current(number) || is_streaming_) return;
  if (state_.is_closing) keep_alive_ = false;
  push(head_bytes(reply, Framing::length, reply.body.size(), keep_alive_));
  if (!is_head_) push(reply.body);
  is_ended_ = true;
  flush();
}

void ConnectionBase::obey(Order& order) {
  switch (order.kind) {
    case Order::Kind::reply:
      send_reply(order.number, std::move(*order.reply));
      break;
    case Order::Kind::begin:
      begin_stream(order.number, std::move(*order.reply));
      break;
    case Order::Kind::write:
      write_piece(order.number, order.piece);
      break;
    case Order::Kind::end:
      end_stream(order.number);
      break;
    case Order::Kind::gone:
      set_gone(order.number, std::move(order.gone));
      break;
  }
}

bool ConnectionBase::may_wait(TimeUs now) const {
  return is_streaming_ && !is_ended_ && unsent_.size() < limits::gather_bytes &&
         has_just_written(now);
}

void ConnectionBase::end_waiting() {
  is_waiting_ = false;
  flush();
}

void ConnectionBase::begin_stream(uint64_t number, HttpReply head) {
  if (!is_current(number) || is_streaming_) return;
  if (state_.is_closing || is_http_1_0_) keep_alive_ = false;
  push(head_bytes(head, is_http_1_0_ ? Framing::until_close : Framing::chunks, 0, keep_alive_));
  is_streaming_ = true;
}

void ConnectionBase::write_piece(uint64_t number, const std::string& piece) {
  if (!is_current(number) || !is_streaming_ || piece.empty() || is_head_) return;
  if (!is_http_1_0_) push(chunk_head(piece.size()));
  push(piece);
  if (!is_http_1_0_) push("\r\n");
}

void ConnectionBase::end_stream(uint64_t number) {
  if (!is_current(number) || !is_streaming_) return;
  if (!is_http_1_0_ && !is_head_) push(last_chunk);
  is_ended_ = true;
}

void ConnectionBase::set_gone(uint64_t number, std::function<void()> gone) {
  if (is_current(number)) {
    gone_ = std::move(gone);
  } else if (is_closed_) {
    gone();
  }
}

}  // namespace troupe::gateway
