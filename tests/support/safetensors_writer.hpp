// Makes safetensors files for tests, also such as break the format's rules.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tests/support/gguf_format.hpp"

namespace troupe::testing {

class SafetensorsWriter {
 public:
  struct Entry {
    std::string name;
    std::string dtype;
    std::string shape;  ///< "[2, 3]"
    uint64_t begin = 0;
    uint64_t end = 0;
  };

  /// Appends a tensor after those that are there.
  SafetensorsWriter& add(std::string name, std::string dtype, std::string shape,
                         const Bytes& bytes) {
    entries.push_back({std::move(name), std::move(dtype), std::move(shape), data.size(),
                       data.size() + bytes.size()});
    data.insert(data.end(), bytes.begin(), bytes.end());
    return *this;
  }

  [[nodiscard]] std::string header() const {
    std::string text = "{" + extra;
    for (const Entry& e : entries) {
      if (text.size() > 1) text += ",";
      text += "\"" + e.name + "\":{\"dtype\":\"" + e.dtype + "\",\"shape\":" + e.shape +
              ",\"data_offsets\":[" + std::to_string(e.begin) + "," + std::to_string(e.end) + "]}";
    }
    text += "}";
    while (text.size() % 8 != 0) text += " ";
    return text;
  }

  [[nodiscard]] Bytes build() const { return build(header()); }
  [[nodiscard]] Bytes build(const std::string& header_text) const {
    Bytes out;
    put(out, static_cast<uint64_t>(header_text.size()));
    for (const char c : header_text) out.push_back(static_cast<std::byte>(c));
    out.insert(out.end(), data.begin(), data.end());
    return out;
  }

  std::vector<Entry> entries;
  std::string extra;  ///< members in front, e.g. a "__metadata__"
  Bytes data;
};

}  // namespace troupe::testing
