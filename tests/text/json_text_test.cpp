#include "text/json_text.hpp"

#include <doctest/doctest.h>

#include <random>
#include <string>
#include <string_view>
#include <vector>

using troupe::text::parse_json;
using troupe::text::to_json;
using Json = nlohmann::ordered_json;

namespace {

/// What nlohmann says of a text: the value printed, or its complaint.
template <class Parse>
std::string said(const Parse& parse) {
  try {
    return parse().dump(-1, ' ', false, Json::error_handler_t::replace);
  } catch (const Json::exception& failure) {
    return failure.what();
  }
}

/// With `inside`: what may stand in a string of JSON.
std::string any_text(std::mt19937& dice, bool inside = false) {
  static const std::vector<std::string> valid = {
      "\\\\", "\\\"", "\\n", "\\u00e9", "\\ud83d\\ude00", "日本", "\\u00010", "\\/", ",", "plain"};
  static const std::vector<std::string> pieces = {
      "{\"a\":", "[",        "]",     "}",       ",",        "\"",      "\"b\":",  "\"c\" \n:",
      "\\",      "\\\"",     "\\n",   "\\u00e9", "\\ud83d",  "\\ude00", "\\uZZZZ", "\\x",
      "12",      "-1.5e300", "1e999", "true",    "null",     " ",       "\n",      "\x01",
      "\xff",    "\xe2\x82", "日本",  "😀",       "\\u00010", "\\/",     "\"\"",    "plain text"};
  const auto& used = inside ? valid : pieces;
  std::string text;
  for (auto n = dice() % 14; n > 0; --n) text += used[dice() % used.size()];
  return text;
}

TEST_CASE("json text: parses and refuses as nlohmann does, whatever is taken out of it") {
  std::mt19937 dice(11);
  int values = 0;
  for (int i = 0; i < 60'000; ++i) {
    // Every second one is whole but for what stands inside of its strings.
    const bool inside = i % 4 == 0;
    std::string text = any_text(dice, inside);
    if (i % 2 == 0) {
      text = "{\"a\": [\"" + text + "\", {\"" + any_text(dice, inside) + "\": \"" +
             any_text(dice, inside) + "\"}]}";
    }
    const std::string wanted = said([&] { return Json::parse(text); });
    INFO(text);
    REQUIRE(said([&] { return parse_json(text, 0); }) == wanted);
    REQUIRE(said([&] { return parse_json(text, 5); }) == wanted);
    REQUIRE(said([&] { return parse_json(text); }) == wanted);
    values += wanted.starts_with("{") ? 1 : 0;
  }
  CHECK(values > 1'000);
}

TEST_CASE("json text: no byte behind a string makes it pass for one that was taken out") {
  // nlohmann takes a zero byte for the text's end, so what follows one is never read.
  for (int byte = 0; byte < 256; ++byte) {
    for (const std::string_view before : {"", " ", "\r", "\n\t "}) {
      std::string text = "\"\\u0001 1\"";
      text.append(before) += static_cast<char>(byte);
      text += ": \"a string that is long enough\"}";
      INFO(byte);
      const std::string wanted = said([&] { return Json::parse(text); });
      REQUIRE(said([&] { return parse_json(text, 0); }) == wanted);
      REQUIRE(said([&] { return parse_json(text, 5); }) == wanted);
    }
  }
}

TEST_CASE("json text: long strings come out whole, beside short ones and as names") {
  const std::string page(3'000, 'x');
  const Json json = {{"long", page + "\n\"\\é" + page},
                     {"short", "y"},
                     {page, {page, 1, nullptr, {{"inner", page}}}},
                     {"empty", ""}};
  CHECK(parse_json(json.dump()) == json);
  CHECK(parse_json(json.dump(2)) == json);
  CHECK(parse_json(json.dump(-1, ' ', true)) == json);
}

TEST_CASE("json text: a string that spells what stands for another one is itself") {
  const std::string page(40, 'x');
  for (const std::string odd : {"\\u0001", "\\u00010", "\\u000199999999999999999999", "\\u0001x",
                                "\\u00017", "x\\u00010", "\\n\\u00010",
                                "\x01"
                                "0"}) {
    for (const size_t long_bytes : {0u, 5u, 20u, 512u}) {
      const std::string text = "[\"" + page + "\", \"" + odd + "\", {\"" + odd + "\": \"" + odd +
                               "\"}, \"" + page + page + "\"]";
      INFO(text);
      CHECK(said([&] { return parse_json(text, long_bytes); }) ==
            said([&] { return Json::parse(text); }));
    }
  }
}

TEST_CASE("json text: prints as nlohmann does, broken characters replaced") {
  std::mt19937 dice(12);
  for (int i = 0; i < 20'000; ++i) {
    const Json json = {{any_text(dice), any_text(dice)},
                       {"n", {1, -2, 1.5, 1e300, true, nullptr, Json::array(), Json::object()}},
                       {"t", {{"u", std::string(1, static_cast<char>(dice() % 256))}}}};
    REQUIRE(to_json(json) == json.dump(-1, ' ', false, Json::error_handler_t::replace));
  }
  CHECK(to_json(Json()) == "null");
}

}  // namespace
