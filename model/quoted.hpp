// A name from a file as it may stand in an error message.
#pragma once

#include <string>
#include <string_view>

namespace troupe::model {

/// `text` in double quotes, at most 96 bytes of it, with what is not printable ASCII as \xNN.
std::string quoted(std::string_view text);

}  // namespace troupe::model
