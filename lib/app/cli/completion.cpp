#include <fmt/format.h>

#include <set>
#include <utility>

#include "cli/options.h"
#include "cli/texts.h"
#include "core/error.h"
#include "core/named.h"
#include "core/text.h"
#include "documentation/first_job.h"
#include "spec/fields.h"

namespace dtrain {
namespace {

struct Option {
  std::string name, description;  // "set", "Override a field"
  bool takes_value = false;
  std::vector<std::string> values = {};  // that it accepts; empty: any
};

struct Command {
  std::string name;
  std::string description;
  std::vector<Option> options;
};

// Of an option that CLI::IsMember checks, whose description is "{a,b,c}".
std::vector<std::string> values_of(CLI::Option& option) {
  try {
    const std::string text = option.get_validator(0)->get_description();
    if (text.size() > 2 && text.front() == '{') return split(text.substr(1, text.size() - 2), ',');
  } catch (const CLI::OptionNotFound&) {  // it has no validator
  }
  return {};
}

// Adds the options that `app` has and `command` has not yet.
void add_options_of(CLI::App& app, Command& command) {
  for (CLI::Option* option : app.get_options()) {
    if (option->get_group().empty()) continue;  // hidden
    for (const std::string& name : option->get_lnames()) {
      const bool known =
          std::ranges::any_of(command.options, [&name](const Option& other) { return other.name == name; });
      if (known) continue;
      command.options.push_back(
          {name, option->get_description(), option->get_items_expected_max() > 0, values_of(*option)});
    }
  }
}

std::vector<Command> visible_commands(CLI::App& app) {
  std::vector<Command> commands;
  for (CLI::App* sub : app.get_subcommands(is_visible)) {
    Command command{sub->get_name(), sub->get_description(), {}};
    add_options_of(*sub, command);
    for (CLI::App* part : sub->get_subcommands([](CLI::App*) { return true; }))
      add_options_of(*part, command);
    commands.push_back(std::move(command));
  }
  return commands;
}

// What the first argument of a command may be, where that is one of a few words.
std::vector<std::pair<std::string, std::vector<std::string>>> first_arguments() {
  return {{"completion", completion_shells()},
          {"configs", names_of_rows(shipped_configs())},
          {"bench", {"allreduce"}},
          {"data", {"check", "pack", "show"}}};
}

// The names of options or commands, each after `begin`.
template <class Named>
std::string words_of(const std::vector<Named>& all, const std::string& begin = "") {
  std::vector<std::string> words;
  for (const Named& one : all) words.push_back(begin + one.name);
  return join(words, " ");
}

// The words that a field accepts; empty if it accepts more than a few words.
std::vector<std::string> values_of(const Field<JobSpec>& field) {
  std::vector<std::string> values;
  if (field.choices) values = field.choices->built;
  if (std::holds_alternative<MemberOf<JobSpec, bool>>(field.member)) values = {"true", "false"};
  for (const std::string& word : field.words()) values.push_back(word);
  return values;
}

// The fields and the sections around them.
std::vector<std::string> removable_paths() {
  std::set<std::string> paths;
  for (const auto& field : job_fields()) {
    for (size_t end = field.path.size(); end != std::string::npos; end = field.path.rfind('.', end - 1))
      paths.insert(field.path.substr(0, end));
  }
  return {paths.begin(), paths.end()};
}

// The functions for bash and for zsh (through bashcompinit, which has no mapfile).
std::string bash_functions(const std::vector<Command>& commands) {
  std::string values, options, arguments;
  const auto add_values = [&](const std::string& name, const std::vector<std::string>& words) {
    if (!words.empty()) values += fmt::format("    '{}') echo \"{}\" ;;\n", name, join(words, " "));
  };
  std::vector<std::string> settable;
  for (const auto& field : job_fields()) {
    add_values(field.path, values_of(field));
    settable.push_back(field.path + "=");
  }
  options = "    '') words=\"" + words_of(commands) + " --help --version\" ;;\n";
  for (const Command& command : commands) {
    for (const Option& option : command.options)
      add_values(command.name + " --" + option.name, option.values);
    options += fmt::format("    {}) words=\"{}\" ;;\n", command.name, words_of(command.options, "--"));
  }
  for (const auto& [command, words] : first_arguments())
    arguments += fmt::format("    {}) words=\"$words {}\" ;;\n", command, join(words, " "));
  return filled(texts::completion_functions_bash, {{"VALUES", values},
                                                   {"OPTIONS", options},
                                                   {"ARGUMENTS", arguments},
                                                   {"SETTABLE", join(settable, " ")},
                                                   {"REMOVABLE", join(removable_paths(), " ")}});
}

std::string in_single_quotes(const std::string& text) {
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' || c == '\\' ? std::string("\\") + c : std::string(1, c);
  return quoted + "'";
}

std::string fish_script(const std::vector<Command>& commands) {
  std::vector<std::string> settings;
  for (const auto& field : job_fields()) {
    const std::vector<std::string> values = values_of(field);
    for (const std::string& value : values) settings.push_back(field.path + "=" + value);
    if (values.empty()) settings.push_back(field.path + "=");
  }
  std::string script = filled(texts::completion_fish, {{"SETTINGS", join(settings, " ")},
                                                       {"REMOVABLE", join(removable_paths(), " ")}});
  for (const Command& command : commands) {
    script += fmt::format("complete -c dtrain -n __fish_use_subcommand -f -a {} -d {}\n", command.name,
                          in_single_quotes(command.description));
    for (const Option& option : command.options) {
      const std::string values = option.name == "set" || option.name == "try" ? "(__dtrain_settings)"
                                 : option.name == "unset"                     ? "(__dtrain_fields)"
                                                                              : join(option.values, " ");
      script +=
          fmt::format("complete -c dtrain -n '__fish_seen_subcommand_from {}' -l {}{}{} -d {}\n",
                      command.name, option.name, option.takes_value ? " -r" : "",
                      values.empty() ? "" : " -f -a '" + values + "'", in_single_quotes(option.description));
    }
  }
  for (const auto& [command, arguments] : first_arguments())
    script += fmt::format("complete -c dtrain -n '__fish_seen_subcommand_from {}' -f -a '{}'\n", command,
                          join(arguments, " "));
  return script;
}

}  // namespace

const std::vector<std::string>& completion_shells() {
  static const std::vector<std::string> shells = {"bash", "zsh", "fish"};
  return shells;
}

std::string completion_script(CLI::App& app, const std::string& shell) {
  const std::vector<Command> commands = visible_commands(app);
  if (shell == "bash") return filled(texts::completion_bash, {{"FUNCTIONS", bash_functions(commands)}});
  if (shell == "zsh") return filled(texts::completion_zsh, {{"FUNCTIONS", bash_functions(commands)}});
  if (shell == "fish") return fish_script(commands);
  throw Error(ExitCode::kUsage, "unknown shell '{}'{} (known: {})", printable(shell, 60),
              did_you_mean(shell, completion_shells()), join(completion_shells()));
}

}  // namespace dtrain
