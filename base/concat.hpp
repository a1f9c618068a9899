// Builds a sentence from parts: concat("layer ", 3, " of ", n).
#pragma once

#include <sstream>
#include <string>

namespace troupe {

template <class... Parts>
std::string concat(const Parts&... parts) {
  std::ostringstream out;
  (out << ... << parts);
  return std::move(out).str();
}

}  // namespace troupe
