// The normaliser and the pre-tokenizer of tokenizer.json.
#include "text/base64.hpp"
#include "text/pre_tokenizer.hpp"
#include "text/tokenizer_json_parts.hpp"

namespace troupe::text {

namespace {

Status read_behavior(const Node& node, SplitBehavior& behavior) {
  const std::string name = text_of(node, "behavior", "Isolated");
  if (name == "Removed") {
    behavior = SplitBehavior::removed;
  } else if (name == "Isolated") {
    behavior = SplitBehavior::isolated;
  } else if (name == "MergedWithPrevious") {
    behavior = SplitBehavior::merged_with_previous;
  } else if (name == "MergedWithNext") {
    behavior = SplitBehavior::merged_with_next;
  } else if (name == "Contiguous") {
    behavior = SplitBehavior::contiguous;
  } else {
    return unknown_part("split behaviour", name,
                        "Removed, Isolated, MergedWithPrevious, MergedWithNext, Contiguous");
  }
  return {};
}

PrependScheme prepend_of(const Node& node) {
  const std::string name = text_of(node, "prepend_scheme");
  if (name == "first") return PrependScheme::first;
  if (name == "never") return PrependScheme::never;
  if (name == "always") return PrependScheme::always;
  return flag_of(node, "add_prefix_space", true) ? PrependScheme::always : PrependScheme::never;
}

/// The byte-level alphabet becomes a step of its own only where a later step would see it.
void add_byte_level(const Node& node, TokenizerSpec& spec) {
  if (spec.kind == TokenizerKind::bpe) spec.kind = TokenizerKind::byte_level_bpe;
  PreStep step;
  step.kind = PreKind::byte_level;
  step.add_prefix_space = flag_of(node, "add_prefix_space", true);
  if (step.add_prefix_space) spec.pre_steps.push_back(step);
  if (flag_of(node, "use_regex", true)) {
    PreStep words;
    words.pattern = gpt2_pattern();
    spec.pre_steps.push_back(words);
  }
  step.add_prefix_space = false;
  step.maps_bytes = true;
  spec.pre_steps.push_back(step);
}

Status read_bert(const Node& node, NormalStep& step) {
  step.kind = NormalKind::bert;
  step.clean_text = flag_of(node, "clean_text", true);
  step.isolate_han = flag_of(node, "handle_chinese_chars", true);
  step.lowercase = flag_of(node, "lowercase", true);
  // Where it is not said, accents go with the case.
  step.strip_accents = flag_of(node, "strip_accents", step.lowercase);
  return {};
}

Status read_normal_step(const Node& node, const std::string& kind, NormalStep& step) {
  if (kind == "NFC") {
    step.kind = NormalKind::nfc;
  } else if (kind == "NFD") {
    step.kind = NormalKind::nfd;
  } else if (kind == "NFKC") {
    step.kind = NormalKind::nfkc;
  } else if (kind == "NFKD") {
    step.kind = NormalKind::nfkd;
  } else if (kind == "Lowercase") {
    step.kind = NormalKind::lowercase;
  } else if (kind == "StripAccents") {
    step.kind = NormalKind::strip_accents;
  } else if (kind == "Nmt") {
    step.kind = NormalKind::nmt;
  } else if (kind == "BertNormalizer") {
    return read_bert(node, step);
  } else if (kind == "Strip") {
    step.kind = NormalKind::strip;
    step.left = flag_of(node, "strip_left", true);
    step.right = flag_of(node, "strip_right", true);
  } else if (kind == "Prepend") {
    step.kind = NormalKind::prepend;
    step.content = text_of(node, "prepend");
  } else if (kind == "Replace") {
    step.kind = NormalKind::replace;
    step.content = text_of(node, "content");
    return read_pattern(member(node, "pattern"), step.pattern, step.is_regex);
  } else if (kind == "Precompiled") {
    step.kind = NormalKind::charsmap;
    TROUPE_ASSIGN(step.charsmap, from_base64(text_of(node, "precompiled_charsmap")));
  } else {
    return unknown_part("normalizer", kind,
                        "NFC, NFD, NFKC, NFKD, Lowercase, StripAccents, Strip, Prepend, Replace, "
                        "BertNormalizer, Precompiled, Nmt, ByteLevel, Sequence");
  }
  return {};
}

Status read_pre_step(const Node& node, const std::string& kind, PreStep& step) {
  if (kind == "Split") {
    step.invert = flag_of(node, "invert", false);
    TROUPE_TRY(read_behavior(node, step.behavior));
    return read_pattern(member(node, "pattern"), step.pattern, step.is_regex);
  }
  if (kind == "Digits") {
    step.kind = PreKind::digits;
    step.individual = flag_of(node, "individual_digits", false);
  } else if (kind == "Punctuation") {
    step.kind = PreKind::punctuation;
    return read_behavior(node, step.behavior);
  } else if (kind == "WhitespaceSplit") {
    step.kind = PreKind::white_space;
  } else if (kind == "BertPreTokenizer") {
    step.kind = PreKind::bert;
  } else if (kind == "Whitespace") {
    // Here \w is Rust's: the joiners are part of words.
    step.pattern = R"([\w\x{200c}\x{200d}]+|[^\w\s\x{200c}\x{200d}]+)";
    step.behavior = SplitBehavior::removed;
    step.invert = true;
  } else if (kind == "CharDelimiterSplit") {
    step.pattern = text_of(node, "delimiter");
    step.is_regex = false;
    step.behavior = SplitBehavior::removed;
  } else if (kind == "Metaspace") {
    step.kind = PreKind::metaspace;
    step.replacement = text_of(node, "replacement", "\u2581");
    step.prepend = prepend_of(node);
    step.split = flag_of(node, "split", true);
  } else {
    return unknown_part("pre_tokenizer", kind,
                        "ByteLevel, Split, Digits, Punctuation, Whitespace, WhitespaceSplit, "
                        "BertPreTokenizer, Metaspace, CharDelimiterSplit, Sequence");
  }
  return {};
}

}  // namespace

Status read_normalizer(const Node& node, TokenizerSpec& spec, int depth) {
  if (node.is_null()) return {};
  const std::string kind = text_of(node, "type");
  if (kind == "Sequence") {
    return each_of(node, "normalizers", depth,
                   [&](const Node& part) { return read_normalizer(part, spec, depth + 1); });
  }
  if (kind == "ByteLevel") {
    // The alphabet is written before words are cut; nothing else of the normaliser follows it.
    if (spec.kind == TokenizerKind::bpe) spec.kind = TokenizerKind::byte_level_bpe;
    PreStep step;
    step.kind = PreKind::byte_level;
    step.maps_bytes = true;
    spec.pre_steps.push_back(step);
    return {};
  }
  NormalStep step;
  TROUPE_TRY(read_normal_step(node, kind, step));
  spec.normal_steps.push_back(std::move(step));
  return {};
}

Status read_pre_tokenizer(const Node& node, TokenizerSpec& spec, int depth) {
  if (node.is_null()) return {};
  const std::string kind = text_of(node, "type");
  if (kind == "Sequence") {
    TROUPE_TRY(each_of(node, "pretokenizers", depth, [&](const Node& part) {
      return read_pre_tokenizer(part, spec, depth + 1);
    }));
  } else if (kind == "ByteLevel") {
    add_byte_level(node, spec);
  } else {
    PreStep step;
    TROUPE_TRY(read_pre_step(node, kind, step));
    spec.pre_steps.push_back(std::move(step));
  }
  // Words are encoded from their bytes: an alphabet that nothing looks at is left out.
  if (depth == 0 && !spec.pre_steps.empty() && spec.pre_steps.back().maps_bytes) {
    spec.pre_steps.pop_back();
  }
  return {};
}

}  // namespace troupe::text
