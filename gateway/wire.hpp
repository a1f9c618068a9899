// HTTP/1.1 as bytes: heads of replies, chunks; requests from Beast's. Internal to server.cpp.
#pragma once

#include <boost/beast/http.hpp>
#include <string>

#include "gateway/http.hpp"

namespace troupe::gateway {

/// How the body follows the head.
enum class Framing : uint8_t { length, chunks, until_close };

std::string head_bytes(const HttpReply& reply, Framing framing, size_t body_bytes, bool keep_alive);
/// What stands before a chunk of so many bytes; behind it stands "\r\n".
std::string chunk_head(size_t bytes);
inline constexpr std::string_view last_chunk = "0\r\n\r\n";

/// "Sun, 06 Nov 1994 08:49:37 GMT".
std::string http_date(int64_t unix_s);

template <class Head>
HttpRequest to_request(const Head& head, const std::string& address) {
  HttpRequest request;
  request.method = std::string(head.method_string());
  const std::string target(head.target());
  const size_t mark = target.find('?');
  request.path = target.substr(0, mark);
  if (mark != std::string::npos) request.query = target.substr(mark + 1);
  request.address = address;
  for (const auto& field : head) {
    std::string name(field.name_string());
    for (char& c : name) {
      if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    }
    request.headers.emplace_back(std::move(name), std::string(field.value()));
  }
  return request;
}

}  // namespace troupe::gateway
