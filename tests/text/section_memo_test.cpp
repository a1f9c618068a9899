#include "text/section_memo.hpp"

#include <doctest/doctest.h>

#include "tests/text/small_tokenizer.hpp"
#include "text/text_limits.hpp"

using namespace troupe;
using namespace troupe::text;

namespace {

TEST_CASE("section memo: the ids are those without it, and known text is not merged again") {
  const auto tokenizer = *Tokenizer::make(small_spec());
  SectionMemo memo(1 << 20);
  std::string page;
  while (page.size() < 2 * limits::memo_bytes_min) page += "hello hell, 日本 he<|x ";
  const std::vector<std::string> texts = {page, page + "<|end|>" + page, "<|begin|>" + page,
                                          "x<tool>" + page + "<|end|>", page + "!"};
  for (int round = 0; round < 2; ++round) {
    for (const std::string& text : texts) {
      for (const bool special : {false, true}) {
        EncodeOptions options{.parse_special = special, .add_special = special};
        const auto wanted = *tokenizer->encode(text, options);
        options.memo = &memo;
        CHECK(*tokenizer->encode(text, options) == wanted);
      }
    }
  }
  const uint64_t before = tokenizer->merge_lookups();
  CHECK(tokenizer->encode(page, {.memo = &memo}).ok());
  CHECK(tokenizer->merge_lookups() == before);
  // What one tenant said says nothing to another.
  CHECK(tokenizer->encode(page, {.memo = &memo, .memo_scope = "other"}).ok());
  const uint64_t other = tokenizer->merge_lookups();
  CHECK(other > before);
  CHECK(tokenizer->encode(page, {.memo = &memo, .memo_scope = "other"}).ok());
  CHECK(tokenizer->merge_lookups() == other);
}

TEST_CASE("section memo: keeps the newest within its bound") {
  SectionMemo memo(10);
  const auto key = [](int i) { return SectionMemo::key("text", static_cast<uint64_t>(i)); };
  std::vector<int32_t> ids;
  memo.keep(key(0), std::vector<int32_t>(11, 1));
  CHECK_FALSE(memo.append(key(0), ids));
  memo.keep(key(1), {1, 2, 3, 4, 5});
  memo.keep(key(2), {6, 7, 8, 9, 10});
  CHECK(memo.append(key(1), ids));
  memo.keep(key(3), {11});
  CHECK_FALSE(memo.append(key(2), ids));
  CHECK(memo.append(key(3), ids));
  CHECK(ids == std::vector<int32_t>{1, 2, 3, 4, 5, 11});
  CHECK(SectionMemo::key("text", 1) != SectionMemo::key("text", 2));
}

}  // namespace
