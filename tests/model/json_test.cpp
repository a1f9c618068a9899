#include "model/json.hpp"

#include <string>

#include "tests/model/model_checks.hpp"

using namespace troupe;
using namespace troupe::model;
using troupe::testing::check_error;

namespace {

Json parsed(const std::string& text) {
  auto json = parse_json(text);
  if (!json.ok()) FAIL(json.error().message());
  return *json;
}

void check_bad(const std::string& text, Code code, const std::string& what) {
  CAPTURE(text);
  const auto json = parse_json(text);
  REQUIRE_FALSE(json.ok());
  check_error(json.error(), code, what, "");
}

}  // namespace

TEST_CASE("a tree of every kind of value") {
  const Json json =
      parsed(R"( {"a": [1, -2.5e1, true, false, null], "b": {"c": "x\"\\\/\b\f\n\r\tA"}} )");
  REQUIRE(json.is_object());
  CHECK(json.keys() == std::vector<std::string>{"a", "b"});
  const Json& list = *json.find("a");
  REQUIRE(list.items().size() == 5);
  CHECK(list.items()[0].integer() == 1);
  CHECK(list.items()[1].number() == -25.0);
  CHECK(list.items()[2].boolean() == true);
  CHECK(list.items()[3].boolean() == false);
  CHECK(list.items()[4].is_null());
  CHECK(json.find("b")->find("c")->text() == "x\"\\/\b\f\n\r\tA");
  CHECK(json.find("absent") == nullptr);
  CHECK(list.find("a") == nullptr);
  CHECK(parsed("[]").items().empty());
  CHECK(parsed("{ }").keys().empty());
}

TEST_CASE("escapes become UTF-8, surrogate pairs one character") {
  CHECK(parsed(R"("\u00e9\u20AC\ud83d\ude00\u0000")").text() ==
        std::string("\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\0", 10));
  check_bad(R"("\ud83d")", Code::corrupt, "surrogate");
  check_bad(R"("\ud83dA")", Code::corrupt, "surrogate");
  check_bad(R"("\ude00")", Code::corrupt, "surrogate");
  check_bad(R"("\u12g4")", Code::corrupt, "hexadecimal");
  check_bad(R"("\x41")", Code::corrupt, "unknown escape");
  check_bad("\"a\nb\"", Code::corrupt, "control character");
}

TEST_CASE("whole numbers in every spelling, and what is none") {
  CHECK(parsed("4096.0").integer() == 4096);
  CHECK(parsed("4.096e3").integer() == 4096);
  CHECK(parsed("-7").integer() == -7);
  CHECK_FALSE(parsed("-7").unsigned_integer());
  CHECK(parsed("18446744073709551615").unsigned_integer() == 18446744073709551615u);
  CHECK_FALSE(parsed("18446744073709551616").unsigned_integer());
  CHECK_FALSE(parsed("0.5").integer());
  CHECK_FALSE(parsed("1e400").number());
  CHECK_FALSE(parsed("\"1\"").number());
  CHECK_FALSE(parsed("1").boolean());
  for (const char* text : {"01", "1.", ".5", "+1", "-", "1e", "NaN", "Infinity", "0x10"}) {
    check_bad(text, Code::corrupt, "damaged at byte");
  }
}

TEST_CASE("texts that are not JSON, with the place") {
  check_bad("", Code::corrupt, "byte 0");
  check_bad("[1,]", Code::corrupt, "byte 3");
  check_bad("[1 2]", Code::corrupt, "']'");
  check_bad("{\"a\" 1}", Code::corrupt, "':' is missing");
  check_bad("{a: 1}", Code::corrupt, "a key is missing");
  check_bad("{\"a\": 1} x", Code::corrupt, "follows");
  check_bad("\"abc", Code::corrupt, "does not end");
  check_bad("tru", Code::corrupt, "none of true");
  check_bad("{\"a\": 1, \"b\": 2, \"a\": 3}", Code::corrupt, "\"a\" occurs twice");
}

TEST_CASE("depth is limited") {
  CHECK(parse_json(std::string(64, '[') + std::string(64, ']')).ok());
  check_bad(std::string(100'000, '['), Code::exhausted, "nested");
}
