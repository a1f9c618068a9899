// What other threads have said to connections and the server's thread has not heard yet. One
// wake-up fetches all of it; what may wait for the next turn needs none. Internal to gateway/.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "gateway/http.hpp"

namespace troupe::gateway {

class ConnectionBase;

/// One call of an Exchange.
struct Order {
  enum class Kind : uint8_t { reply, begin, write, end, gone };
  Kind kind;
  uint64_t number;  ///< of the exchange that it belongs to
  /// Goes along, so that a connection never ends on a thread other than the server's.
  std::shared_ptr<ConnectionBase> to;
  std::string piece;
  std::unique_ptr<HttpReply> reply;
  std::function<void()> gone;
};

class Outbox {
 public:
  /// True: the server's thread must be told to fetch. `can_wait`: a turn that is coming anyway is
  /// soon enough.
  bool put(Order order, bool can_wait) {
    const std::lock_guard lock(mutex_);
    if (is_closed_) return false;
    orders_.push_back(std::move(order));
    if (is_told_ || (can_wait && turn_comes_)) return false;
    return is_told_ = true;
  }

  /// Everything, in its order, into `orders`, which is empty. `is_turn`: the turn that was coming
  /// is now.
  void take(std::vector<Order>& orders, bool is_turn) {
    const std::lock_guard lock(mutex_);
    orders.swap(orders_);
    (is_turn ? turn_comes_ : is_told_) = false;
  }

  void expect_turn() {
    const std::lock_guard lock(mutex_);
    turn_comes_ = true;
  }

  /// Nothing is taken any more. What is left.
  std::vector<Order> close() {
    const std::lock_guard lock(mutex_);
    is_closed_ = true;
    return std::exchange(orders_, {});
  }

 private:
  std::mutex mutex_;
  std::vector<Order> orders_;
  bool is_told_ = false;     ///< to fetch, and has not done so
  bool turn_comes_ = false;  ///< within limits::gather_us
  bool is_closed_ = false;
};

}  // namespace troupe::gateway
