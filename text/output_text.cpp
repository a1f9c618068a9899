#include "text/output_text.hpp"

namespace troupe::text {

OutputText::OutputText(std::shared_ptr<const Tokenizer> tokenizer, Options options)
    : detokenizer_(std::move(tokenizer), options.skip_special),
      matcher_(std::move(options.stops)) {}

StopMatcher::Output OutputText::push(int32_t token) {
  if (matcher_.stopped()) return {{}, true};
  return matcher_.push(detokenizer_.push(token));
}

StopMatcher::Output OutputText::flush() {
  if (matcher_.stopped()) return {{}, true};
  StopMatcher::Output out = matcher_.push(detokenizer_.flush());
  if (!out.stopped) out.text += matcher_.flush();
  return out;
}

}  // namespace troupe::text
