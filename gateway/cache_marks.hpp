// cache_control of Anthropic's API: where it stands, read and checked. Internal to the gateway's
// readers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "actors/client.hpp"
#include "gateway/json.hpp"

namespace troupe::gateway {

/// The marks of one request, in the order of the API: tools, system, messages.
class CacheMarks {
 public:
  /// `error` keeps the first mistake.
  explicit CacheMarks(std::optional<ApiError>& error) : error_(error) {}

  /// The time that the block's cache_control asks for, in seconds; 0 where it has none.
  uint32_t read(Fields& block);
  /// The same of parts inside of a block: the longest of them.
  uint32_t read_parts(const Json& parts, const std::string& path);
  void add(const actors::CacheMark& mark) { marks_.push_back(mark); }
  /// cache_control beside the messages: a mark at the end of the last message.
  void read_automatic(Fields& fields, const Json& messages);
  /// Checks their number.
  std::vector<actors::CacheMark> take();

 private:
  std::optional<ApiError>& error_;
  std::vector<actors::CacheMark> marks_;
  size_t num_read_ = 0;
  uint32_t shortest_s_ = UINT32_MAX;
};

}  // namespace troupe::gateway
