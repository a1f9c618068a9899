// Vectors that Jinja2 itself made, with the settings of transformers: tests/data/templates.
#include <doctest/doctest.h>

#include <fstream>
#include <string>

#include "tests/support/folders.hpp"
#include "text/chat_template.hpp"

using namespace troupe;
using namespace troupe::text;

namespace {

constexpr int64_t vectors_time_s = 1773500966;  // 2026-03-14 15:09:26

Result<std::string> render_case(const Json& c) {
  TROUPE_ASSIGN(const auto parsed, ChatTemplate::parse(c["source"].get<std::string>()));
  RenderInput input;
  input.variables = c["kwargs"];
  input.now_s = vectors_time_s;
  return parsed.render(input);
}

}  // namespace

TEST_CASE("small templates render as Jinja2 renders them, and fail where it fails") {
  std::ifstream lines(testing::source_folder() + "/tests/data/templates/cases.jsonl");
  std::string line;
  int rendered = 0;
  int failed = 0;
  while (std::getline(lines, line)) {
    const Json c = Json::parse(line);
    const std::string source = c["source"];
    const Result<std::string> out = render_case(c);
    if (c.contains("rendered")) {
      ++rendered;
      REQUIRE_MESSAGE(out.ok(), source << ": " << (out.ok() ? "" : out.error().message()));
      CHECK_MESSAGE(*out == c["rendered"].get<std::string>(), source);
      continue;
    }
    ++failed;
    CHECK_MESSAGE(!out.ok(), source);
    if (out.ok() || !c["error"].value("raised_by_template", false)) continue;
    CHECK(out.error().what.find(c["error"]["message"].get<std::string>()) != std::string::npos);
  }
  CHECK(rendered > 300);
  CHECK(failed > 50);
}
