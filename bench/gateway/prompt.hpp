// A prompt of about 200,000 tokens as a client sends it, and a model file that takes it.
#pragma once

#include <cstdint>
#include <string>

namespace troupe::bench {

/// English words in a repeatable order; another `seed` is another text from its first word on.
std::string long_text(size_t words, uint64_t seed);
/// The body of a chat of two messages: the text, and a question that `turn` tells from others.
std::string long_chat(const std::string& text, int turn);

/// A copy of the GGUF file at `from` whose context is `context` tokens: a simulated device has no
/// weights that it would be too long for. False: the file has no such field.
bool copy_with_context(const std::string& from, const std::string& to, uint32_t context);

}  // namespace troupe::bench
