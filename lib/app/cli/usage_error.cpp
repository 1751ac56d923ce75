#include <fmt/format.h>

#include <filesystem>

#include "cli/options.h"
#include "core/text.h"
#include "spec/fields.h"

namespace dtrain {
namespace {

bool is_option(const std::string& word) { return word.size() > 1 && word[0] == '-' && word != "--"; }

const CLI::App& innermost(const CLI::App& app) {
  const auto commands = app.get_subcommands();
  return commands.empty() ? app : innermost(*commands.front());
}

// "data check"
std::string path_of(const CLI::App& command, const CLI::App& app) {
  const CLI::App* parent = command.get_parent();
  return parent == nullptr || parent == &app ? command.get_name()
                                             : path_of(*parent, app) + " " + command.get_name();
}

// The field that a user means by --epochs or --learning-rate; empty if there is none.
std::string field_named(std::string name) {
  name.erase(0, name.find_first_not_of('-'));
  std::replace(name.begin(), name.end(), '-', '_');
  name = usual_name(name);
  const auto depth = [](const std::string& path) { return std::ranges::count(path, '.'); };
  std::string named;  // the one that is least deep in the spec
  for (const auto& field : job_fields()) {
    if (field.path == name) return name;
    if (field.path.substr(field.path.rfind('.') + 1) != name) continue;
    if (named.empty() || depth(field.path) < depth(named)) named = field.path;
  }
  return named;
}

// A suggestion for an option that `command` does not have.
std::string option_advice(const CLI::App& command, const std::string& name) {
  std::vector<std::string> known;
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& long_name : option->get_lnames()) known.push_back("--" + long_name);
  }
  const std::string meant = did_you_mean(name, known);
  if (!meant.empty()) return meant;
  const std::string field = command.get_option_no_throw("--set") != nullptr ? field_named(name) : "";
  if (!field.empty()) return fmt::format("; a field of the spec is set with --set {}=VALUE", field);
  return "";
}

// The first unknown option if there is one, else the first argument left over after parsing, or "".
std::string left_over(const CLI::App& app) {
  std::vector<std::string> words = app.remaining(true);
  std::erase(words, "--");
  const auto option = std::ranges::find_if(words, is_option);
  if (option != words.end()) return *option;
  return words.empty() ? "" : words.front();
}

// The names of its commands, without hidden ones.
std::vector<std::string> commands_of(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands(is_visible)) names.push_back(command->get_name());
  return names;
}

// Words that other programs have for a command.
const std::map<std::string, std::string> kOtherWords = {
    {"train", "run"},      {"fit", "run"},          {"resume", "run"},    {"test", "eval"},
    {"evaluate", "eval"},  {"score", "eval"},       {"infer", "predict"}, {"inference", "predict"},
    {"check", "validate"}, {"examples", "configs"}, {"new", "init"},      {"convert", "export"}};

std::string explain_left_over(const CLI::App& command, const std::string& word) {
  if (is_option(word)) {
    const std::string name = word.substr(0, word.find('='));
    if (command.get_option_no_throw(name) != nullptr)
      return fmt::format("{} goes after the command, before any --", printable(name, 60));
    return fmt::format("unknown option '{}'{}", printable(name, 60), option_advice(command, name));
  }
  const std::vector<std::string> parts = commands_of(command);
  if (!parts.empty())
    return fmt::format("unknown command '{}'; known: {}{}", printable(word, 200), join(parts),
                       did_you_mean(word, parts));
  const bool is_assignment =
      word.find('=') != std::string::npos && command.get_option_no_throw("--set") != nullptr;
  return fmt::format("unexpected argument '{}'{}", printable(word, 200),
                     is_assignment ? "; every field needs its own --set" : "");
}

std::string without_dashes(const std::string& name) {
  return name.substr(std::min(name.find_first_not_of('-'), name.size()));
}

// The option that the message of `error` begins with, or nullptr.
const CLI::Option* option_of(const CLI::App& command, const CLI::ParseError& error) {
  const std::string text = error.what();
  const std::string first = without_dashes(text.substr(0, text.find_first_of(": ")));
  for (const CLI::Option* option : command.get_options()) {
    if (without_dashes(option->get_name()) == first) return option;
  }
  return nullptr;
}

std::string explain_option(const CLI::Option& option, const CLI::ParseError& error) {
  const std::string name = option.get_name();
  if (error.get_name() == "RequiredError") return name + " is missing";
  if (error.get_name() != "ArgumentMismatch") return error.what();
  if (option.get_items_expected_max() == 0) return name + " takes no value";
  const int most = option.get_items_expected_max();
  if (most == 1 && option.results().size() > 1) return name + " is given more than once";
  if (std::ssize(option.results()) > most)
    return fmt::format("{} is given {} times; at most {} are taken", name, option.results().size(), most);
  return fmt::format("{} needs a value: {} {}", name, name, option.get_type_name());
}

}  // namespace

std::string usage_error(const CLI::App& app, const CLI::ParseError& error) {
  const CLI::App& command = innermost(app);
  const std::string called =
      &command == &app ? app.get_name() : fmt::format("{} {}", app.get_name(), path_of(command, app));
  const std::string word = left_over(app);
  const CLI::Option* option = option_of(command, error);
  const std::string why = !word.empty()       ? explain_left_over(command, word)
                          : option != nullptr ? explain_option(*option, error)
                                              : error.what();
  return fmt::format("{} (see {} --help)", why, called);
}

std::optional<std::string> unknown_command(const CLI::App& app, int argc, char** argv) {
  if (argc < 2 || argv[1][0] == '-') return std::nullopt;
  const std::string word = argv[1];
  const auto is_it = [&word](const CLI::App* command) { return command->get_name() == word; };
  if (!app.get_subcommands(is_it).empty()) return std::nullopt;
  const std::vector<std::string> known = commands_of(app);
  const auto other = kOtherWords.find(word);
  const std::string extension = std::filesystem::path(word).extension();
  const std::string meant = extension == ".yaml" || extension == ".yml"
                                ? fmt::format("; to train it: dtrain run {}", printable(word))
                                : did_you_mean(other == kOtherWords.end() ? word : other->second, known);
  return fmt::format("unknown command '{}'{} (commands: {}; see dtrain --help)", printable(word), meant,
                     join(known));
}

}  // namespace dtrain
