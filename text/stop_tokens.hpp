// Which ids end a generation, beyond the one that the file names.
#pragma once

#include <algorithm>
#include <string_view>

#include "text/tokenizer_spec.hpp"

namespace troupe::text {

/// Adds to the stop ids the EOS id and the control or user-defined tokens that end a turn or a text
/// in the model families that use them; many files name only one of them, or mark it wrongly.
inline void add_stop_tokens(TokenizerSpec& spec) {
  constexpr std::string_view ending[] = {"<|im_end|>",
                                         "<|endoftext|>",
                                         "<|eot_id|>",
                                         "<|eom_id|>",
                                         "<|end_of_text|>",
                                         "<|end|>",
                                         "<end_of_turn>",
                                         "<|eot|>",
                                         "<|end_of_turn|>",
                                         "</s>",
                                         "<eos>",
                                         "<EOT>",
                                         "<|return|>",
                                         "<|call|>",
                                         "<|user|>",
                                         "<|observation|>",
                                         "<turn|>",
                                         "<｜end▁of▁sentence｜>",
                                         "<|eom|>",
                                         "<|END_OF_TURN_TOKEN|>",
                                         "<|EOT|>",
                                         "[EOT]",
                                         "[EOS]",
                                         "<seed:eos>",
                                         "[e~[",
                                         "<|assistant_end|>",
                                         "<|end_of_msg|>",
                                         "[|endofturn|]",
                                         "<|eos|>",
                                         "<end_of_utterance>"};
  if (spec.eos_id >= 0) spec.stop_ids.push_back(spec.eos_id);
  for (size_t i = 0; i < spec.tokens.size(); ++i) {
    const TokenType type = spec.types[i];
    if (type != TokenType::control && type != TokenType::user_defined) continue;
    if (std::ranges::find(ending, spec.tokens[i]) == std::end(ending)) continue;
    spec.stop_ids.push_back(static_cast<int32_t>(i));
  }
  std::ranges::sort(spec.stop_ids);
  spec.stop_ids.erase(std::unique(spec.stop_ids.begin(), spec.stop_ids.end()), spec.stop_ids.end());
}

}  // namespace troupe::text
