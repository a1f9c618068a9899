#include "actors/context_error.hpp"

#include <string_view>

#include "actors/client.hpp"
#include "base/concat.hpp"

namespace troupe::actors {
namespace {

constexpr std::string_view first_words = "the prompt has ";
constexpr std::string_view middle_words = " tokens, the context holds ";

}  // namespace

Error context_exceeded(size_t prompt_tokens, uint32_t context_max) {
  return error(Code::invalid_argument,
               concat(first_words, prompt_tokens, middle_words, context_max),
               concat("at most ", context_max - 1, " prompt tokens"));
}

bool is_context_exceeded(const Error& error) {
  return error.code == Code::invalid_argument && error.what.starts_with(first_words) &&
         error.what.find(middle_words) != std::string::npos;
}

}  // namespace troupe::actors
