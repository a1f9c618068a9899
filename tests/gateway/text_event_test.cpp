// Events that are rendered once are those that would be rendered each time.
#include "gateway/text_event.hpp"

#include <doctest/doctest.h>

#include <random>

#include "gateway/http.hpp"

namespace troupe::testing {
namespace {

using gateway::Json;
using gateway::TextEvent;

TEST_CASE("text events: any text, broken or not, is written as the whole event would be") {
  const auto body = [](const std::string& model, const std::string& text) {
    return Json{{"model", model}, {"delta", {{"content", text}}}, {"index", 3}, {"end", nullptr}};
  };
  const std::vector<std::string> pieces = {"the",
                                           " ",
                                           "\"",
                                           "\\",
                                           "\n",
                                           "\t",
                                           "\x01",
                                           "\x1f",
                                           "\x7f",
                                           "\\u0001",
                                           "é",
                                           "日",
                                           "😀",
                                           "\xff",
                                           "\xc3",
                                           "\xe2\x82",
                                           "</script>",
                                           std::string(1, '\0'),
                                           "a long run of plain text"};
  std::mt19937 dice(7);
  for (const std::string model : {"m", "with \x01 inside", "\\u0001"}) {
    const TextEvent event("some_name", body(model, TextEvent::place));
    for (int i = 0; i < 2000; ++i) {
      std::string text;
      for (auto n = dice() % 6; n > 0; --n) text += pieces[dice() % pieces.size()];
      const std::string wanted = gateway::event("some_name", gateway::text_of(body(model, text)));
      std::string out = "before";
      event.append(out, text);
      REQUIRE(out == "before" + wanted);
    }
  }
}

}  // namespace
}  // namespace troupe::testing
