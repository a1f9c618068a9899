// A template and the JSON that it renders: the input is "source \0 json".
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "text/chat_template.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace troupe::text;
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const size_t split = std::min(input.find('\0'), input.size());
  const auto parsed = ChatTemplate::parse(input.substr(0, split));
  if (!parsed.ok()) return 0;
  RenderInput render;
  render.messages = Json::parse(input.substr(std::min(split + 1, input.size())), nullptr, false);
  if (render.messages.is_discarded()) {
    render.messages = {{{"role", "user"}, {"content", "hi"}}, {{"role", "assistant"}}};
  }
  render.tools = {{{"name", "f"}, {"parameters", {{"a", 1}, {"b", {1.5, nullptr}}}}}};
  const auto out = parsed->render(render);
  if (!out.ok() && out.error().what.empty()) __builtin_trap();
  return 0;
}
