// Every flag of every command refuses what it cannot take, and says what it can.
#include "cli/flags.hpp"

#include <doctest/doctest.h>

#include "base/concat.hpp"
#include "cli/commands.hpp"
#include "cli/parse_errors.hpp"

namespace troupe::cli {
namespace {

using Words = std::vector<std::string>;

/// The error that these words give; code ok if they are taken.
Error refusal(const Words& words) {
  CLI::App app("test", "troupe");
  Chosen chosen;
  add_commands(app, chosen);
  try {
    app.parse(Words(words.rbegin(), words.rend()));
  } catch (const CLI::ParseError& e) {
    return in_our_words(app, e, words);
  }
  return error(Code::ok, "");
}

std::string text_of(const Words& words) {
  const Error told = refusal(words);
  return told.code == Code::ok ? "taken" : told.message();
}

struct Flag {
  std::string command;  ///< "certs issue": one word or two
  std::string name;
  std::string meaning;
  bool takes_value = false;
};

/// The command and what stands behind it.
Words line(const std::string& command, const Words& more) {
  const size_t space = command.find(' ');
  Words words = {command.substr(0, space)};
  if (space != std::string::npos) words.push_back(command.substr(space + 1));
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

void collect(const CLI::App& app, const std::string& above, std::vector<Flag>& flags) {
  for (const CLI::App* command : app.get_subcommands({})) {
    const std::string name = above + command->get_name();
    collect(*command, name + " ", flags);
    for (const CLI::Option* option : command->get_options()) {
      for (const std::string& flag : option->get_lnames()) {
        if (flag == "help") continue;
        flags.push_back(
            {name, "--" + flag, option->get_description(), option->get_items_expected_max() > 0});
      }
    }
  }
}

std::vector<Flag> all_flags() {
  CLI::App app("test", "troupe");
  Chosen chosen;
  add_commands(app, chosen);
  std::vector<Flag> flags;
  collect(app, "", flags);
  return flags;
}

TEST_CASE("every flag says its default, and what it expects when its value is missing") {
  const auto flags = all_flags();
  CHECK(flags.size() > 40);
  for (const Flag& flag : flags) {
    INFO(flag.command, " ", flag.name, ": ", flag.meaning);
    CHECK_FALSE(flag.meaning.empty());
    if (!flag.takes_value) {
      CHECK(flag.meaning.find("default") != std::string::npos);
      const std::string told = text_of(line(flag.command, {flag.name + "=maybe"}));
      CHECK(told.find(flag.name) != std::string::npos);
      CHECK(told.find("onvert") == std::string::npos);
      continue;
    }
    CHECK(text_of(line(flag.command, {flag.name})) ==
          concat(flag.name, " has no value (expected ", flag.meaning, ")"));
    const std::string wrong = flag.name + "s";
    const std::string told = text_of(line(flag.command, {wrong, "1"}));
    if (told.find(" needs ") != std::string::npos) continue;  // what is missing is told first
    CHECK(told.find(concat("has no flag ", wrong)) != std::string::npos);
    if (wrong.size() > 4) CHECK(told.find("did you mean --") != std::string::npos);
  }
}

TEST_CASE("every flag that takes no text refuses a wrong value with its name, range and example") {
  const std::vector<std::string> texts = {
      "--stop",           "--system",       "--cluster",         "--model",        "--host",
      "--name",           "--file",         "--run-dir",         "--token-ids",    "--messages",
      "--tools",          "--documents",    "--variables",       "--template",     "--text",
      "--join",           "--certs",        "--address",         "--data-address", "--model-name",
      "--manifest",       "--out",          "--record",          "--replay",       "--listen",
      "--api-key",        "--api-key-file", "--tls-certificate", "--tls-key",      "--allowed-host",
      "--allowed-origin", "--output"};
  size_t seen = 0;
  for (const Flag& flag : all_flags()) {
    if (!flag.takes_value || std::ranges::find(texts, flag.name) != texts.end()) continue;
    ++seen;
    for (const char* value : {"nonsense", "-101", "nan", "inf", "1e99", "", "99999999999999999999",
                              "1.5.5", "1 ", "0x1"}) {
      const std::string told = text_of(line(flag.command, {concat(flag.name, "=", value)}));
      INFO(flag.command, " ", flag.name, " ", std::string(value), ": ", told);
      CHECK(told.find(flag.name) == 0);
      // An empty word counts as none at all.
      if (*value != '\0') CHECK(told.find(concat("\"", value, "\"")) != std::string::npos);
      CHECK(told.find("expected ") != std::string::npos);
      CHECK(told.find("onvert") == std::string::npos);
    }
  }
  CHECK(seen >= 30);
}

TEST_CASE("the sentences") {
  CHECK(text_of({"generate", "Hi", "--n", "-1"}) ==
        "--n is \"-1\" (expected a whole number from 1 to 128, such as --n 4)");
  CHECK(text_of({"generate", "Hi", "--top-p", "0"}) ==
        "--top-p is \"0\" (expected a number above 0, at most 1, such as --top-p 0.9)");
  CHECK(text_of({"serve", "m.gguf", "--kv-memory", "512"}) ==
        "--kv-memory is \"512\": \"512\" has no unit, expected an amount with its unit, such as "
        "512MiB or 2GiB, did you mean \"512MiB\"? (expected at least 1MiB, such as --kv-memory "
        "512MiB or 1.5GiB)");
  CHECK(text_of({"serve", "m.gguf", "--kv-memory", "1.5GB"}) == "taken");
  CHECK(text_of({"serve", "m.gguf", "--compute", "exat"}) ==
        "--compute is \"exat\" (expected fast or exact, did you mean \"exact\"?)");
  CHECK(text_of({"serve"}) ==
        "troupe serve needs model (expected a GGUF file or a checkpoint's folder)");
  CHECK(text_of({"generate", "Hello", "there"}) ==
        "troupe generate does not expect \"there\" (a text of several words needs quotes around "
        "it)");
  CHECK(text_of({"generate", "Hi", "--seed", "1", "--seed", "2"}) ==
        "--seed stands 2 times (expected it once)");
  CHECK(text_of({"generte", "Hi"}) == "there is no command \"generte\" (did you mean generate?)");
  CHECK(text_of({}).find("no command (expected up, down, ") == 0);
  CHECK(text_of({"detokenize", "m.gguf", "x"}) ==
        "ids cannot have that value (expected token ids)");
  CHECK(text_of({"--nonsense"}).find("troupe has no flag --nonsense") == 0);
}

TEST_CASE("flags that would do nothing are refused, with what would be right") {
  const Words local[] = {{"--threads", "2"},      {"--compute", "fast"},   {"--kv-type", "f16"},
                         {"--kv-type-k", "q8_0"}, {"--kv-type-v", "bf16"}, {"--kv-memory", "1GiB"},
                         {"--context-max", "100"}};
  for (const char* command : {"generate", "chat"}) {
    for (const Words& flag : local) {
      const std::string told = text_of({command, flag[0], flag[1]});
      INFO(told);
      CHECK(told.find(flag[0] + " means nothing without --model: a cluster takes it from its "
                                "manifest, ") == 0);
      CHECK(told.find("or give --model") != std::string::npos);
      CHECK(text_of({command, flag[0], flag[1], "--model", "m.gguf"}) == "taken");
    }
    CHECK(text_of({command, "--cluster", "c", "--model", "m"}).find("exclude one another") !=
          std::string::npos);
    for (const char* flag : {"--top-k", "--top-p", "--min-p"}) {
      CHECK(text_of({command, flag, "1"}).find(concat(flag, " means nothing at temperature 0")) ==
            0);
      CHECK(text_of({command, flag, "1", "--temperature", "0"}).find("temperature 0") !=
            std::string::npos);
      CHECK(text_of({command, flag, "1", "--temperature", "1"}) == "taken");
    }
    CHECK(text_of({command, "--min-tokens", "9", "--max-tokens", "8"}).find("more than") !=
          std::string::npos);
  }
  CHECK(text_of({"generate", "Hi", "--raw", "--system", "s"}).find("--raw and --system") == 0);
  CHECK(text_of({"generate", "--raw", "--token-ids", "1"}).find("--raw and --token-ids") == 0);
  CHECK(text_of({"generate", "--token-ids", "1", "--system", "s"}).find("--token-ids and") == 0);
  CHECK(text_of({"generate", "Hi", "--parse-special"}).find("without --raw") != std::string::npos);
  CHECK(text_of({"generate", "Hi", "--top-logprobs", "1"}).find("without --json") !=
        std::string::npos);
  CHECK(text_of({"generate", "Hi", "--top-logprobs", "1", "--json"}) == "taken");
  for (const char* flag : {"--n", "--top-logprobs", "--raw", "--json", "--explain"}) {
    CHECK(text_of({"chat", flag, "1"}).find("troupe chat has no flag ") == 0);
  }
}

TEST_CASE("node: what joins by hand, and what the supervisor starts") {
  const Words all = {"node", "--join", "h:1", "--name", "n", "--certs", "c", "--role", "router"};
  CHECK(text_of(all) == "taken");
  const auto with = [&](const Words& more) {
    Words words = all;
    words.insert(words.end(), more.begin(), more.end());
    return text_of(words);
  };
  CHECK(with({"--role", "decode"}).find("--model is missing") == 0);
  CHECK(with({"--role", "decode", "--model", "m.gguf"}) == "taken");
  CHECK(with({"--run-dir", "r"}).find("--join and --run-dir exclude one another") == 0);
  CHECK(with({"--no-tcp", "--no-shared-memory"}).find("leave no way for blocks") !=
        std::string::npos);
  CHECK(with({"--role", "directory"}) ==
        "--role is \"directory\" (expected router, front, prefill, decode or draft)");
  CHECK(text_of({"node", "--name", "n"}).find("neither --join nor --run-dir is given") == 0);
  CHECK(text_of({"node", "--join", "h:1"}).find("--name is missing") == 0);
  CHECK(text_of({"node", "--join", "h:1", "--name", "n"}).find("--role is missing") == 0);
  CHECK(text_of({"node", "--run-dir", "r", "--name", "n", "--threads", "2"}) ==
        "--threads means nothing with --run-dir (the manifest says it)");
  CHECK(text_of({"node", "--run-dir", "r", "--name", "n"}) == "taken");
}

TEST_CASE("certs: two words") {
  CHECK(text_of({"certs"}) == "troupe certs needs to know what to do (expected init or issue)");
  CHECK(text_of({"certs", "init", "f"}) ==
        "troupe certs init needs cluster (expected the cluster's "
        "name)");
  CHECK(text_of({"certs", "init", "f", "c"}) == "taken");
  CHECK(text_of({"certs", "issue", "f", "--host", "h", "n"})
            .find("--host means nothing without "
                  "--manifest") == 0);
}

}  // namespace
}  // namespace troupe::cli
