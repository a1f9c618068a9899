#include "text/utf8.hpp"

#include <doctest/doctest.h>

#include "text/unicode.hpp"

using namespace troupe::text;

TEST_CASE("broken UTF-8 is replaced as Python does: one U+FFFD for each maximal part") {
  const std::string r = "\xef\xbf\xbd";
  CHECK(replace_invalid_utf8("a\xffz") == "a" + r + "z");
  CHECK(replace_invalid_utf8("\xe2\x82") == r);
  CHECK(replace_invalid_utf8("\xe2\x82z") == r + "z");
  CHECK(replace_invalid_utf8("\xe0\x80\x80") == r + r + r);
  CHECK(replace_invalid_utf8("\xed\xa0\x80") == r + r + r);
  CHECK(replace_invalid_utf8("\xf0\x9f\xa6\xf0\x9f\xa6\x99") == r + "🦙");
  CHECK(replace_invalid_utf8("\xf4\x90\x80\x80") == r + r + r + r);
  CHECK(replace_invalid_utf8("żółw") == "żółw");
}

TEST_CASE("the first broken byte is found") {
  CHECK_FALSE(first_invalid_utf8("żółw").has_value());
  CHECK(first_invalid_utf8("ab\xc0") == 2);
  CHECK(first_invalid_utf8("日\xe6\x97") == 3);
  CHECK(check_utf8("a\x80", "the prompt").error().what ==
        "the prompt is not valid UTF-8: byte 128 at offset 1");
}

TEST_CASE("an unfinished character at the end is told from a broken one") {
  CHECK(unfinished_utf8_tail("a") == 0);
  CHECK(unfinished_utf8_tail("a\xe6") == 1);
  CHECK(unfinished_utf8_tail("\xe6\x97") == 2);
  CHECK(unfinished_utf8_tail("\xf0\x9f\xa6") == 3);
  CHECK(unfinished_utf8_tail("\xe6\x97\xa5") == 0);
  CHECK(unfinished_utf8_tail("\xff") == 0);
  CHECK(unfinished_utf8_tail("\xe0\x80") == 0);
}

TEST_CASE("code points know their category and case") {
  CHECK(is_letter(category(0x17c)));
  CHECK(category('1') == Category::Nd);
  CHECK(is_number(category(0xbd)));
  CHECK(category(0x1f999) == Category::So);
  CHECK(category(0x110000) == Category::Cn);
  CHECK(is_white_space(0x3000));
  CHECK_FALSE(is_white_space(0x200b));
  CHECK(to_upper(0x17c) == 0x17b);
  CHECK(to_lower(0x416) == 0x436);
  CHECK(to_upper(0xdf) == 0xdf);
}
