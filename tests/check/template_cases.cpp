#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "base/concat.hpp"
#include "tests/check/text_cases.hpp"
#include "text/chat_template.hpp"

namespace troupe::check {

namespace {

namespace fs = std::filesystem;
using text::ChatTemplate;
using text::Json;

constexpr int64_t fixtures_time_s = 1773500966;  // 2026-03-14 15:09:26, as the fixtures were made

class Templates {
 public:
  Templates(fs::path folder, fs::path assets)
      : folder_(std::move(folder)), assets_(std::move(assets)) {}

  const Result<ChatTemplate>& named(const std::string& name) {
    const auto found = parsed_.find(name);
    if (found != parsed_.end()) return found->second;
    return parsed_.emplace(name, read(name)).first->second;
  }

 private:
  [[nodiscard]] Result<ChatTemplate> read(const std::string& name) const {
    for (const fs::path& place : {folder_, assets_ / "templates", assets_}) {
      for (const char* extension : {"", ".jinja"}) {
        std::ifstream in(place / (name + extension), std::ios::binary);
        if (!in || !fs::is_regular_file(place / (name + extension))) continue;
        std::stringstream source;
        source << in.rdbuf();
        return ChatTemplate::parse(source.str());
      }
    }
    return error(Code::not_found, concat("there is no template ", name));
  }

  fs::path folder_;
  fs::path assets_;
  std::map<std::string, Result<ChatTemplate>> parsed_;
};

text::RenderInput input_of(const Json& c) {
  text::RenderInput input;
  input.messages = c.at("messages");
  input.tools = c.value("tools", Json());
  const Json tokens = c.value("tokens", Json::object());
  input.bos_token = tokens.value("bos_token", "");
  input.eos_token = tokens.value("eos_token", "");
  input.variables = c.value("kwargs", Json::object());
  input.now_s = fixtures_time_s;
  return input;
}

/// Empty: the case passes. Where Python itself failed (a type error, an undefined value) nothing is
/// compared: an engine that is more lenient there is not wrong.
std::string fault_of(const Json& c, const Result<std::string>& out) {
  if (c.contains("rendered")) {
    if (!out.ok()) return out.error().message();
    const auto wanted = c["rendered"].get<std::string>();
    if (*out == wanted) return {};
    size_t at = 0;
    while (at < wanted.size() && at < out->size() && wanted[at] == (*out)[at]) ++at;
    return concat("differs at byte ", at, ": ", Json(out->substr(at, 40)).dump(), ", not ",
                  Json(wanted.substr(at, 40)).dump(-1, ' ', false, Json::error_handler_t::replace));
  }
  const Json& wanted = c.at("error");
  if (!wanted.value("raised_by_template", false)) return {};
  if (out.ok()) return "rendered, but the template should have raised an error";
  const auto message = wanted.at("message").get<std::string>();
  return out.error().what.find(message) != std::string::npos
             ? std::string()
             : concat("raised ", out.error().what, ", not ", message);
}

}  // namespace

Status check_templates(const std::string& path, const std::string& assets, Report& report) {
  const fs::path file = fs::is_directory(path) ? fs::path(path) / "cases.jsonl" : fs::path(path);
  std::ifstream lines(file);
  if (!lines) {
    return error(Code::not_found, concat(file.string(), ": there are no template cases"),
                 "a folder with cases.jsonl, or such a file");
  }
  Templates templates(fs::absolute(file).parent_path(), assets);
  std::string line;
  for (int number = 1; std::getline(lines, line); ++number) {
    if (line.empty()) continue;
    const Json c = Json::parse(line, nullptr, false);
    if (!c.is_object()) {
      report.add("?", concat("line ", number), Outcome::failed, "the line is no JSON object");
      continue;
    }
    const std::string name = c.value("template", "");
    const std::string id = concat(name, "/", c.value("case", std::to_string(number)));
    const auto source = c.find("source");
    const Result<ChatTemplate> chat_template =
        source != c.end() ? ChatTemplate::parse(source->get<std::string>()) : templates.named(name);
    if (!chat_template.ok() && c.contains("error")) {
      const std::string fault = fault_of(c, chat_template.error());
      report.compare(name, id, fault.empty(), fault);
      continue;
    }
    if (!chat_template.ok()) {
      const bool absent = chat_template.error().code == Code::not_found;
      report.add(name, id, absent ? Outcome::skipped : Outcome::failed,
                 chat_template.error().message());
      continue;
    }
    const std::string fault = fault_of(c, chat_template->render(input_of(c)));
    report.compare(name, id, fault.empty(), fault);
  }
  return {};
}

}  // namespace troupe::check
