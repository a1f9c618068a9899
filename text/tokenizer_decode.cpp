// Ids to text.
#include "base/concat.hpp"
#include "text/tokenizer.hpp"
#include "text/utf8.hpp"

namespace troupe::text {

namespace {

/// A run of byte tokens as text: U+FFFD for every byte that is not part of a character, or, with
/// `whole`, for all of them if there is one.
std::string repaired_run(std::string_view bytes, bool whole) {
  constexpr std::string_view replacement = "\ufffd";
  std::string out;
  if (whole && first_invalid_utf8(bytes)) {
    for (size_t i = 0; i < bytes.size(); ++i) out += replacement;
    return out;
  }
  for (size_t at = 0; at < bytes.size();) {
    const Utf8Step step = utf8_step(bytes, at);
    if (step.valid) {
      out += bytes.substr(at, step.bytes);
      at += step.bytes;
    } else {
      out += replacement;
      ++at;
    }
  }
  return out;
}

}  // namespace

std::string Tokenizer::first_text(int32_t id) const {
  // Nothing stands before it that it could continue, or that a space could keep it from.
  if (decode_.words_apart) return std::string(spellings_.at(id));
  std::string token(bytes_.at(id));
  // To sentencepiece a byte is never the mark of a word's beginning.
  const bool byte = types_[static_cast<size_t>(id)] == TokenType::byte;
  if (byte && !decode_.whole_byte_runs) return token;
  if (decode_.drop_first_spaces && !decode_.space.empty() && !byte) {
    // Only what stands for a space is dropped, not a space itself.
    token = spellings_.at(id);
    for (size_t at = 0; (at = token.find(decode_.space, at)) != std::string::npos;) {
      token.erase(at, decode_.space.size());
    }
  }
  const bool unknown = types_[static_cast<size_t>(id)] == TokenType::unknown;
  if (unknown && !decode_.unknown_text.empty()) return token;
  if (decode_.drop_first_space && token.starts_with(' ')) token.erase(0, 1);
  return token;
}

Result<std::string> Tokenizer::decode(std::span<const int32_t> ids, bool skip_special) const {
  std::string bytes;
  bool first = true;
  for (size_t i = 0; i < ids.size(); ++i) {
    if (!contains(ids[i])) {
      return error(Code::invalid_argument,
                   concat("token ", i, " has id ", ids[i], ", which is not in the vocabulary"),
                   concat("ids are 0 to ", size() - 1));
    }
    if (is_control(ids[i]) && (skip_special || decode_.control_is_silent)) continue;
    bytes.append(first ? first_text(ids[i]) : std::string(bytes_.at(ids[i])));
    first = decode_.drop_until_text && bytes.empty();
  }
  // The suffix of the last token is no space.
  const bool ends_word = !ids.empty() && !decode_.word_suffix.empty() &&
                         spellings_.at(ids.back()).ends_with(decode_.word_suffix);
  if (ends_word && bytes.ends_with(' ')) bytes.pop_back();
  return bytes;
}

Result<std::string> Tokenizer::decode_text(std::span<const int32_t> ids, bool skip_special) const {
  TROUPE_ASSIGN(std::string bytes, decode(ids, skip_special));
  if (!decode_.byte_tokens) return replace_invalid_utf8(bytes);
  std::string out;
  std::string run;
  const auto end_run = [&] {
    out += repaired_run(run, decode_.whole_byte_runs);
    run.clear();
  };
  bool first = true;
  // Where runs of bytes are repaired as a whole, a space at the front of the text is dropped after
  // that: one that is part of a broken run is no space any more.
  bool begins_with_run = false;
  for (const int32_t id : ids) {
    if (is_control(id) && (skip_special || decode_.control_is_silent)) continue;
    const bool in_first_run =
        first && decode_.whole_byte_runs && types_[static_cast<size_t>(id)] == TokenType::byte;
    begins_with_run = begins_with_run || in_first_run;
    const std::string token = first && !in_first_run ? first_text(id) : std::string(bytes_.at(id));
    first = decode_.drop_until_text && out.empty() && run.empty() && token.empty();
    if (types_[static_cast<size_t>(id)] == TokenType::byte) {
      run += token;
      continue;
    }
    end_run();
    out += replace_invalid_utf8(token);
  }
  end_run();
  if (begins_with_run && decode_.drop_first_space && out.starts_with(' ')) out.erase(0, 1);
  return out;
}

}  // namespace troupe::text
