// The post-processor and the decoder of tokenizer.json.
#include "text/text_limits.hpp"
#include "text/tokenizer_json_parts.hpp"

namespace troupe::text {

namespace {

Status add_id(const Node& node, const TokenizerSpec& spec, std::vector<int32_t>& ids) {
  const int64_t id = node.is_number_integer() ? node.get<int64_t>() : -1;
  if (id < 0 || static_cast<size_t>(id) >= spec.tokens.size()) {
    return bad_json(concat("the post_processor names the id ", id),
                    concat("ids are 0 to ", spec.tokens.size() - 1));
  }
  ids.push_back(static_cast<int32_t>(id));
  if (ids.size() > limits::steps_max) return bad_json("the post_processor adds too many tokens");
  return {};
}

Status read_template(const Node& node, TokenizerSpec& spec) {
  const Node& tokens = member(node, "special_tokens");
  bool after_text = false;
  const Node& single = member(node, "single");
  if (!single.is_array()) return bad_json("a TemplateProcessing has no list single");
  for (const Node& part : single) {
    if (!member(part, "Sequence").is_null()) {
      after_text = true;
      continue;
    }
    const std::string name = text_of(member(part, "SpecialToken"), "id");
    const Node& ids = member(member(tokens, name.c_str()), "ids");
    if (!ids.is_array()) return bad_json("a TemplateProcessing names a token without ids");
    for (const Node& id : ids) {
      TROUPE_TRY(add_id(id, spec, after_text ? spec.suffix_ids : spec.prefix_ids));
    }
  }
  return {};
}

/// BERT's and RoBERTa's: "cls" before and "sep" after the text, each [token, id].
Status read_pair(const Node& node, TokenizerSpec& spec) {
  const auto id_of = [](const Node& pair) -> const Node& {
    static const Node none;
    return pair.is_array() && pair.size() == 2 ? pair[1] : none;
  };
  TROUPE_TRY(add_id(id_of(member(node, "cls")), spec, spec.prefix_ids));
  return add_id(id_of(member(node, "sep")), spec, spec.suffix_ids);
}

Status read_replace(const Node& node, DecodeRules& rules) {
  std::string pattern;
  bool is_regex = false;
  TROUPE_TRY(read_pattern(member(node, "pattern"), pattern, is_regex));
  if (is_regex || text_of(node, "content") != " ") {
    return error(Code::unsupported, "tokenizer.json: the decoder replaces something by no space",
                 "supported is a fixed string that stands for a space");
  }
  rules.space = pattern;
  return {};
}

void read_metaspace(const Node& node, DecodeRules& rules) {
  rules.space = text_of(node, "replacement", "\u2581");
  const std::string scheme = text_of(node, "prepend_scheme");
  const bool prepends =
      scheme.empty() ? flag_of(node, "add_prefix_space", true) : scheme != "never";
  rules.drop_first_spaces = prepends;
}

}  // namespace

Status read_post_processor(const Node& node, TokenizerSpec& spec, int depth) {
  if (node.is_null()) return {};
  const std::string kind = text_of(node, "type");
  if (kind == "Sequence") {
    return each_of(node, "processors", depth,
                   [&](const Node& part) { return read_post_processor(part, spec, depth + 1); });
  }
  if (kind == "TemplateProcessing") return read_template(node, spec);
  if (kind == "BertProcessing" || kind == "RobertaProcessing") return read_pair(node, spec);
  if (kind == "ByteLevel") return {};  // moves offsets only
  return unknown_part("post_processor", kind,
                      "TemplateProcessing, BertProcessing, RobertaProcessing, ByteLevel, "
                      "Sequence");
}

Status read_decoder(const Node& node, TokenizerSpec& spec, int depth) {
  DecodeRules& rules = spec.decode;
  const std::string kind = text_of(node, "type");
  if (kind == "Sequence") {
    return each_of(node, "decoders", depth,
                   [&](const Node& part) { return read_decoder(part, spec, depth + 1); });
  }
  if (kind == "ByteLevel") {
    rules.byte_level = true;
  } else if (kind == "Replace") {
    return read_replace(node, rules);
  } else if (kind == "ByteFallback") {
    rules.byte_tokens = true;
    rules.whole_byte_runs = true;
  } else if (kind == "Strip") {
    rules.drop_first_space = text_of(node, "content") == " " && number_of(node, "start", 0) > 0;
  } else if (kind == "Metaspace") {
    read_metaspace(node, rules);
  } else if (kind == "WordPiece") {
    rules.words_apart = true;
    rules.continuing_prefix = text_of(node, "prefix", "##");
    rules.clean_up = flag_of(node, "cleanup", true);
  } else if (kind == "BPEDecoder") {
    rules.word_suffix = text_of(node, "suffix", "</w>");
  } else if (kind != "Fuse") {
    return unknown_part("decoder", kind,
                        "ByteLevel, Replace, ByteFallback, Fuse, Strip, Metaspace, WordPiece, "
                        "BPEDecoder, Sequence");
  }
  return {};
}

}  // namespace troupe::text
