#include "cli/parse_errors.hpp"

#include <algorithm>

#include "base/concat.hpp"
#include "cli/flags.hpp"
#include "launch/nearest.hpp"

namespace troupe::cli {
namespace {

/// Without their dashes, which would make every two of them alike.
std::vector<std::string> flags_of(const CLI::App& command) {
  std::vector<std::string> words;
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : option->get_lnames()) words.push_back(name);
  }
  return words;
}

std::vector<std::string> commands_of(const CLI::App& app) {
  std::vector<std::string> words;
  for (const CLI::App* command : app.get_subcommands({})) words.push_back(command->get_name());
  return words;
}

Error wrong(std::string what, std::string hint) {
  return error(Code::invalid_argument, std::move(what), std::move(hint));
}

std::string meaning_of(const CLI::App& command, const std::string& name) {
  const CLI::Option* option = command.get_option_no_throw(name);
  return option == nullptr ? std::string() : option->get_description();
}

/// A word that no flag and no argument of the command takes.
Error unexpected(const CLI::App& app, const std::string& word) {
  const CLI::App& command = chosen_command(app);
  if (!word.starts_with('-')) {
    return wrong(concat(full_name(command), " does not expect ", launch::in_quotes(word)),
                 "a text of several words needs quotes around it");
  }
  const std::string flag = word.substr(0, word.find('='));
  const std::string name = flag.substr(std::min(flag.find_first_not_of('-'), flag.size()));
  const std::string near = launch::nearest(name, flags_of(command));
  return wrong(concat(full_name(command), " has no flag ", flag),
               near.empty() ? "" : concat("did you mean --", near, "?"));
}

/// A flag without a value, or with too many.
Error wrong_count(const CLI::App& app, const std::string& name,
                  const std::vector<std::string>& words) {
  const auto times = std::ranges::count_if(
      words, [&](const std::string& word) { return word == name || word.starts_with(name + "="); });
  if (times > 1) return wrong(concat(name, " stands ", times, " times"), "expected it once");
  return wrong(concat(name, " has no value"),
               concat("expected ", meaning_of(chosen_command(app), name)));
}

}  // namespace

const CLI::App& chosen_command(const CLI::App& app) {
  const auto chosen = app.get_subcommands();
  return chosen.empty() ? app : chosen_command(*chosen.front());
}

std::string full_name(const CLI::App& command) {
  const CLI::App* above = command.get_parent();
  return above == nullptr ? command.get_name() : full_name(*above) + " " + command.get_name();
}

Error in_our_words(const CLI::App& app, const CLI::ParseError& e,
                   const std::vector<std::string>& words) {
  if (const auto* flag = dynamic_cast<const FlagError*>(&e)) return flag->error();
  const CLI::App& command = chosen_command(app);
  const std::string what = e.what();
  if (&command == &app && !words.empty() && !words[0].starts_with('-')) {
    const auto names = commands_of(app);
    const std::string near = launch::nearest(words[0], names);
    return wrong(
        concat("there is no command ", launch::in_quotes(words[0])),
        near.empty() ? "expected " + launch::list_of(names) : concat("did you mean ", near, "?"));
  }
  if (&command == &app) {
    if (!words.empty()) return unexpected(app, words[0]);
    return wrong("no command", "expected " + launch::list_of(commands_of(app)));
  }
  // The library names what it stumbled over at the beginning or at the end of its sentence.
  if (dynamic_cast<const CLI::ExtrasError*>(&e) != nullptr) {
    const auto extras = app.remaining(true);
    if (!extras.empty()) return unexpected(app, extras.front());
  }
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&e) != nullptr) {
    return wrong_count(app, what.substr(0, what.find(':')), words);
  }
  if (dynamic_cast<const CLI::RequiredError*>(&e) != nullptr) {
    const std::string name = what.substr(0, what.find(' '));
    if (name == "A") {
      return wrong(concat(full_name(command), " needs to know what to do"),
                   "expected " + launch::list_of(commands_of(command)));
    }
    return wrong(concat(full_name(command), " needs ", name),
                 concat("expected ", meaning_of(command, name)));
  }
  std::string named;  // the longest, as --n is the beginning of others
  for (const CLI::Option* option : command.get_options()) {
    const std::string name = option->get_name();  // with its dashes, if it has any
    if (what.find(name) != std::string::npos && name.size() > named.size()) named = name;
  }
  if (!named.empty()) {
    return wrong(concat(named, " cannot have that value"),
                 concat("expected ", meaning_of(command, named)));
  }
  return wrong(what, "");
}

}  // namespace troupe::cli
