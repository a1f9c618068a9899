// Bodies of HTTP requests: each becomes a generation within its bounds, or a 400 or 404 that says
// why. The first byte chooses the API.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "gateway/generation.hpp"
#include "text/utf8.hpp"

namespace {

using namespace troupe;
using namespace troupe::gateway;

void require(bool holds) {
  if (!holds) std::abort();
}

actors::ModelCard card_of_bytes() {
  actors::ModelCard card;
  card.name = "m";
  card.context_max = 1000;
  card.output_tokens_max = 500;
  card.vocab_size = 256;
  card.has_chat_template = true;
  for (int i = 0; i < 256; ++i) card.token_bytes.emplace_back(1, static_cast<char>(i));
  card.is_control.resize(256);
  return card;
}

std::optional<ApiError> parse(uint8_t api, const Json& body, const actors::ModelCard& card,
                              Generation& out) {
  switch (api % 5) {
    case 0:
      return parse_chat(body, card, out);
    case 1:
      return parse_completion(body, card, out);
    case 2:
      return parse_messages(body, card, false, out);
    case 3:
      return parse_messages(body, card, true, out);
    default:
      return parse_response(body, card, out);
  }
}

void check_error(const ApiError& error) {
  require((error.status == 400 || error.status == 404) && !error.message.empty());
  for (const Dialect dialect : {Dialect::openai, Dialect::anthropic}) {
    require(Json::parse(body_of(error, dialect), nullptr, false).is_object());
  }
}

void check_request(const actors::GenerateRequest& request) {
  require(request.sampling.max_tokens >= 1 && request.sampling.max_tokens <= 500);
  require(request.choices >= 1 && request.choices <= 128);
  require(request.sampling.temperature >= 0 && request.sampling.top_p > 0);
  for (const int32_t id : request.token_ids) require(id >= 0 && id < 256);
  const int given = (request.text ? 1 : 0) + (request.token_ids.empty() ? 0 : 1) +
                    (request.chat_json.empty() ? 0 : 1);
  require(given == 1);
  if (request.chat_json.empty()) return;
  const Json chat = Json::parse(request.chat_json, nullptr, false);
  require(chat.is_object() && chat["messages"].is_array());
  for (const Json& message : chat["messages"]) {
    require(message["role"].is_string() && message["content"].is_string());
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const actors::ModelCard card = card_of_bytes();
  if (size == 0) return 0;
  Json body;
  if (const auto error = parse_body({reinterpret_cast<const char*>(data) + 1, size - 1}, body)) {
    check_error(*error);
    return 0;
  }
  Generation generation;
  if (const auto error = parse(data[0], body, card, generation)) {
    check_error(*error);
    return 0;
  }
  require(!generation.requests.empty());
  for (const actors::GenerateRequest& request : generation.requests) check_request(request);
  return 0;
}
