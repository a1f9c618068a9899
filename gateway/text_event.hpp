// An event of a stream that is the same for every token but for its text: rendered once, so that a
// token costs its own bytes.
#pragma once

#include <string>
#include <string_view>

#include "gateway/json.hpp"

namespace troupe::gateway {

class TextEvent {
 public:
  /// What a body has where the text belongs; behind it stands nothing that a client wrote.
  static constexpr const char* place = "\x01";

  TextEvent(std::string_view name, const Json& body);
  /// Appends the event, as event() would write it; broken UTF-8 is replaced.
  void append(std::string& out, std::string_view text) const;

 private:
  std::string before_, after_;
};

}  // namespace troupe::gateway
