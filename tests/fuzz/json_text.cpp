// JSON as nlohmann reads and prints it, whatever long strings were taken out of it.
#include "text/json_text.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace {

using Json = nlohmann::ordered_json;

template <class Parse>
std::optional<Json> parsed(const Parse& parse) {
  try {
    return parse();
  } catch (const Json::exception&) {
    return std::nullopt;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto wanted = parsed([&] { return Json::parse(text); });
  for (const size_t long_bytes : {0u, 4u}) {
    if (parsed([&] { return troupe::text::parse_json(text, long_bytes); }) != wanted) {
      __builtin_trap();
    }
  }
  if (wanted && troupe::text::to_json(*wanted) != wanted->dump()) __builtin_trap();
  return 0;
}
