// One connection of the HTTP server, over TCP or TLS: reads a request within bounds, hands it on,
// writes the reply, and begins again. Everything happens on the server's one thread. Included by
// server.cpp alone: Boost is slow to compile.
#pragma once

#include <poll.h>

#include <boost/asio/ssl.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/clock.hpp"
#include "gateway/server_state.hpp"
#include "gateway/wire.hpp"

namespace troupe::gateway {

/// A body that grows as its bytes arrive; Beast's own reserves what is announced.
struct GrowingBody {
  using value_type = std::string;
  struct reader {
    template <bool is_request, class Fields>
    reader(http::header<is_request, Fields>&, value_type& body) : body_(body) {}
    void init(const boost::optional<uint64_t>&, ErrorCode& failure) { failure = {}; }
    template <class Buffers>
    size_t put(const Buffers& buffers, ErrorCode& failure) {
      failure = {};
      size_t taken = 0;
      for (auto piece : beast::buffers_range_ref(buffers)) {
        body_.append(static_cast<const char*>(piece.data()), piece.size());
        taken += piece.size();
      }
      return taken;
    }
    void finish(ErrorCode& failure) { failure = {}; }
    value_type& body_;
  };
};

template <class Stream>
class Connection : public ConnectionBase, public std::enable_shared_from_this<Connection<Stream>> {
  static constexpr bool is_tls = !std::is_same_v<Stream, tcp::socket>;
  using Parser = http::request_parser<GrowingBody>;

 public:
  Connection(ServerState& state, Stream stream, std::string address)
      : ConnectionBase(state, std::move(address)),
        stream_(std::move(stream)),
        buffer_(limits::header_bytes_max + limits::read_bytes_max) {}
  ~Connection() override { state_.forget(*this); }

  void start() {
    ErrorCode ignored;
    socket().set_option(tcp::no_delay(true), ignored);
    socket().non_blocking(true, ignored);
    if constexpr (is_tls) {
      deadline_us_ = now_us() + TimeUs{1'000'000} * limits::handshake_s;
      stream_.async_handshake(asio::ssl::stream_base::server,
                              [self = this->shared_from_this()](ErrorCode failure) {
                                failure ? self->close() : self->wait_request();
                              });
    } else {
      wait_request();
    }
  }

  void close() override {
    if (std::exchange(is_closed_, true)) return;
    ErrorCode ignored;
    socket().close(ignored);
    release_body();
    leave();
  }

  void look(TimeUs now) override {
    if (is_closed_) return;
    if (is_in_flight_ && is_peer_gone()) {
      close();
    } else if (now > deadline_us_) {
      time_out();
    }
  }

 private:
  tcp::socket& socket() {
    if constexpr (is_tls) {
      return stream_.next_layer();
    } else {
      return stream_;
    }
  }

  bool is_peer_gone() {
    pollfd entry{socket().native_handle(), POLLRDHUP, 0};
    return ::poll(&entry, 1, 0) > 0 && (entry.revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0;
  }

  void time_out() {
    if (stage_ == Stage::head || stage_ == Stage::body) {
      state_.cut_off += 1;
      // The read that waits must not take what is read while lingering.
      ErrorCode ignored;
      socket().cancel(ignored);
      refuse(408, stage_ == Stage::head ? "the head did not come in time"
                                        : "the body did not come in time");
      return;
    }
    if (stage_ != Stage::idle) state_.cut_off += 1;
    close();
  }

  void set_stage(Stage stage, int seconds) {
    stage_ = stage;
    deadline_us_ = now_us() + TimeUs{1'000'000} * seconds;
  }

  void wait_request() {
    set_stage(Stage::idle, state_.options.idle_s);
    parser_.reset();
    if (buffer_.size() > 0 || is_tls) {
      read_head();
      return;
    }
    // A connection that says nothing holds no buffer.
    buffer_.shrink_to_fit();
    sending_ = std::string();
    unsent_ = std::string();
    socket().async_wait(tcp::socket::wait_read,
                        [self = this->shared_from_this()](ErrorCode failure) {
                          if (self->is_closed_) return;
                          failure ? self->close() : self->read_head();
                        });
  }

  void read_head() {
    if (!is_tls || buffer_.size() > 0) set_stage(Stage::head, state_.options.header_s);
    parser_.emplace();
    parser_->header_limit(limits::header_bytes_max);
    parser_->body_limit(state_.options.body_bytes_max);
    http::async_read_header(stream_, buffer_, *parser_,
                            [self = this->shared_from_this()](ErrorCode failure, size_t) {
                              if (self->is_closed_ || self->stage_ > Stage::head) return;
                              failure ? self->refuse(failure) : self->take_head();
                            });
  }

  /// What the parser found wrong with what came.
  void refuse(ErrorCode failure) {
    if (failure == http::error::header_limit || failure == http::error::buffer_overflow) {
      refuse(431, concat("the head is longer than ", limits::header_bytes_max, " bytes"));
    } else if (failure == http::error::body_limit) {
      refuse(413, concat("the body is longer than ", state_.options.body_bytes_max, " bytes"));
    } else if (failure.category() == http::make_error_code(http::error::bad_method).category() &&
               failure != http::error::end_of_stream && failure != http::error::partial_message) {
      refuse(400, "this is not HTTP: " + failure.message());
    } else {
      close();
    }
  }

  void refuse(int status, const std::string& what) {
    keep_alive_ = false;
    const HttpRequest none;
    begin_exchange();
    send_reply(number_, state_.handler.refusal(request_ ? *request_ : none, status, what));
  }

  void take_head() {
    request_ = to_request(parser_->get(), address_);
    is_head_ = request_->method == "HEAD";
    is_http_1_0_ = parser_->get().version() < 11;
    keep_alive_ = parser_->keep_alive();
    HttpReply refusal;
    if (state_.handler.refuse_head(*request_, refusal)) {
      if (!parser_->is_done()) keep_alive_ = false;
      begin_exchange();
      send_reply(number_, std::move(refusal));
      return;
    }
    body_until_us_ = now_us() + TimeUs{1'000'000} * state_.options.body_s;
    const std::string_view expects = request_->header("expect");
    if (!expects.empty() && !parser_->is_done()) {
      if (expects != "100-continue") {
        refuse(417, "Expect is not 100-continue");
        return;
      }
      auto go_on = std::make_shared<std::string>("HTTP/1.1 100 Continue\r\n\r\n");
      asio::async_write(stream_, asio::buffer(*go_on),
                        [self = this->shared_from_this(), go_on](ErrorCode failure, size_t) {
                          if (self->is_closed_) return;
                          failure ? self->close() : self->read_body();
                        });
      set_stage(Stage::body, state_.options.body_silence_s);
      return;
    }
    read_body();
  }

  void read_body() {
    if (parser_->is_done()) {
      hand_on();
      return;
    }
    set_stage(Stage::body, state_.options.body_silence_s);
    http::async_read_some(stream_, buffer_, *parser_,
                          [self = this->shared_from_this()](ErrorCode failure, size_t) {
                            if (self->is_closed_ || self->stage_ != Stage::body) return;
                            failure ? self->refuse(failure) : self->more_body();
                          });
  }

  void more_body() {
    const size_t body = parser_->get().body().size();
    // A read takes as much as there is room for: a long body comes in few reads.
    const size_t room = std::min(body, limits::read_bytes_max);
    if (buffer_.capacity() < room) buffer_.reserve(room);
    const uint64_t held = body + buffer_.capacity();
    state_.bodies_bytes += held - body_held_;
    body_held_ = held;
    if (state_.bodies_bytes > limits::bodies_bytes_max) {
      refuse(503, "too many large requests at once");
    } else if (now_us() > body_until_us_) {
      state_.cut_off += 1;
      refuse(408, "the body did not come in time");
    } else {
      read_body();
    }
  }

  void release_body() { state_.bodies_bytes -= std::exchange(body_held_, 0); }

  void hand_on() {
    HttpRequest request = std::move(*request_);
    request.body = std::move(parser_->get().body());
    release_body();
    parser_.reset();
    request_.reset();
    begin_exchange();
    watch_peer();
    state_.handler.handle(std::move(request), exchange(this->weak_from_this()));
  }

  void begin_exchange() {
    number_ += 1;
    is_in_flight_ = true;
    is_streaming_ = is_ended_ = false;
    stage_ = Stage::answering;
    deadline_us_ = INT64_MAX;
    written_us_ = 0;
    state_.exchanges += 1;
  }

  /// A peer that closes is noticed at once; one that has sent its next request already, by look().
  void watch_peer() {
    socket().async_wait(tcp::socket::wait_read,
                        [self = this->shared_from_this(), number = number_](ErrorCode failure) {
                          if (failure || self->is_closed_ || self->number_ != number) return;
                          if (self->is_in_flight_ && self->is_peer_gone()) self->close();
                        });
  }

  /// Something is left to write; it is in sending_, behind sending_at_.
  bool has_more() {
    if (sending_at_ < sending_.size()) return true;
    sending_.clear();
    sending_at_ = 0;
    std::swap(sending_, unsent_);
    return !sending_.empty();
  }

  void flush() override {
    if (is_sending_ || is_closed_) return;
    while (has_more()) {
      const auto bytes = asio::buffer(sending_.data() + sending_at_, sending_.size() - sending_at_);
      if constexpr (is_tls) {
        is_sending_ = true;
        give_time_to_take();
        stream_.async_write_some(
            bytes, [self = this->shared_from_this()](ErrorCode failure, size_t taken) {
              self->is_sending_ = false;
              if (self->is_closed_) return;
              self->took(taken);
              failure ? self->close() : self->flush();
            });
        return;
      } else {
        ErrorCode failure;
        took(stream_.write_some(bytes, failure));
        if (!failure) continue;
        failure == asio::error::would_block ? wait_until_taken() : close();
        return;
      }
    }
    if (is_ended_) finish();
  }

  void took(size_t bytes) {
    if (bytes == 0) return;
    sending_at_ += bytes;
    state_.sends += 1;
    written_us_ = now_us();
    deadline_us_ = INT64_MAX;
  }

  void give_time_to_take() {
    if (deadline_us_ != INT64_MAX) return;
    deadline_us_ = now_us() + TimeUs{1'000'000} * state_.options.write_silence_s;
  }

  void wait_until_taken() {
    is_sending_ = true;
    give_time_to_take();
    socket().async_wait(tcp::socket::wait_write,
                        [self = this->shared_from_this()](ErrorCode failure) {
                          self->is_sending_ = false;
                          if (self->is_closed_) return;
                          failure ? self->close() : self->flush();
                        });
  }

  /// The reply is out.
  void finish() {
    is_in_flight_ = is_ended_ = false;
    gone_ = nullptr;
    state_.exchanges -= 1;
    if (keep_alive_ && !state_.is_closing) {
      wait_request();
      return;
    }
    // What still comes is read and forgotten for a while: a reset would destroy the reply.
    set_stage(Stage::lingering, 2);
    if constexpr (is_tls) {
      stream_.async_shutdown([self = this->shared_from_this()](ErrorCode) { self->close(); });
    } else {
      ErrorCode ignored;
      socket().shutdown(tcp::socket::shutdown_send, ignored);
      forgotten_.resize(16 * 1024);
      linger();
    }
  }

  void linger() {
    stream_.async_read_some(asio::buffer(forgotten_),
                            [self = this->shared_from_this()](ErrorCode failure, size_t) {
                              if (self->is_closed_) return;
                              failure ? self->close() : self->linger();
                            });
  }

  Stream stream_;
  beast::flat_buffer buffer_;
  std::optional<Parser> parser_;
  std::optional<HttpRequest> request_;
  uint64_t body_held_ = 0;
  TimeUs body_until_us_ = 0;
  std::string forgotten_;
  bool is_sending_ = false;
  std::string sending_;
  size_t sending_at_ = 0;
};

}  // namespace troupe::gateway
