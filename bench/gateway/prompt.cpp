#include "bench/gateway/prompt.hpp"

#include <array>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

namespace troupe::bench {
namespace {

constexpr std::array<const char*, 40> words = {
    "the",    "of",     "and",     "river",  "to",    "in",      "a",       "that",
    "water",  "was",    "his",     "valley", "with",  "be",      "as",      "mountain",
    "had",    "you",    "not",     "road",   "but",   "were",    "which",   "village",
    "from",   "they",   "bridge",  "said",   "when",  "evening", "there",   "would",
    "people", "market", "through", "house",  "their", "winter",  "between", "station"};

}  // namespace

std::string long_text(size_t count, uint64_t seed) {
  std::string text;
  uint64_t state = seed * 0x9E3779B97F4A7C15u + 1;
  for (size_t i = 0; i < count; ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    text += words[(state >> 33) % words.size()];
    const uint64_t mark = (state >> 50) % 100;
    text += mark < 3 ? ".\n" : mark < 8 ? ", " : " ";
  }
  return text;
}

std::string long_chat(const std::string& text, int turn) {
  const std::string question = "What happens in part " + std::to_string(turn) + "?";
  const nlohmann::ordered_json body = {
      {"model", "m"},
      {"messages",
       {{{"role", "system"}, {"content", text}}, {{"role", "user"}, {"content", question}}}},
      {"max_tokens", 1},
      {"temperature", 0},
      {"stream", true}};
  return body.dump();
}

bool copy_with_context(const std::string& from, const std::string& to, uint32_t context) {
  std::filesystem::copy_file(from, to, std::filesystem::copy_options::overwrite_existing);
  std::fstream file(to, std::ios::in | std::ios::out | std::ios::binary);
  std::string head(size_t{1} << 20, '\0');
  file.read(head.data(), static_cast<std::streamsize>(head.size()));
  const std::string key = "llama.context_length";
  const size_t at = head.find(key);
  uint32_t type = 0;
  if (at != std::string::npos) std::memcpy(&type, head.data() + at + key.size(), sizeof type);
  constexpr uint32_t gguf_u32 = 4;
  if (type != gguf_u32) return false;
  file.clear();
  file.seekp(static_cast<std::streamoff>(at + key.size() + sizeof type));
  file.write(reinterpret_cast<const char*>(&context), sizeof context);
  return static_cast<bool>(file.flush());
}

}  // namespace troupe::bench
