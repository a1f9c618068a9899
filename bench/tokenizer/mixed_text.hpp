// Text to measure tokenizers on: the same bytes on every machine.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace troupe::bench {

/// About `bytes` of documents of about 32 KB: code, English-like prose, ideographs, Cyrillic, and
/// numbers with JSON. Words follow a Zipf distribution, as those of languages do.
std::vector<std::string> mixed_text(size_t bytes);

}  // namespace troupe::bench
