#include "base/result.hpp"

namespace troupe {

const char* name(Code code) {
  switch (code) {
    case Code::ok:
      return "ok";
    case Code::invalid_argument:
      return "invalid_argument";
    case Code::not_found:
      return "not_found";
    case Code::unsupported:
      return "unsupported";
    case Code::corrupt:
      return "corrupt";
    case Code::exhausted:
      return "exhausted";
    case Code::unavailable:
      return "unavailable";
    case Code::cancelled:
      return "cancelled";
    case Code::timeout:
      return "timeout";
    case Code::failed_precondition:
      return "failed_precondition";
    case Code::internal:
      return "internal";
  }
  return "unknown";
}

std::string Error::message() const {
  return hint.empty() ? what : what + " (" + hint + ")";
}

}  // namespace troupe
