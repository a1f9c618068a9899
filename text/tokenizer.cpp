#include "text/tokenizer.hpp"

#include <algorithm>

#include "base/concat.hpp"
#include "text/byte_alphabet.hpp"
#include "text/char_class.hpp"
#include "text/text_limits.hpp"
#include "text/tokenizer_scratch.hpp"
#include "text/utf8.hpp"

namespace troupe::text {

Tokenizer::Tokenizer() : pool_(std::make_unique<ScratchPool>()) {}
Tokenizer::~Tokenizer() = default;

std::string_view Tokenizer::token_bytes(int32_t id) const {
  return contains(id) ? bytes_.at(id) : std::string_view();
}

std::string_view Tokenizer::spelling(int32_t id) const {
  return contains(id) ? spellings_.at(id) : std::string_view();
}

std::optional<int32_t> Tokenizer::id_of(std::string_view bytes) const {
  const auto found = by_bytes_.find(bytes);
  if (found == by_bytes_.end()) return std::nullopt;
  return found->second;
}

bool Tokenizer::is_control(int32_t id) const {
  return contains(id) && types_[static_cast<size_t>(id)] == TokenType::control;
}

bool Tokenizer::is_stop(int32_t id) const {
  return std::find(stop_ids_.begin(), stop_ids_.end(), id) != stop_ids_.end();
}

uint64_t Tokenizer::merge_lookups() const {
  return pool_->merge_lookups.load(std::memory_order_relaxed);
}

Result<std::vector<int32_t>> Tokenizer::encode(std::string_view text, EncodeOptions options) const {
  if (text.size() > limits::prompt_bytes_max) {
    return error(
        Code::exhausted,
        concat("the text has ", text.size(), " bytes, more than ", limits::prompt_bytes_max),
        "send a shorter text");
  }
  TROUPE_TRY(check_utf8(text, "the text"));
  std::vector<int32_t> ids;
  ids.reserve(text.size() / 3 + 16);
  if (options.add_special) ids = prefix_ids_;
  std::unique_ptr<Scratch> scratch = pool_->take(merges_);
  const uint64_t lookups = scratch->merger.lookups();
  const Status status = encode_sections(text, options, *scratch, ids);
  const uint64_t spent = scratch->merger.lookups() - lookups;
  pool_->give_back(std::move(scratch), spent);
  if (!status.ok()) return status.error();
  if (options.add_special) ids.insert(ids.end(), suffix_ids_.begin(), suffix_ids_.end());
  return ids;
}

Status Tokenizer::encode_sections(std::string_view text, const EncodeOptions& options,
                                  Scratch& scratch, std::vector<int32_t>& ids) const {
  std::span<const ByteRange> plain = options.plain;
  size_t begin = 0;
  const auto section = [&](size_t end) -> Status {
    if (begin >= end) return {};
    // Offsets are lost by normalising: where a message may spell a control token, none is sought.
    const bool control =
        options.parse_special && std::ranges::none_of(options.plain, [&](const ByteRange& range) {
          return normal_control_ && range.begin < end && range.end > begin;
        });
    const std::string_view part = text.substr(begin, end - begin);
    if (options.memo == nullptr || part.size() < limits::memo_bytes_min) {
      return encode_section(part, begin == 0, control, scratch, ids);
    }
    const uint64_t kind = (begin == 0 ? 1u : 0u) | (control ? 2u : 0u);
    const Digest key = SectionMemo::key(part, kind, options.memo_scope);
    if (options.memo->append(key, ids)) return {};
    std::vector<int32_t> own;
    TROUPE_TRY(encode_section(part, begin == 0, control, scratch, own));
    ids.insert(ids.end(), own.begin(), own.end());
    options.memo->keep(key, std::move(own));
    return {};
  };
  for (size_t at = 0;;) {
    const AddedTokens::Found found = added_.find(text, at, begin, options.parse_special, plain);
    if (found.id < 0) break;
    TROUPE_TRY(section(found.begin));
    ids.push_back(found.id);
    begin = found.end;
    at = found.next;
  }
  return section(text.size());
}

Status Tokenizer::encode_section(std::string_view section, bool first, bool control,
                                 Scratch& scratch, std::vector<int32_t>& ids) const {
  scratch.text.assign(section);
  if (!normalizer_.empty()) TROUPE_TRY(normalizer_.run(scratch.text, scratch.pre.regex));
  if (added_normal_.empty()) {
    scratch.part.swap(scratch.text);
    return encode_normal(scratch.part, first, scratch, ids);
  }
  const std::string text = scratch.text;
  std::span<const ByteRange> plain;
  size_t begin = 0;
  const auto part = [&](size_t end) -> Status {
    if (begin >= end) return {};
    scratch.part.assign(text, begin, end - begin);
    return encode_normal(scratch.part, first && begin == 0, scratch, ids);
  };
  for (size_t at = 0;;) {
    const AddedTokens::Found found = added_normal_.find(text, at, begin, control, plain);
    if (found.id < 0) break;
    TROUPE_TRY(part(found.begin));
    ids.push_back(found.id);
    begin = found.end;
    at = found.next;
  }
  return part(text.size());
}

Status Tokenizer::encode_normal(std::string_view, bool first, Scratch& scratch,
                                std::vector<int32_t>& ids) const {
  std::string& text = scratch.part;
  TROUPE_TRY(pre_tokenizer_.run(text, scratch.pieces, scratch.pre, first));
  // So that a short word can be read as 16 bytes wherever it stands.
  const size_t size = text.size();
  text.append(sizeof(WordCache::Key), '\0');
  for (const Piece piece : scratch.pieces) {
    if (pre_tokenizer_.maps_bytes()) {
      const std::string bytes =
          spelling_to_bytes(std::string_view(text).substr(piece.begin, piece.end - piece.begin))
              .value_or("");
      encode_piece(bytes, bytes.size(), scratch, ids);
      continue;
    }
    encode_piece(std::string_view(text).substr(piece.begin, piece.end - piece.begin),
                 text.size() - piece.begin, scratch, ids);
  }
  text.resize(size);
  return {};
}

void Tokenizer::encode_piece(std::string_view piece, size_t readable, Scratch& scratch,
                             std::vector<int32_t>& ids) const {
  constexpr std::string_view space = "\u2581";
  if (kind_ != TokenizerKind::bpe) return encode_word(piece, readable, scratch, ids);
  size_t begin = 0;
  for (size_t at = piece.find(space, 1); at != std::string_view::npos;
       at = piece.find(space, at + 1)) {
    if (!cuts_before_space_[static_cast<uint8_t>(piece[at - 1])]) continue;
    encode_word(piece.substr(begin, at - begin), readable - begin, scratch, ids);
    begin = at;
  }
  encode_word(piece.substr(begin), readable - begin, scratch, ids);
}

void Tokenizer::encode_word(std::string_view word, size_t readable, Scratch& scratch,
                            std::vector<int32_t>& ids) const {
  if (word.size() > WordCache::word_bytes_max) return encode_new_word(word, scratch, ids);
  if (word.empty()) return;
  const WordCache::Key key = WordCache::key_of(word, readable);
  if (scratch.cache.append(key, ids)) return;
  const size_t before = ids.size();
  encode_new_word(word, scratch, ids);
  scratch.cache.put(key, ids, ids.size() - before);
}

void Tokenizer::encode_new_word(std::string_view word, Scratch& scratch,
                                std::vector<int32_t>& ids) const {
  switch (kind_) {
    case TokenizerKind::byte_level_bpe:
      if (ignore_merges_) {
        const auto found = by_bytes_.find(word);
        const TokenType type = found == by_bytes_.end()
                                   ? TokenType::unused
                                   : types_[static_cast<size_t>(found->second)];
        if (type == TokenType::normal) {
          ids.push_back(found->second);
          return;
        }
      }
      scratch.symbols.clear();
      append_bytes(word, scratch.symbols);
      scratch.merger.merge(scratch.symbols, ids);
      return;
    case TokenizerKind::bpe:
      if (ignore_merges_) {
        if (const int32_t whole = find_spelling(word); whole >= 0) {
          ids.push_back(whole);
          return;
        }
      }
      character_symbols(word, scratch);
      scratch.merger.merge(scratch.symbols, ids);
      return;
    case TokenizerKind::unigram:
      scratch.segments.clear();
      unigram_.segment(word, scratch.unigram, scratch.segments);
      for (const UnigramModel::Segment& segment : scratch.segments) {
        if (segment.id == unknown_id_ && byte_fallback_) {
          append_bytes(word.substr(segment.begin, segment.end - segment.begin), ids);
        } else if (segment.id >= 0) {
          ids.push_back(segment.id);
        }
      }
      return;
    case TokenizerKind::word_piece:
      word_piece_.append_word(word, ids);
      return;
  }
}

void Tokenizer::append_bytes(std::string_view bytes, std::vector<int32_t>& ids) const {
  for (const char byte : bytes) {
    const int32_t id = byte_ids_[static_cast<uint8_t>(byte)];
    if (id >= 0) ids.push_back(id);
  }
}

void Tokenizer::character_symbols(std::string_view word, Scratch& scratch) const {
  std::vector<int32_t>& symbols = scratch.symbols;
  symbols.clear();
  const bool affixes = !continuing_prefix_.empty() || !word_suffix_.empty();
  bool unknown = false;  // a run of unknown characters waits to be written
  for (size_t i = 0; i < word.size();) {
    const DecodedChar c = decode_valid(reinterpret_cast<const uint8_t*>(word.data() + i));
    const size_t end = i + c.bytes;
    int32_t id = -1;
    if (affixes) {
      id = find_spelling(concat(i > 0 ? continuing_prefix_ : "", word.substr(i, c.bytes),
                                end == word.size() ? word_suffix_ : ""));
    } else if (const auto found = character_ids_.find(c.code_point);
               found != character_ids_.end()) {
      id = found->second;
    }
    const std::string_view bytes = word.substr(i, c.bytes);
    i = end;
    const auto has_byte = [&](char byte) { return byte_ids_[static_cast<uint8_t>(byte)] >= 0; };
    if (id < 0 && byte_fallback_ && std::ranges::all_of(bytes, has_byte)) {
      append_bytes(bytes, symbols);
      continue;
    }
    if (unknown && (id >= 0 || !fuse_unknown_)) symbols.push_back(unknown_id_);
    unknown = id < 0 && unknown_id_ >= 0;
    if (id >= 0) symbols.push_back(id);
  }
  if (unknown) symbols.push_back(unknown_id_);
}

}  // namespace troupe::text
