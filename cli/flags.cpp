#include "cli/flags.hpp"

#include <charconv>
#include <cmath>

#include "base/concat.hpp"
#include "launch/amounts.hpp"
#include "launch/nearest.hpp"

namespace troupe::cli {
namespace {

/// When a flag may stand, seen from the other flags of its command.
struct Rule {
  const char* flag;
  bool needs;  ///< the other flag; otherwise: excludes it
  const char* other;
  const char* why;
};

constexpr Rule rules[] = {
    {"--cluster", false, "--model",
     "one names a running cluster, the other a file to run in this process"},
    {"--threads", true, "--model", "a cluster takes it from its manifest, roles[].threads"},
    {"--compute", true, "--model", "a cluster takes it from its manifest, models[].compute"},
    {"--kv-type", true, "--model", "a cluster takes it from its manifest, models[].kv_type"},
    {"--kv-type-k", true, "--model", "a cluster takes it from its manifest, models[].kv_type_k"},
    {"--kv-type-v", true, "--model", "a cluster takes it from its manifest, models[].kv_type_v"},
    {"--kv-memory", true, "--model", "a cluster takes it from its manifest, roles[].kv_memory"},
    {"--context-max", true, "--model",
     "a cluster takes it from its manifest, models[].context_max"},
    {"--raw", false, "--token-ids", "token ids are never put into a chat template"},
    {"--raw", false, "--system", "a raw text has no messages"},
    {"--token-ids", false, "--system", "token ids have no messages"},
    {"--parse-special", true, "--raw", "in a message, control tokens always stay text"},
    {"--top-logprobs", true, "--json", "only the JSON answer shows them"},
    {"--file", false, "--text", "the text comes from one of them"},
    {"--host", true, "--manifest", "only a manifest has hosts"},
};

}  // namespace

bool is_given(const CLI::App& command, const char* flag) {
  const CLI::Option* option = command.get_option_no_throw(flag);
  return option != nullptr && option->count() > 0;
}

std::string flag_is(const std::string& name, const std::string& value) {
  return concat(name, " is ", launch::in_quotes(value));
}

namespace detail {

void add_parsed(CLI::App& command, const std::string& name, const char* kind,
                const std::string& meaning, std::function<Status(const std::string&)> parse) {
  command
      .add_option_function<std::string>(
          name,
          [parse = std::move(parse)](const std::string& value) {
            if (auto parsed = parse(value); !parsed) throw FlagError(parsed.error());
          },
          meaning)
      ->type_name(kind);
}

Result<uint64_t> parse_whole(const std::string& name, const std::string& value, WholeRange range,
                             const std::string& example) {
  uint64_t number = 0;
  const char* end = value.data() + value.size();
  const auto [stop, failure] = std::from_chars(value.data(), end, number);
  if (failure == std::errc() && stop == end && number >= range.min && number <= range.max) {
    return number;
  }
  return error(Code::invalid_argument, flag_is(name, value),
               concat("expected a whole number from ", range.min, " to ", range.max, ", such as ",
                      name, " ", example));
}

}  // namespace detail

void add_real(CLI::App& command, const std::string& name, float& out, RealRange range,
              const std::string& example, const std::string& meaning) {
  detail::add_parsed(
      command, name, "NUMBER", meaning, [=, &out](const std::string& value) -> Status {
        float number = 0;
        const char* end = value.data() + value.size();
        const auto [stop, failure] = std::from_chars(value.data(), end, number);
        const bool is_high = range.above_min ? number > range.min : number >= range.min;
        if (failure == std::errc() && stop == end && is_high && number <= range.max) {
          out = number;
          return {};
        }
        return error(Code::invalid_argument, flag_is(name, value),
                     concat("expected a number ", range.above_min ? "above " : "from ", range.min,
                            range.above_min ? ", at most " : " to ", range.max, ", such as ", name,
                            " ", example));
      });
}

void add_bytes(CLI::App& command, const std::string& name, uint64_t& out, uint64_t min,
               const std::string& meaning) {
  detail::add_parsed(
      command, name, "AMOUNT", meaning, [=, &out](const std::string& value) -> Status {
        const auto bytes = launch::parse_bytes(value);
        if (bytes.ok() && *bytes >= min) {
          out = *bytes;
          return {};
        }
        const std::string reason = bytes.ok() ? std::string() : concat(": ", bytes.error().what);
        return error(Code::invalid_argument, flag_is(name, value) + reason,
                     concat("expected at least ", launch::format_bytes(min), ", such as ", name,
                            " 512MiB or 1.5GiB"));
      });
}

void add_word(CLI::App& command, const std::string& name, std::string& out,
              const std::vector<std::string>& words, const std::string& meaning) {
  detail::add_parsed(command, name, "WORD", meaning, [=, &out](const std::string& value) -> Status {
    for (const std::string& word : words) {
      if (value != word) continue;
      out = value;
      return {};
    }
    return error(Code::invalid_argument, flag_is(name, value),
                 concat("expected ", launch::list_of(words), launch::did_you_mean(value, words)));
  });
}

void add_text(CLI::App& command, const std::string& name, std::string& out,
              const std::string& meaning) {
  detail::add_parsed(command, name, "TEXT", meaning, [=, &out](const std::string& value) -> Status {
    if (value.empty()) {
      return error(Code::invalid_argument, concat(name, " is empty"), concat("expected ", meaning));
    }
    out = value;
    return {};
  });
}

Status check_together(const CLI::App& command) {
  for (const Rule& rule : rules) {
    // A command that does not know the other flag cannot be asked for it.
    if (command.get_option_no_throw(rule.other) == nullptr) continue;
    if (!is_given(command, rule.flag) || is_given(command, rule.other) == rule.needs) continue;
    return error(Code::invalid_argument,
                 concat(rule.flag, rule.needs ? " means nothing without " : " and ", rule.other,
                        rule.needs ? ": " : " exclude one another: ", rule.why),
                 concat("leave ", rule.flag, " out", rule.needs ? ", or give " : " or leave ",
                        rule.other, rule.needs ? "" : " out"));
  }
  return {};
}

}  // namespace troupe::cli
