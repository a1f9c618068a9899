// JSON as text, quickly where it holds long strings: conversations are little else. Equal to
// nlohmann's own parse() and dump() in every byte and every refusal.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace troupe::text {

/// As Json::parse(text): throws its exceptions. Strings of fewer than `long_bytes` bytes are left
/// to it.
nlohmann::ordered_json parse_json(std::string_view text, size_t long_bytes = 512);

/// As dump() does; broken UTF-8 is replaced.
std::string to_json(const nlohmann::ordered_json& json);

/// `text` as it stands between the quotes of JSON; broken UTF-8 is replaced.
void append_escaped(std::string& out, std::string_view text);

/// The quote that ends the string whose first byte is text[at]; text.size(): none does.
size_t end_of_string(std::string_view text, size_t at);

}  // namespace troupe::text
