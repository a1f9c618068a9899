#include "text/normalizer.hpp"

#include <algorithm>

#include "base/concat.hpp"
#include "text/char_class.hpp"
#include "text/normal_steps.hpp"
#include "text/text_limits.hpp"
#include "text/unicode_normal.hpp"
#include "text/utf8.hpp"

namespace troupe::text {

namespace {

constexpr std::string_view escaped_space = "\u2581";

void put_in_form(std::string& text, NormalForm form) {
  if (!is_normal(text, form)) text = normalize(text, form);
}

/// A damaged character map may replace by halves of characters.
std::string repaired(std::string text) {
  return first_invalid_utf8(text) ? replace_invalid_utf8(text) : text;
}

Status replace_all(const NormalStep& step, const std::optional<Regex>& regex, std::string& text,
                   RegexScratch& scratch) {
  std::vector<RegexMatch> matches;
  if (regex) {
    TROUPE_TRY(regex->find_all(text, scratch, matches));
  } else if (!step.pattern.empty()) {
    for (size_t at = 0; (at = text.find(step.pattern, at)) != std::string::npos;) {
      matches.push_back({at, at + step.pattern.size()});
      at += step.pattern.size();
    }
  }
  if (matches.empty()) return {};
  if (text.size() + matches.size() * step.content.size() > limits::normal_bytes_max) {
    return error(Code::exhausted, "the normalised text is too long",
                 concat("at most ", limits::normal_bytes_max, " bytes"));
  }
  std::string out;
  out.reserve(text.size() + matches.size() * step.content.size());
  size_t at = 0;
  for (const RegexMatch& match : matches) {
    out.append(text, at, match.begin - at);
    out += step.content;
    at = match.end;
  }
  out.append(text, at);
  text = std::move(out);
  return {};
}

}  // namespace

Result<Normalizer> Normalizer::make(const std::vector<NormalStep>& steps,
                                    const std::vector<std::string>& kept) {
  if (steps.size() > limits::steps_max) {
    return error(Code::exhausted, concat("the normaliser has ", steps.size(), " steps"),
                 concat("at most ", limits::steps_max));
  }
  Normalizer made;
  for (const NormalStep& spec : steps) {
    Step step;
    step.spec = spec;
    step.spec.charsmap.clear();
    if (spec.kind == NormalKind::replace && spec.is_regex) {
      TROUPE_ASSIGN(step.regex, Regex::make(spec.pattern));
    }
    TROUPE_ASSIGN(step.charsmap, Charsmap::make(spec.charsmap));
    made.steps_.push_back(std::move(step));
  }
  for (const std::string& text : kept) {
    if (text.empty() || first_invalid_utf8(text)) continue;
    made.kept_.add(text, 0);
    made.keeps_ = true;
  }
  return made;
}

Status Normalizer::run(std::string& text, RegexScratch& scratch) const {
  for (const Step& step : steps_) {
    TROUPE_TRY(apply(step, text, scratch));
    if (text.size() > limits::normal_bytes_max) {
      return error(Code::exhausted, concat("the normalised text has ", text.size(), " bytes"),
                   concat("at most ", limits::normal_bytes_max));
    }
  }
  return {};
}

Status Normalizer::apply(const Step& step, std::string& text, RegexScratch& scratch) const {
  switch (step.spec.kind) {
    case NormalKind::nfc:
      put_in_form(text, NormalForm::nfc);
      return {};
    case NormalKind::nfd:
      put_in_form(text, NormalForm::nfd);
      return {};
    case NormalKind::nfkc:
      put_in_form(text, NormalForm::nfkc);
      return {};
    case NormalKind::nfkd:
      put_in_form(text, NormalForm::nfkd);
      return {};
    case NormalKind::lowercase:
      text = lowercase(text);
      return {};
    case NormalKind::strip_accents:
      text = without_accents(text, true);
      return {};
    case NormalKind::strip:
      text = stripped(text, step.spec.left, step.spec.right);
      return {};
    case NormalKind::replace:
      return replace_all(step.spec, step.regex, text, scratch);
    case NormalKind::prepend:
      if (!text.empty()) text.insert(0, step.spec.content);
      return {};
    case NormalKind::bert:
      text = bert_normal(step.spec, text);
      return {};
    case NormalKind::nmt:
      text = nmt_normal(text);
      return {};
    case NormalKind::byte_level:
      return {};
    case NormalKind::charsmap:
      text = repaired(hugging_face_charsmap(step.charsmap, text, scratch));
      return {};
    case NormalKind::sentence_piece:
      text = repaired(sentence_piece(step, text));
      return {};
  }
  return {};
}

std::string Normalizer::sentence_piece(const Step& step, std::string_view text) const {
  const NormalStep& spec = step.spec;
  const std::string_view space = spec.escape_spaces ? escaped_space : " ";
  // What the text begins with is replaced by; and how much of it that is.
  const auto next = [&](std::string_view rest) -> Charsmap::Found {
    if (keeps_) {
      if (const TokenTrie::Match kept = kept_.longest_at(rest, 0); kept.id >= 0) {
        return {kept.bytes, rest.substr(0, kept.bytes)};
      }
    }
    const Charsmap::Found found = step.charsmap.longest(rest);
    if (found.bytes > 0) return found;
    const size_t bytes = decode_valid(reinterpret_cast<const uint8_t*>(rest.data())).bytes;
    return {bytes, rest.substr(0, bytes)};
  };
  if (spec.remove_extra_spaces) {
    while (!text.empty()) {
      const Charsmap::Found found = next(text);
      if (found.replacement != " ") break;
      text.remove_prefix(found.bytes);
    }
  }
  std::string out;
  if (text.empty()) return out;
  out.reserve(text.size() + text.size() / 4);
  if (spec.add_space_prefix) out += space;
  bool after_space = spec.remove_extra_spaces;
  while (!text.empty()) {
    const Charsmap::Found found = next(text);
    std::string_view piece = found.replacement;
    while (after_space && piece.starts_with(' ')) piece.remove_prefix(1);
    for (const char byte : piece) {
      if (byte == ' ') {
        out += space;
      } else {
        out += byte;
      }
    }
    if (!piece.empty()) after_space = piece.back() == ' ';
    if (!spec.remove_extra_spaces) after_space = false;
    text.remove_prefix(found.bytes);
    if (out.size() > limits::normal_bytes_max) break;
  }
  while (spec.remove_extra_spaces && out.ends_with(space)) out.erase(out.size() - space.size());
  return out;
}

}  // namespace troupe::text
