// A Protobuf message as one line of JSON, and strictly back: the format of recordings. Fields at
// their default are left out; fixed64 (identities) and bytes are written in hexadecimal.
#pragma once

#include <google/protobuf/message.h>

#include <string>
#include <string_view>

#include "base/result.hpp"

namespace troupe::cli {

namespace limits {
/// Longest line that is read.
inline constexpr size_t json_line_bytes_max = size_t{1} << 20;
}  // namespace limits

/// Without a newline. Messages with float or double fields are a defect.
std::string to_json_line(const google::protobuf::Message& message);

/// Fills `message`, which must be empty. Errors: invalid_argument says which field, e.g.
/// `update.values[3].metric`, what is wrong with it and what would be right: unknown or double
/// fields, wrong types, numbers out of range, odd hexadecimal. `message` is then of no use.
Status from_json_line(std::string_view line, google::protobuf::Message& message);

}  // namespace troupe::cli
