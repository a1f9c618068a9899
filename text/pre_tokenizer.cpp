#include "text/pre_tokenizer.hpp"

#include <algorithm>

namespace troupe::text {

namespace {

constexpr std::string_view gpt2 =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";
constexpr std::string_view llama3 =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}|)"
    R"( ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view minicpm5 =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}+|)"
    R"( ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view qwen2 = R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}|)"
                                   R"( ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view qwen35 =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}|)"
    R"( ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view ufakzeka =
    R"([^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view gpt4o =
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+)"
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)?|)"
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*)"
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|)"
    R"(\s+(?!\S)|\s+)";
constexpr std::string_view tekken =
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|)"
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|)"
    R"(\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view youtu =
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+)"
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)?|)"
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*)"
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|)"
    R"(\s+(?!\S)|\s+)";
// clang-format off
constexpr std::string_view youtu_scripts =
    "[가-힣ㄱ-ㆎ]+|[！…“”‘’—：；，、-〿︰-﹏]+|[ㄅ-ㄯ]+|[一-龥\u3040-ゟ゠-ヿ]+";
// clang-format on
constexpr std::string_view kimi_k2 =
    R"([\p{Han}]+|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*)"
    R"([\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|)"
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+)"
    R"([\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}|)"
    R"( ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view cjk = "[\u4e00-\u9fa5\u3040-\u309f\u30a0-\u30ff]+";
constexpr std::string_view deepseek3 =
    "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|"
    R"([^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view spark =
    "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|"
    R"([^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+|[\r\n]|\s+(?!\S)|\s+)";
// clang-format off
constexpr std::string_view deepseek_letters =
    "\\s?[A-Za-zµÀ-ÖØ-öø-ƺƼ-ƿǄ-ʓʕ-ʯͰ-ͳͶͷͻ-ͽͿ\u0386\u0388-\u038a\u038c\u038e-\u03a1\u03a3-\u03f5Ϸ-ҁ"
    "Ҋ-ԯԱ-ՖႠ-ჅᎠ-Ᏽᏸ-ᏽᲐ-ᲺᲽ-Ჿᴀ-ᴫᵫ-ᵷᵹ-ᶚ\u1e00-\u1f15"
    "\u1f18-\u1f1d\u1f20-\u1f45\u1f48-\u1f4d\u1f50-\u1f57"
    "\u1f59\u1f5b\u1f5d\u1f5f-\u1f7d\u1f80-\u1fb4\u1fb6-\u1fbc\u1fbe\u1fc2-\u1fc4\u1fc6-\u1fcc"
    "\u1fd0-\u1fd3\u1fd6-\u1fdb\u1fe0-\u1fec\u1ff2-\u1ff4\u1ff6-\u1ffcℂℇℊ-ℓℕℙ-ℝℤ\u2126ℨ\u212a-ℭ"
    "ℯ-ℴℹℼ-ℿⅅ-ⅉⅎↃↄⰀ-ⱻⱾ-ⳤⳫ-ⳮⳲⳳꙀ-ꙭꚀ-ꚛꜢ-ꝯꝱ-ꞇꞋ-ꞎꭰ-ꮿﬀ-ﬆﬓ-ﬗＡ-Ｚａ-ｚ𐐀-𐑏𐒰-𐓓𐓘-𐓻𐲀-𐲲𐳀-𐳲𑢠-𑣟𞤀-𞥃]+";
// clang-format on
constexpr std::string_view deepseek_signs = "\\s?[!-/:-~！-／：-～‘-‟\u3000-。]+";
constexpr std::string_view deepseek_cjk = "[一-龥ࠀ-一가-\ud7ff]+";
constexpr std::string_view bloom = " ?[^(\\s|.,!?…。，、।۔،)]+";
constexpr std::string_view seed_coder =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1}|)"
    R"( ?[^\s\p{L}\p{N}\r\n]+|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view bailing = R"('(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}|)"
                                     R"( ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+)";
constexpr std::string_view exaone_moe =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?(?:\p{L}\p{M}*(?: \p{L}\p{M}*)*)+|\p{N}|)"
    R"( ?[^\s\p{L}\p{N}]+[\r\n/]?|\s*[\r\n]|\s+(?!\S)|\s+)";
constexpr std::string_view jais2 =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}|)"
    R"( ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s{512}(?!\S)|\s{256}(?!\S)|\s{128}(?!\S)|)"
    R"(\s{64}(?!\S)|\s{32}(?!\S)|\s{16}(?!\S)|\s{8}(?!\S)|\s{4}(?!\S)|\s{1,2}(?!\S)|\s{1})";
constexpr std::string_view digit = R"(\p{N})";
constexpr std::string_view digits = R"(\p{N}+)";
constexpr std::string_view digits3 = R"(\p{N}{1,3})";
constexpr std::string_view digits_from_right = R"(\d{1,3}(?=(?:\d{3})*\b))";
constexpr std::string_view afmoe_digits = R"(\p{Nd}{1,3}(?=(?:\p{Nd}{3})*(?!\p{Nd})))";
// clang-format off
constexpr std::string_view afmoe_scripts =
    "[一-\u9fff㐀-\u4dbf\uf900-\ufaff\u3040-ゟ゠-ヿ･-ﾟ⼀-\u2fdfเ-\u0e7f\u0e80-\u0effក-\u17ffက-႟"
    "ꩠ-ꩿꧠ-\ua9ff가-\ud7afᄀ-ᇿ]+";
// clang-format on
constexpr std::string_view line_break = "[\r\n]";
constexpr std::string_view three_ascii_digits = "[0-9][0-9][0-9]";
constexpr std::string_view lines = R"([^\n]+|[\n]+)";

using Patterns = std::vector<std::string_view>;

/// Several names for one pre-tokenizer.
struct Family {
  std::vector<std::string_view> names;
  Patterns patterns;
  bool ignore_merges = false;
  bool nfc = false;
};

std::vector<Family> families() {
  return {
      {{"default"}, {R"([\p{P}\$\+<=>\^~\|]+)", gpt2, digits, three_ascii_digits}},
      {{"gpt-2", "phi-2", "jina-es", "jina-de", "gigachat", "jina-v2-es", "jina-v2-de", "a.x-4.0",
        "mellum", "jina-v1-en", "jina-v2-code", "roberta-bpe", "jais", "trillion",
        "granite-docling", "exaone4"},
       {gpt2}},
      {{"mpt", "olmo", "modern-bert"}, {gpt2}, false, true},
      {{"smollm", "starcoder", "refact", "codeshell", "exaone", "minerva-7b", "mellum2"},
       {digit, gpt2}},
      {{"command-r"}, {digit, gpt2}, false, true},
      {{"llama3", "llama-v3", "llama-bpe", "falcon3", "falcon-h1", "pixtral", "midm-2.0", "lfm2",
        "jina-v5-nano"},
       {llama3},
       true},
      {{"dbrx", "smaug-bpe", "glm4", "chatglm-bpe"}, {llama3}},
      {{"jais-2"}, {jais2}},
      {{"minicpm5"}, {digits3, minicpm5}, true},
      {{"qwen2", "deepseek-r1-qwen", "kormo", "f2llmv2", "megrez", "stablelm2"},
       {qwen2},
       false,
       true},
      {{"hunyuan", "solar-open", "grok-2"}, {qwen2}},
      {{"qwen35"}, {qwen35}, false, true},
      {{"ufakzeka"}, {ufakzeka}},
      {{"laguna"}, {lines, qwen2}},
      {{"gpt-4o", "llama4", "kanana2", "talkie", "minimax-m2"}, {gpt4o}},
      {{"granite-embed-multi-97m"}, {gpt4o}, true},
      {{"tekken"}, {tekken}, true},
      {{"tiny_aya", "cohere2moe"}, {digits_from_right, gpt4o}, false, true},
      {{"youtu"}, {youtu_scripts, youtu}, true},
      {{"kimi-k2"}, {kimi_k2}},
      {{"deepseek-llm"},
       {line_break, deepseek_letters, deepseek_signs, R"(\s+$)", deepseek_cjk, digit}},
      {{"deepseek-coder"}, {line_break, R"(\s?\p{L}+)", R"(\s?\p{P}+)", deepseek_cjk, digit}},
      {{"deepseek-v3", "hunyuan-dense", "joyai-llm", "hy_v4"}, {digits3, cjk, deepseek3}},
      {{"spark2_5"}, {digits3, cjk, spark, digit}},
      {{"afmoe"}, {afmoe_digits, afmoe_scripts, deepseek3}},
      {{"falcon"}, {R"([\p{P}\$\+<=>\^~\|`]+)", gpt2, three_ascii_digits}},
      {{"bloom", "gpt3-finnish", "poro-chat"}, {bloom}},
      {{"viking"}, {bloom, digit}},
      {{"chameleon"},
       {"<sentinel:[0-9]+>", "(IMGIMG)((A|B|C|D|E|F|G|H|I){1,4})Z", "([\\t\\n]|    |  )", digit,
        R"([\p{P}!-/:-@\[-`{-~])", gpt2}},
      {{"superbpe"}, {digits, R"((?=(\d{3})+(?!\d)))"}},
      {{"bailingmoe", "bailingmoe2", "llada-moe"}, {bailing}},
      {{"seed-coder"}, {seed_coder}},
      {{"exaone-moe"}, {exaone_moe}},
      {{"gemma4", "sarvam-moe", "granite-embed-multi-311m"}, {}},
  };
}

const std::vector<NamedPreTokenizer>& all() {
  static const std::vector<NamedPreTokenizer> table = [] {
    std::vector<NamedPreTokenizer> made;
    for (const Family& family : families()) {
      for (const std::string_view name : family.names) {
        made.push_back({name, family.patterns, family.ignore_merges, family.nfc});
      }
    }
    std::ranges::sort(made, {}, &NamedPreTokenizer::name);
    return made;
  }();
  return table;
}

}  // namespace

std::string_view gpt2_pattern() {
  return gpt2;
}

const NamedPreTokenizer* find_pre_tokenizer(std::string_view name) {
  const auto found = std::ranges::find(all(), name, &NamedPreTokenizer::name);
  return found == all().end() ? nullptr : &*found;
}

std::vector<PreStep> steps_of(const NamedPreTokenizer& named) {
  std::vector<PreStep> steps;
  for (const std::string_view pattern : named.patterns) {
    PreStep step;
    step.pattern = pattern;
    steps.push_back(std::move(step));
  }
  return steps;
}

std::string pre_tokenizer_names() {
  std::string names;
  for (const NamedPreTokenizer& entry : all()) {
    if (!names.empty()) names += ", ";
    names += entry.name;
  }
  return names;
}

}  // namespace troupe::text
