#include "text/detokenizer.hpp"

#include "text/utf8.hpp"

namespace troupe::text {

Detokenizer::Detokenizer(std::shared_ptr<const Tokenizer> tokenizer, bool skip_special)
    : tokenizer_(std::move(tokenizer)), skip_special_(skip_special) {}

std::string Detokenizer::push(int32_t token) {
  if (!tokenizer_ || (skip_special_ && tokenizer_->is_control(token))) return {};
  pending_ += tokenizer_->token_bytes(token);
  const size_t whole = pending_.size() - unfinished_utf8_tail(pending_);
  std::string out = replace_invalid_utf8(std::string_view(pending_).substr(0, whole));
  pending_.erase(0, whole);
  return out;
}

std::string Detokenizer::flush() {
  std::string out = replace_invalid_utf8(pending_);
  pending_.clear();
  return out;
}

}  // namespace troupe::text
