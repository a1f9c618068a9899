#include "text/sentence_piece.hpp"

#include <bit>

#include "base/concat.hpp"
#include "text/stop_tokens.hpp"
#include "text/text_limits.hpp"
#include "text/wire_reader.hpp"

namespace troupe::text {

namespace {

Error bad_sentence_piece(std::string what, std::string hint = {}) {
  return error(Code::corrupt, "sentencepiece model: " + std::move(what), std::move(hint));
}

/// A sint that is written as a plain varint: -1 has all bits set.
int32_t signed_of(uint64_t value) {
  return static_cast<int32_t>(static_cast<uint32_t>(value));
}

Status read_piece(std::string_view bytes, TokenizerSpec& spec) {
  std::string_view piece;
  float score = 0;
  uint64_t type = static_cast<uint64_t>(TokenType::normal);
  WireReader reader(bytes);
  while (const auto field = reader.next()) {
    if (field->number == 1) piece = field->bytes;
    if (field->number == 2) score = std::bit_cast<float>(static_cast<uint32_t>(field->value));
    if (field->number == 3) type = field->value;
  }
  if (reader.failed())
    return bad_sentence_piece(concat("piece ", spec.tokens.size(), " is no message"));
  if (type < 1 || type > 6) {
    return bad_sentence_piece(concat("piece ", spec.tokens.size(), " has type ", type),
                              "types are 1 to 6");
  }
  if (spec.tokens.size() >= limits::vocabulary_max) {
    return error(Code::exhausted, "the sentencepiece model has too many pieces",
                 concat("at most ", limits::vocabulary_max));
  }
  spec.tokens.emplace_back(piece);
  spec.scores.push_back(score);
  spec.types.push_back(static_cast<TokenType>(type));
  return {};
}

Status read_trainer(std::string_view bytes, TokenizerSpec& spec) {
  uint64_t model_type = 1;
  spec.unknown_id = 0;
  spec.bos_id = 1;
  spec.eos_id = 2;
  WireReader reader(bytes);
  while (const auto field = reader.next()) {
    switch (field->number) {
      case 3:
        model_type = field->value;
        break;
      case 24:
        if (field->value != 0) {
          return error(Code::unsupported, "sentencepiece model: it writes spaces behind words");
        }
        break;
      case 35:
        spec.byte_fallback = field->value != 0;
        break;
      case 40:
        spec.unknown_id = signed_of(field->value);
        break;
      case 41:
        spec.bos_id = signed_of(field->value);
        break;
      case 42:
        spec.eos_id = signed_of(field->value);
        break;
      case 44:
        spec.decode.unknown_text = field->bytes;
        break;
      default:
        break;
    }
  }
  if (reader.failed()) return bad_sentence_piece("the trainer's part is no message");
  if (model_type != 1 && model_type != 2) {
    return error(Code::unsupported, concat("sentencepiece model: its model type is ", model_type),
                 "supported are 1 (Unigram) and 2 (BPE)");
  }
  spec.kind = model_type == 1 ? TokenizerKind::unigram : TokenizerKind::bpe;
  return {};
}

Status read_normalizer(std::string_view bytes, NormalStep& step) {
  WireReader reader(bytes);
  while (const auto field = reader.next()) {
    if (field->number == 2) step.charsmap = field->bytes;
    if (field->number == 3) step.add_space_prefix = field->value != 0;
    if (field->number == 4) step.remove_extra_spaces = field->value != 0;
    if (field->number == 5) step.escape_spaces = field->value != 0;
  }
  return reader.failed() ? Status(bad_sentence_piece("the normaliser's part is no message"))
                         : Status();
}

/// Ids of tokens that the model does not have are -1 or out of range.
void drop_missing_ids(TokenizerSpec& spec) {
  for (int32_t* id : {&spec.unknown_id, &spec.bos_id, &spec.eos_id}) {
    if (*id < 0 || static_cast<size_t>(*id) >= spec.tokens.size()) *id = -1;
  }
}

}  // namespace

Result<TokenizerSpec> read_sentence_piece(std::string_view model) {
  if (model.size() > limits::tokenizer_file_bytes_max) {
    return error(Code::exhausted, concat("the sentencepiece model has ", model.size(), " bytes"),
                 concat("at most ", limits::tokenizer_file_bytes_max));
  }
  TokenizerSpec spec;
  spec.kind = TokenizerKind::unigram;
  spec.unknown_id = 0;
  spec.decode.unknown_text = " \u2047 ";
  NormalStep step;
  step.kind = NormalKind::sentence_piece;
  step.add_space_prefix = step.remove_extra_spaces = step.escape_spaces = true;
  WireReader reader(model);
  while (const auto field = reader.next()) {
    if (field->number == 1) TROUPE_TRY(read_piece(field->bytes, spec));
    if (field->number == 2) TROUPE_TRY(read_trainer(field->bytes, spec));
    if (field->number == 3) TROUPE_TRY(read_normalizer(field->bytes, step));
  }
  if (reader.failed()) return bad_sentence_piece("it is no message of Protocol Buffers");
  if (spec.tokens.empty()) return bad_sentence_piece("it has no pieces");
  drop_missing_ids(spec);
  spec.merge_order = MergeOrder::scores;
  spec.fuse_unknown = true;
  spec.user_defined_frozen = true;
  spec.add_bos = spec.bos_id >= 0;
  spec.decode.space = "\u2581";
  spec.decode.byte_tokens = true;
  spec.decode.control_is_silent = true;
  spec.decode.drop_first_space = step.add_space_prefix || step.remove_extra_spaces;
  spec.decode.drop_until_text = step.remove_extra_spaces;
  spec.normal_steps.push_back(std::move(step));
  add_stop_tokens(spec);
  return spec;
}

}  // namespace troupe::text
