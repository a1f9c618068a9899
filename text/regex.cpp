#include "text/regex.hpp"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <algorithm>
#include <array>

#include "base/concat.hpp"
#include "text/text_limits.hpp"

namespace troupe::text {

struct Regex::Code {
  pcre2_code* code = nullptr;
  ~Code() { pcre2_code_free(code); }
};

struct RegexScratch::Data {
  pcre2_match_data* match = pcre2_match_data_create(1, nullptr);
  pcre2_match_context* context = pcre2_match_context_create(nullptr);
  pcre2_jit_stack* stack = pcre2_jit_stack_create(32 << 10, 1 << 20, nullptr);

  Data() {
    pcre2_jit_stack_assign(context, nullptr, stack);
    pcre2_set_heap_limit(context, limits::regex_heap_kib_max);
  }
  ~Data() {
    pcre2_match_data_free(match);
    pcre2_match_context_free(context);
    if (stack != nullptr) pcre2_jit_stack_free(stack);
  }
};

RegexScratch::RegexScratch() : data_(std::make_unique<Data>()) {}
RegexScratch::~RegexScratch() = default;

Result<Regex> Regex::make(std::string_view pattern) {
  if (pattern.size() > limits::pattern_bytes_max) {
    return error(troupe::Code::exhausted, concat("the pattern has ", pattern.size(), " bytes"),
                 concat("at most ", limits::pattern_bytes_max));
  }
  const std::string translated = translate_pattern(pattern);
  pcre2_compile_context* context = pcre2_compile_context_create(nullptr);
  pcre2_set_parens_nest_limit(context, limits::pattern_depth_max);
  constexpr uint32_t options = PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE | PCRE2_NEVER_BACKSLASH_C;
  int code = 0;
  PCRE2_SIZE offset = 0;
  auto made = std::make_shared<Regex::Code>();
  made->code = pcre2_compile(reinterpret_cast<PCRE2_SPTR>(translated.data()), translated.size(),
                             options, &code, &offset, context);
  pcre2_compile_context_free(context);
  if (made->code == nullptr) {
    std::array<PCRE2_UCHAR, 128> reason{};
    pcre2_get_error_message(code, reason.data(), reason.size());
    return error(troupe::Code::invalid_argument,
                 concat("a pattern is no regular expression: ",
                        reinterpret_cast<const char*>(reason.data()), " at byte ", offset));
  }
  // Without a JIT for this machine the interpreter does the same, more slowly.
  pcre2_jit_compile(made->code, PCRE2_JIT_COMPLETE | PCRE2_JIT_PARTIAL_HARD);
  return Regex(std::move(made));
}

namespace {

/// A first try sees this much text; what needs more is tried again with more, and charged.
constexpr size_t window_bytes = 256;

/// A try that gave up has taken its steps at each of its places.
constexpr size_t toil_charge = 64 << 10;

size_t character_boundary(std::string_view text, size_t at) {
  while (at < text.size() && (static_cast<uint8_t>(text[at]) & 0xc0) == 0x80) ++at;
  return at;
}

}  // namespace

Status Regex::find_all(std::string_view text, RegexScratch& scratch,
                       std::vector<RegexMatch>& matches) const {
  RegexScratch::Data& data = *scratch.data_;
  const auto* subject = reinterpret_cast<PCRE2_SPTR>(text.data());
  size_t budget = limits::regex_steps_per_byte * (text.size() + window_bytes);
  size_t window = window_bytes;
  for (size_t at = 0; at < text.size();) {
    const size_t end =
        window < text.size() - at ? character_boundary(text, at + window) : text.size();
    // A try that is charged begins at one place only, so that its steps are what it is charged.
    const bool charged = window > window_bytes;
    const uint32_t options = PCRE2_NO_UTF_CHECK | (end < text.size() ? PCRE2_PARTIAL_HARD : 0) |
                             (charged ? PCRE2_ANCHORED : 0);
    pcre2_set_match_limit(data.context, static_cast<uint32_t>(2 * window + 200));
    const int rc = pcre2_match(code_->code, subject, end, at, options, data.match, data.context);
    const PCRE2_SIZE* found = pcre2_get_ovector_pointer(data.match);
    if (rc >= 0) {
      const RegexMatch match{std::max(at, found[0]), std::max(at, found[1])};
      matches.push_back(match);
      at = match.end > match.begin ? match.end : character_boundary(text, match.end + 1);
      window = window_bytes;
      continue;
    }
    if (rc == PCRE2_ERROR_NOMATCH) {
      at = charged ? character_boundary(text, at + 1) : end;
      window = window_bytes;
      continue;
    }
    // The match reaches beyond the window, or takes more steps than it has bytes.
    const bool reaches = rc == PCRE2_ERROR_PARTIAL;
    const bool toils = rc == PCRE2_ERROR_MATCHLIMIT || rc == PCRE2_ERROR_JIT_STACKLIMIT ||
                       rc == PCRE2_ERROR_HEAPLIMIT;
    if (reaches) at = std::max(at, found[0]);
    window *= 4;
    const size_t charge = reaches ? std::min(window, text.size()) : window + toil_charge;
    if ((!reaches && !toils) || charge > budget || window > limits::regex_window_max) {
      return error(
          troupe::Code::exhausted,
          concat("the tokenizer's pattern takes too many steps on this text, at byte ", at),
          "send other text, or use a tokenizer with a simpler pattern");
    }
    budget -= charge;
  }
  return {};
}

}  // namespace troupe::text
