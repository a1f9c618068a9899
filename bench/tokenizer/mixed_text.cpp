#include "bench/tokenizer/mixed_text.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <random>

#include "text/utf8.hpp"

namespace troupe::bench {

namespace {

using Random = std::mt19937_64;

constexpr size_t document_bytes = 32 << 10;

size_t below(Random& random, size_t end) {
  return static_cast<size_t>(random() % end);
}

/// Rank r of `count` with probability proportional to 1 / (r + 1).
size_t zipf(Random& random, size_t count) {
  const double u = static_cast<double>(random() >> 11) * 0x1p-53;
  const double rank = std::exp(u * std::log(static_cast<double>(count) + 1.0)) - 1.0;
  return std::min(static_cast<size_t>(rank), count - 1);
}

/// Words of syllables; short ones first, as frequent words are.
std::vector<std::string> words_of(Random& random, const std::vector<std::string>& onsets,
                                  const std::vector<std::string>& rhymes, size_t count) {
  std::vector<std::string> words;
  for (size_t i = 0; i < count; ++i) {
    const size_t syllables = 1 + below(random, 1 + std::min<size_t>(4, i * 4 / count + 1));
    std::string word;
    for (size_t s = 0; s < syllables; ++s) {
      word += onsets[below(random, onsets.size())] + rhymes[below(random, rhymes.size())];
    }
    words.push_back(std::move(word));
  }
  return words;
}

std::string prose(Random& random, const std::vector<std::string>& words, size_t bytes) {
  std::string out;
  bool sentence = true;
  while (out.size() < bytes) {
    std::string word = words[zipf(random, words.size())];
    if (sentence && word[0] >= 'a' && word[0] <= 'z') word[0] = static_cast<char>(word[0] - 32);
    out += word;
    sentence = false;
    switch (below(random, 16)) {
      case 0:
        out += ". ";
        sentence = true;
        break;
      case 1:
        out += ", ";
        break;
      case 2:
        out += below(random, 8) == 0 ? ".\n\n" : "'s ";
        break;
      default:
        out += ' ';
    }
  }
  return out;
}

std::string ideographs(Random& random, size_t bytes) {
  constexpr uint32_t first = 0x4e00;
  constexpr size_t used = 4000;
  std::string out;
  while (out.size() < bytes) {
    // A multiplier scatters the frequent characters over the block.
    const auto rank = static_cast<uint32_t>(zipf(random, used));
    text::append_utf8(out, first + rank * 5003u % 20902u);
    const size_t mark = below(random, 14);
    if (mark == 0) out += "，";
    if (mark == 1) out += below(random, 6) == 0 ? "。\n" : "。";
  }
  return out;
}

std::string code(Random& random, const std::vector<std::string>& words, size_t bytes) {
  std::string out;
  const auto name = [&] {
    std::string text = words[zipf(random, words.size())];
    for (size_t more = below(random, 3); more > 0; --more) {
      text += "_" + words[zipf(random, words.size())];
    }
    return text;
  };
  size_t depth = 1;
  while (out.size() < bytes) {
    const std::string indent(depth * 2, ' ');
    switch (below(random, 7)) {
      case 0:
        out += indent + "if (" + name() + " != " + std::to_string(below(random, 300)) + ") {\n";
        depth = std::min<size_t>(depth + 1, 8);
        break;
      case 1:
        if (depth > 1) --depth;
        out += std::string(depth * 2, ' ') + "}\n";
        break;
      case 2:
        out += indent + "// " + name() + " " + name() + " " + name() + ".\n";
        break;
      case 3:
        out += "\n";
        break;
      default:
        out += indent + name() + "." + name() + "(" + name() + ", \"" + name() + "\");\n";
    }
  }
  return out;
}

std::string records(Random& random, const std::vector<std::string>& words, size_t bytes) {
  std::string out;
  while (out.size() < bytes) {
    out += "{\"id\": " + std::to_string(random() % 10000000) + ", \"" +
           words[zipf(random, words.size())] + "\": [" + std::to_string(below(random, 1000)) + "." +
           std::to_string(below(random, 1000)) + ", -" + std::to_string(below(random, 100)) +
           "], \"hash\": \"";
    for (int i = 0; i < 24; ++i) out += "0123456789abcdef"[below(random, 16)];
    out += "\"},\n";
  }
  return out;
}

}  // namespace

std::vector<std::string> mixed_text(size_t bytes) {
  Random random(20260314);
  const std::vector<std::string> latin = words_of(
      random,
      {"", "b", "c", "d", "f", "g", "h", "l", "m", "n", "p", "r", "s", "t", "th", "st", "w"},
      {"a", "e", "i", "o", "u", "er", "in", "an", "ing", "ed", "es", "ion", "al", "ent"}, 20000);
  const std::vector<std::string> cyrillic =
      words_of(random, {"", "б", "в", "г", "д", "к", "л", "м", "н", "п", "р", "с", "т", "пр", "ст"},
               {"а", "е", "и", "о", "у", "ы", "ов", "ен", "ать", "ие", "ого"}, 20000);
  using Make = std::function<std::string(size_t)>;
  const std::vector<Make> kinds = {
      [&](size_t n) { return code(random, latin, n); },
      [&](size_t n) { return prose(random, latin, n); },
      [&](size_t n) { return prose(random, latin, n); },
      [&](size_t n) { return code(random, latin, n); },
      [&](size_t n) { return ideographs(random, n); },
      [&](size_t n) { return prose(random, latin, n); },
      [&](size_t n) { return code(random, latin, n); },
      [&](size_t n) { return prose(random, cyrillic, n); },
      [&](size_t n) { return prose(random, latin, n); },
      [&](size_t n) { return records(random, latin, n); },
  };
  std::vector<std::string> documents;
  size_t made = 0;
  for (size_t i = 0; made < bytes; ++i) {
    documents.push_back(kinds[i % kinds.size()](document_bytes));
    made += documents.back().size();
  }
  return documents;
}

}  // namespace troupe::bench
