// Places in a conversation as lengths of its prompt in tokens: what a request wants kept. No CAF.
#pragma once

#include <google/protobuf/repeated_field.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "schemas/request.pb.h"
#include "text/chat_prompt.hpp"
#include "text/tokenizer.hpp"

namespace troupe::actors {

using CacheMarks = google::protobuf::RepeatedPtrField<v1::CacheMark>;

/// At most limits::cache_marks_max of them.
std::vector<text::ChatPlace> places_of(const CacheMarks& marks);

/// A prompt and how it became tokens; borrows all of it.
struct EncodedText {
  const text::Tokenizer& tokenizer;
  const text::EncodeOptions& options;
  const std::string& text;
  const std::vector<int32_t>& tokens;
};

/// `bytes` of each mark stand before it: the tokens that end there or earlier, in ascending order;
/// marks without any are left out.
std::vector<v1::CachePin> cache_pins(const CacheMarks& marks, std::span<const size_t> bytes,
                                     const EncodedText& prompt);

}  // namespace troupe::actors
