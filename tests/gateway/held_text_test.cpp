// Text that might have been the beginning of a stop string is said when the output ends without it.
#include <algorithm>

#include "tests/gateway/served.hpp"

namespace troupe::testing {
namespace {

/// One API: how it is asked and where its text is.
struct Api {
  std::string path;
  std::string stop_field;
  std::function<Json(int number)> body;
  std::function<std::string(const Json&)> whole;  ///< of a reply
  std::function<std::string(const Json&)> piece;  ///< of an event
  std::function<std::string(const Json&)> finish;
};

Json said_chat(int number) {
  return {{"model", "tiny"},
          {"max_tokens", 16},
          {"temperature", 0},
          {"messages",
           Json::array({{{"role", "user"}, {"content", "say " + std::to_string(number)}}})}};
}

std::vector<Api> apis() {
  const auto text = [](const Json& json, const char* pointer) {
    const Json::json_pointer at(pointer);
    return json.contains(at) && json[at].is_string() ? json[at].get<std::string>() : std::string();
  };
  const auto at = [text](const char* pointer) {
    return [text, pointer](const Json& json) { return text(json, pointer); };
  };
  const auto completion = [](int number) -> Json {
    return {{"model", "tiny"},
            {"max_tokens", 16},
            {"temperature", 0},
            {"ignore_eos", true},
            {"prompt", "say " + std::to_string(number)}};
  };
  return {{"/v1/completions", "stop", completion, at("/choices/0/text"), at("/choices/0/text"),
           at("/choices/0/finish_reason")},
          {"/v1/chat/completions", "stop", said_chat, at("/choices/0/message/content"),
           at("/choices/0/delta/content"), at("/choices/0/finish_reason")},
          {"/v1/messages", "stop_sequences", said_chat, at("/content/0/text"), at("/delta/text"),
           at("/stop_reason")}};
}

std::string streamed(Served& served, const Api& api, Json body) {
  body["stream"] = true;
  const std::string reply = served.ask("POST", api.path, body.dump());
  std::string text;
  for (size_t from = 0; (from = reply.find("data: {", from)) != std::string::npos;) {
    from += 6;
    text += api.piece(Json::parse(reply.substr(from, reply.find('\n', from) - from)));
  }
  return text;
}

bool ends_plainly(const std::string& text) {
  return text.size() > 4 &&
         std::all_of(text.end() - 2, text.end(), [](char c) { return c > 0x20 && c < 0x7f; });
}

TEST_CASE("held text: the beginning of a stop string is said when the length ends the output") {
  Served served;
  for (const Api& api : apis()) {
    CAPTURE(api.path);
    int tried = 0;
    for (int number = 0; number < 200 && tried < 3; ++number) {
      Json body = api.body(number);
      const Json reply = served.json(api.path, body);
      const std::string text = api.whole(reply);
      const std::string finish = api.finish(reply);
      if (!ends_plainly(text) || (finish != "length" && finish != "max_tokens")) continue;
      for (const size_t held : {1, 2}) {
        body[api.stop_field] = Json::array({text.substr(text.size() - held) + "\x01never\x02"});
        const Json stopped = served.json(api.path, body);
        CHECK(api.whole(stopped) == text);
        CHECK(api.finish(stopped) == finish);
        CHECK(streamed(served, api, body) == text);
      }
      ++tried;
    }
    CHECK(tried == 3);
  }
}

}  // namespace
}  // namespace troupe::testing
