#include "gateway/http.hpp"

namespace troupe::gateway {

std::string_view HttpRequest::header(std::string_view name) const {
  for (const auto& [key, value] : headers) {
    if (key == name) return value;
  }
  return {};
}

std::string_view reason_of(int status) {
  switch (status) {
    case 400:
      return "bad request";
    case 401:
      return "no valid key";
    case 403:
      return "forbidden";
    case 404:
      return "not found";
    case 405:
      return "method not allowed";
    case 408:
      return "request timeout";
    case 413:
      return "too large";
    case 415:
      return "unsupported media type";
    case 429:
      return "too many requests";
    case 431:
      return "header too large";
    case 503:
      return "unavailable";
    default:
      return status < 500 ? "refused" : "internal error";
  }
}

std::string event(std::string_view name, std::string_view data) {
  std::string text;
  text.reserve(name.size() + data.size() + 20);
  if (!name.empty()) {
    text += "event: ";
    text += name;
    text += '\n';
  }
  text += "data: ";
  text += data;
  text += "\n\n";
  return text;
}

}  // namespace troupe::gateway
