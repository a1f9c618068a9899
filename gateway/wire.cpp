#include "gateway/wire.hpp"

#include <array>
#include <charconv>
#include <ctime>

#include "base/concat.hpp"

namespace troupe::gateway {

std::string http_date(int64_t unix_s) {
  const auto time = static_cast<std::time_t>(unix_s);
  std::tm parts{};
  ::gmtime_r(&time, &parts);
  std::array<char, 64> text{};
  const size_t bytes = std::strftime(text.data(), text.size(), "%a, %d %b %Y %H:%M:%S GMT", &parts);
  return std::string(text.data(), bytes);
}

std::string head_bytes(const HttpReply& reply, Framing framing, size_t body_bytes,
                       bool keep_alive) {
  const auto status = static_cast<unsigned>(reply.status);
  const auto reason =
      boost::beast::http::obsolete_reason(boost::beast::http::int_to_status(status));
  std::string head = concat("HTTP/1.1 ", reply.status, " ", std::string(reason),
                            "\r\nserver: troupe\r\ndate: ", http_date(std::time(nullptr)), "\r\n");
  if (!reply.content_type.empty()) {
    head += concat("content-type: ", reply.content_type, "\r\n");
  }
  const bool has_body = reply.status >= 200 && reply.status != 204 && reply.status != 304;
  if (framing == Framing::length && has_body) {
    head += concat("content-length: ", body_bytes, "\r\n");
  }
  if (framing == Framing::chunks) head += "transfer-encoding: chunked\r\n";
  for (const auto& [name, value] : reply.headers) head += concat(name, ": ", value, "\r\n");
  head += keep_alive ? "connection: keep-alive\r\n\r\n" : "connection: close\r\n\r\n";
  return head;
}

std::string chunk_head(size_t bytes) {
  std::array<char, 20> head{};
  const auto [end, failure] = std::to_chars(head.data(), head.data() + head.size(), bytes, 16);
  *end = '\r';
  *(end + 1) = '\n';
  return {head.data(), end + 2};
}

}  // namespace troupe::gateway
