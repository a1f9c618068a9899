// Every rendered conversation of the template fixtures, byte for byte.
#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "tests/support/test_files.hpp"
#include "text/chat_template.hpp"

using namespace troupe;
using namespace troupe::text;

namespace {

std::string fixtures() {
  return testing::fixtures_dir().string();
}

std::string read(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::stringstream out;
  out << in.rdbuf();
  return out.str();
}

const ChatTemplate* template_named(const std::string& name) {
  static std::map<std::string, ChatTemplate> parsed;
  if (const auto found = parsed.find(name); found != parsed.end()) return &found->second;
  auto made = ChatTemplate::parse(read(fixtures() + "/templates/" + name + ".jinja"));
  if (!made.ok()) FAIL_CHECK(name << ": " << made.error().message());
  return made.ok() ? &parsed.emplace(name, *std::move(made)).first->second : nullptr;
}

RenderInput input_of(const Json& c) {
  RenderInput input;
  input.messages = c["messages"];
  input.tools = c["tools"];
  input.bos_token = c["tokens"]["bos_token"];
  input.eos_token = c["tokens"]["eos_token"];
  input.variables = c["kwargs"];
  input.now_s = 1773500966;  // 2026-03-14 15:09:26, as the fixtures were made
  return input;
}

/// Where Python itself failed (a type error, an undefined value) nothing is compared: an engine
/// that is more lenient there is not wrong.
bool agrees(const Json& c, const Result<std::string>& out) {
  if (c.contains("rendered")) return out.ok() && *out == c["rendered"].get<std::string>();
  const Json& wanted = c["error"];
  if (!wanted["raised_by_template"].get<bool>()) return true;
  return !out.ok() &&
         out.error().what.find(wanted["message"].get<std::string>()) != std::string::npos;
}

}  // namespace

TEST_CASE("chat templates render as transformers renders them") {
  const std::string folder = fixtures() + "/templates";
  if (!std::filesystem::exists(folder)) {
    MESSAGE("SKIPPED: no template fixtures in " << folder);
    return;
  }
  std::ifstream cases(folder + "/cases.jsonl");
  std::string line;
  int count = 0;
  while (std::getline(cases, line)) {
    const Json c = Json::parse(line);
    const std::string name = c["template"];
    const ChatTemplate* chat_template = template_named(name);
    if (chat_template == nullptr) continue;
    const auto out = chat_template->render(input_of(c));
    CHECK_MESSAGE(agrees(c, out), name << " / " << c["case"].get<std::string>() << ": "
                                       << (out.ok() ? *out : out.error().message()));
    ++count;
  }
  CHECK(count >= 1900);
}

TEST_CASE("every template of the fixtures parses") {
  const std::string folder = fixtures() + "/templates";
  if (!std::filesystem::exists(folder)) {
    MESSAGE("SKIPPED: no template fixtures in " << folder);
    return;
  }
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() != ".jinja") continue;
    const auto parsed = ChatTemplate::parse(read(entry.path()));
    CHECK_MESSAGE(parsed.ok(), entry.path().filename().string());
    ++count;
  }
  CHECK(count >= 83);
}
