#include "text/normalizer.hpp"

#include <doctest/doctest.h>

#include <cstring>

#include "text/unicode_normal.hpp"
#include "text/utf8.hpp"

using namespace troupe;
using namespace troupe::text;

namespace {

std::string run(const NormalStep& step, std::string text) {
  RegexScratch scratch;
  const auto made = Normalizer::make({step});
  REQUIRE(made.ok());
  REQUIRE(made->run(text, scratch).ok());
  return text;
}

std::string run(NormalKind kind, std::string text) {
  NormalStep step;
  step.kind = kind;
  return run(step, std::move(text));
}

/// A map that replaces "a" by "xyz": a double array of 512 units.
std::string small_charsmap() {
  std::vector<uint32_t> units(512, 0);
  units[0] = 256u << 10;                        // the root's children begin at 256
  units[256 ^ 'a'] = 1u << 10 | 1u << 8 | 'a';  // has a leaf one unit away
  units[256 ^ 'a' ^ 1] = 0;                     // the leaf: the first replacement
  std::string blob(4, '\0');
  const uint32_t bytes = static_cast<uint32_t>(units.size() * 4);
  std::memcpy(blob.data(), &bytes, 4);
  blob.append(reinterpret_cast<const char*>(units.data()), bytes);
  return blob + std::string("xyz\0", 4);
}

}  // namespace

TEST_CASE("normal forms") {
  CHECK(normalize("e\u0301", NormalForm::nfc) == "é");
  CHECK(normalize("é", NormalForm::nfd) == "e\u0301");
  CHECK(normalize("e\u0307\u0323", NormalForm::nfc) == "\u1eb9\u0307");
  CHECK(normalize("\u1112\u1161\u11ab", NormalForm::nfc) == "한");
  CHECK(normalize("한", NormalForm::nfd) == "\u1112\u1161\u11ab");
  CHECK(normalize("\u212b", NormalForm::nfc) == "Å");
  CHECK(normalize("\u0958", NormalForm::nfc) == "\u0915\u093c");  // is not composed again
  CHECK(normalize("ﬁ① Ａ½", NormalForm::nfkc) == "fi1 A1\u20442");
  CHECK(normalize("ﬁ", NormalForm::nfc) == "ﬁ");
  CHECK(normalize("a\u0315\u0300", NormalForm::nfd) == "a\u0300\u0315");
  CHECK(is_normal("plain é 한 你", NormalForm::nfc));
  CHECK_FALSE(is_normal("e\u0301", NormalForm::nfc));
}

TEST_CASE("normal forms are reached in one step, for every character beside every mark") {
  for (uint32_t point = 0; point < 0x110000; ++point) {
    if (point >= 0xd800 && point < 0xe000) continue;
    std::string text;
    append_utf8(text, point);
    text += "\u0301x";
    for (const NormalForm form : {NormalForm::nfc, NormalForm::nfkd}) {
      const std::string once = normalize(text, form);
      if (normalize(once, form) == once) continue;
      FAIL_CHECK("U+" << point);
    }
  }
  CHECK(normalize(normalize("e\u0301", NormalForm::nfd), NormalForm::nfc) == "é");
}

TEST_CASE("steps") {
  CHECK(run(NormalKind::lowercase, "ÄBC İ ẞ") == "äbc i\u0307 ß");
  CHECK(run(NormalKind::strip_accents, "e\u0301é") == "eé");
  CHECK(run(NormalKind::nmt, "a\u200bb\u0001c\td") == "a bc d");
  NormalStep step;
  step.kind = NormalKind::strip;
  step.left = true;
  CHECK(run(step, " \u3000a ") == "a ");
  step.right = true;
  CHECK(run(step, " a\u3000 ") == "a");
  step = {};
  step.kind = NormalKind::replace;
  step.pattern = " +";
  step.is_regex = true;
  step.content = "_";
  CHECK(run(step, "a  b c") == "a_b_c");
  step = {};
  step.kind = NormalKind::bert;
  step.clean_text = step.isolate_han = step.lowercase = step.strip_accents = true;
  CHECK(run(step, std::string("É\t你\0b", 8)) == "e  你 b");
}

TEST_CASE("white space as sentencepiece treats it") {
  NormalStep step;
  step.kind = NormalKind::sentence_piece;
  step.add_space_prefix = step.remove_extra_spaces = step.escape_spaces = true;
  CHECK(run(step, "  a  b ") == "\u2581a\u2581b");
  CHECK(run(step, "   ").empty());
  step.remove_extra_spaces = false;
  CHECK(run(step, " a  b ") == "\u2581\u2581a\u2581\u2581b\u2581");
}

TEST_CASE("character maps: replaced, and damaged ones refused or harmless") {
  NormalStep step;
  step.kind = NormalKind::sentence_piece;
  step.charsmap = small_charsmap();
  CHECK(run(step, "bab") == "bxyzb");
  step.kind = NormalKind::charsmap;
  CHECK(run(step, "bab") == "bxyzb");
  for (size_t size = 1; size < step.charsmap.size(); size += 61) {
    const auto cut = Charsmap::make(step.charsmap.substr(0, size));
    if (cut.ok()) CHECK(cut->longest("a").replacement.size() <= 3);
  }
  std::string wild = step.charsmap;
  for (size_t i = 4; i + 4 < wild.size(); ++i) wild[i] = static_cast<char>(i * 37);
  step.charsmap = wild;
  CHECK_FALSE(first_invalid_utf8(run(step, "aé你🙂\x7f")).has_value());
}
