#include "text/pre_steps.hpp"

#include <algorithm>

#include "base/concat.hpp"
#include "text/byte_alphabet.hpp"
#include "text/char_class.hpp"
#include "text/split_words.hpp"
#include "text/text_limits.hpp"

namespace troupe::text {

namespace {

bool is_punctuation(const ClassReader& reader, size_t i, ClassedChar c) {
  if ((c.bits & char_class::punctuation) != 0) return true;
  return reader.byte(i) < 0x80 && (c.bits & char_class::symbol) != 0;
}

void find_punctuation(std::string_view text, std::vector<RegexMatch>& matches) {
  const ClassReader reader(text);
  for (size_t i = 0; i < text.size();) {
    const ClassedChar c = reader.at(i);
    if (is_punctuation(reader, i, c)) matches.push_back({i, i + c.bytes});
    i += c.bytes;
  }
}

void find_literal(std::string_view text, std::string_view wanted,
                  std::vector<RegexMatch>& matches) {
  if (wanted.empty()) return;
  for (size_t at = 0; (at = text.find(wanted, at)) != std::string_view::npos;) {
    matches.push_back({at, at + wanted.size()});
    at += wanted.size();
  }
}

void split_at_white_space(std::string_view text, uint32_t base, std::vector<Piece>& pieces) {
  const ClassReader reader(text);
  for (size_t i = 0; i < text.size();) {
    const size_t begin = reader.run(i, char_class::space);
    i = reader.run_without(begin, char_class::space);
    add_piece(pieces, base, begin, i);
  }
}

/// Words without white space, punctuation characters alone.
void split_bert(std::string_view text, uint32_t base, std::vector<Piece>& pieces) {
  const ClassReader reader(text);
  size_t begin = 0;
  for (size_t i = 0; i < text.size();) {
    const ClassedChar c = reader.at(i);
    const bool space = (c.bits & char_class::space) != 0;
    if (space || is_punctuation(reader, i, c)) {
      add_piece(pieces, base, begin, i);
      begin = i + c.bytes;
      if (!space) add_piece(pieces, base, i, begin);
    }
    i += c.bytes;
  }
  add_piece(pieces, base, begin, text.size());
}

struct Part {
  size_t begin;
  size_t end;
  bool match;
};

/// Adds to the pieces what `behavior` makes of alternating matches and gaps.
class PartJoiner {
 public:
  PartJoiner(const PreStep& step, uint32_t base, std::vector<Piece>& pieces)
      : step_(step), base_(base), pieces_(pieces) {}

  void run(const std::vector<RegexMatch>& matches, size_t size) {
    size_t at = 0;
    for (const RegexMatch& match : matches) {
      if (at < match.begin) add({at, match.begin, false});
      add({match.begin, match.end, true});
      at = match.end;
    }
    if (at < size) add({at, size, false});
    flush();
  }

 private:
  void add(Part part) {
    part.match = part.match != step_.invert;
    switch (step_.behavior) {
      case SplitBehavior::removed:
        if (!part.match) put(part);
        return;
      case SplitBehavior::isolated:
        put(part);
        return;
      case SplitBehavior::contiguous:
        join(part, part.match == previous_match_);
        break;
      case SplitBehavior::merged_with_previous:
        join(part, part.match && !previous_match_);
        break;
      case SplitBehavior::merged_with_next:
        // A match waits for what follows, unless that is a match as well.
        join(part, !part.match && previous_match_);
        break;
    }
    previous_match_ = part.match;
  }

  void join(const Part& part, bool joins) {
    if (joins && held_) {
      waiting_.end = part.end;
      return;
    }
    flush();
    waiting_ = part;
    held_ = true;
  }

  void flush() {
    if (held_) put(waiting_);
    held_ = false;
  }
  void put(const Part& part) { add_piece(pieces_, base_, part.begin, part.end); }

  const PreStep& step_;
  uint32_t base_;
  std::vector<Piece>& pieces_;
  Part waiting_{};
  bool held_ = false;
  bool previous_match_ = false;
};

/// ByteLevel's and Metaspace's rewriting of every piece.
void rewrite(const PreStep& step, std::string& text, std::vector<Piece>& pieces,
             PreScratch& scratch, bool first) {
  const bool metaspace = step.kind == PreKind::metaspace;
  const std::string_view space = metaspace ? std::string_view(step.replacement) : " ";
  std::string& out = scratch.text;
  out.clear();
  for (size_t i = 0; i < pieces.size(); ++i) {
    const std::string_view piece =
        std::string_view(text).substr(pieces[i].begin, pieces[i].end - pieces[i].begin);
    const size_t begin = out.size();
    const bool wanted = metaspace ? step.prepend == PrependScheme::always ||
                                        (step.prepend == PrependScheme::first && first && i == 0)
                                  : step.add_prefix_space;
    const bool has = piece.starts_with(' ') || piece.starts_with(space);
    if (wanted && !has) out += space;
    if (step.maps_bytes) {
      out += bytes_to_spelling(piece);
      pieces[i] = {static_cast<uint32_t>(begin), static_cast<uint32_t>(out.size())};
      continue;
    }
    for (const char byte : piece) {
      if (metaspace && byte == ' ') {
        out += space;
      } else {
        out += byte;
      }
    }
    pieces[i] = {static_cast<uint32_t>(begin), static_cast<uint32_t>(out.size())};
  }
  text.swap(out);
}

SplitFunction whole_step(const PreStep& step) {
  switch (step.kind) {
    case PreKind::split:
      return step.is_regex && step.behavior == SplitBehavior::isolated && !step.invert
                 ? find_splitter(step.pattern)
                 : nullptr;
    case PreKind::digits:
      return step.individual ? split_digits : split_numbers;
    case PreKind::white_space:
      return split_at_white_space;
    case PreKind::bert:
      return split_bert;
    default:
      return nullptr;
  }
}

}  // namespace

Result<PreTokenizer> PreTokenizer::make(const std::vector<PreStep>& steps) {
  if (steps.size() > limits::steps_max) {
    return error(Code::exhausted, concat("the pre-tokenizer has ", steps.size(), " steps"),
                 concat("at most ", limits::steps_max));
  }
  PreTokenizer made;
  for (const PreStep& spec : steps) {
    made.maps_bytes_ = made.maps_bytes_ || spec.maps_bytes;
    Step step;
    step.spec = spec;
    step.split = whole_step(spec);
    if (spec.kind == PreKind::split && spec.is_regex && step.split == nullptr) {
      TROUPE_ASSIGN(step.regex, Regex::make(spec.pattern));
    }
    made.steps_.push_back(std::move(step));
  }
  return made;
}

Status PreTokenizer::apply(const Step& step, std::string& text, std::vector<Piece>& pieces,
                           PreScratch& scratch, bool first) const {
  if (step.spec.kind == PreKind::byte_level || step.spec.kind == PreKind::metaspace) {
    rewrite(step.spec, text, pieces, scratch, first);
    if (step.spec.kind == PreKind::byte_level || !step.spec.split) return {};
  }
  PreStep joined = step.spec;
  if (step.spec.kind == PreKind::metaspace) joined.behavior = SplitBehavior::merged_with_next;
  std::vector<Piece>& next = scratch.next;
  next.clear();
  for (const Piece piece : pieces) {
    const std::string_view part =
        std::string_view(text).substr(piece.begin, piece.end - piece.begin);
    if (step.split != nullptr) {
      step.split(part, piece.begin, next);
      continue;
    }
    scratch.matches.clear();
    if (step.spec.kind == PreKind::punctuation) {
      find_punctuation(part, scratch.matches);
    } else if (step.regex) {
      TROUPE_TRY(step.regex->find_all(part, scratch.regex, scratch.matches));
    } else {
      find_literal(part,
                   step.spec.kind == PreKind::metaspace ? step.spec.replacement : step.spec.pattern,
                   scratch.matches);
    }
    PartJoiner(joined, piece.begin, next).run(scratch.matches, part.size());
  }
  pieces.swap(next);
  return {};
}

Status PreTokenizer::run(std::string& text, std::vector<Piece>& pieces, PreScratch& scratch,
                         bool first) const {
  pieces.clear();
  add_piece(pieces, 0, 0, text.size());
  for (const Step& step : steps_) TROUPE_TRY(apply(step, text, pieces, scratch, first));
  return {};
}

}  // namespace troupe::text
