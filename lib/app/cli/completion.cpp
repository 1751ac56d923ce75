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
#include "traits/objectives.h"

namespace dtrain {
namespace {

struct Option {
  std::string name, description;  // "set", "Override a field"
  bool takes_value = false;
  bool takes_path = false;
  std::vector<std::string> values = {};  // that it accepts; empty: any
};

struct Command {
  std::string name;  // "run", "data check"; empty: the program, with the options before a command
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

Option option_named(const std::string& name, CLI::Option& option) {
  Option described{name, option.get_description(), option.get_items_expected_max() > 0};
  const std::string type = option.get_type_name();
  for (const char* path : {"FILE", "FOLDER", "DIR", "PATH", "RUN"})
    described.takes_path = described.takes_path || type.find(path) != std::string::npos;
  described.values = values_of(option);
  if (name == "metric") described.values = metric_names();
  return described;
}

// `name` with its options, and each of its own commands.
void add_command(CLI::App& app, const std::string& name, std::vector<Command>& commands) {
  Command command{name, app.get_description(), {}};
  for (CLI::Option* option : app.get_options()) {
    if (option->get_group().empty()) continue;  // hidden
    for (const std::string& word : option->get_lnames())
      command.options.push_back(option_named(word, *option));
  }
  commands.push_back(std::move(command));
  for (CLI::App* part : app.get_subcommands(is_visible))
    add_command(*part, name.empty() ? part->get_name() : name + " " + part->get_name(), commands);
}

// The program first.
std::vector<Command> visible_commands(CLI::App& app) {
  std::vector<Command> commands;
  add_command(app, "", commands);
  return commands;
}

bool is_first_word(const Command& command) {
  return !command.name.empty() && command.name.find(' ') == std::string::npos;
}

std::vector<std::string> first_words(const std::vector<Command>& commands) {
  std::vector<std::string> words;
  for (const Command& command : commands) {
    if (is_first_word(command)) words.push_back(command.name);
  }
  return words;
}

// What the first argument of a command may be, where that is one of a few words.
std::vector<std::pair<std::string, std::vector<std::string>>> first_arguments(
    const std::vector<Command>& commands) {
  return {{"completion", completion_shells()},
          {"configs", names_of_rows(shipped_configs())},
          {"bench", {"allreduce"}},
          {"data", {"check", "pack", "show"}},
          {"manual", first_words(commands)}};
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
  std::vector<std::string> paths, others;  // options with such values
  const auto add_values = [&](const std::string& name, const std::vector<std::string>& words) {
    if (!words.empty()) values += fmt::format("    '{}') echo \"{}\" ;;\n", name, join(words, " "));
  };
  std::vector<std::string> settable;
  for (const auto& field : job_fields()) {
    add_values(field.path, values_of(field));
    settable.push_back(field.path + "=");
  }
  for (const Command& command : commands) {
    std::vector<std::string> words =
        command.name.empty() ? first_words(commands) : std::vector<std::string>();
    for (const Option& option : command.options) {
      const std::string name = command.name + " --" + option.name;
      add_values(name, option.values);
      if (option.takes_value) (option.takes_path ? paths : others).push_back("'" + name + "'");
      words.push_back("--" + option.name);
    }
    options += fmt::format("    '{}') words=\"{}\" ;;\n", command.name, join(words, " "));
  }
  for (const auto& [command, words] : first_arguments(commands))
    arguments += fmt::format("    {}) words=\"$words {}\" ;;\n", command, join(words, " "));
  return filled(texts::completion_functions_bash, {{"VALUES", values},
                                                   {"OPTIONS", options},
                                                   {"ARGUMENTS", arguments},
                                                   {"PATHS", join(paths, "|")},
                                                   {"OTHERS", join(others, "|")},
                                                   {"SETTABLE", join(settable, " ")},
                                                   {"REMOVABLE", join(removable_paths(), " ")}});
}

std::string in_single_quotes(const std::string& text) {
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' || c == '\\' ? std::string("\\") + c : std::string(1, c);
  return quoted + "'";
}

// When the options of this command are offered.
std::string fish_condition(const std::string& command) {
  if (command.empty()) return "__dtrain_needs_command";
  std::vector<std::string> seen;
  for (const std::string& word : split(command, ' ')) seen.push_back("__fish_seen_subcommand_from " + word);
  return join(seen, "; and ");
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
    if (is_first_word(command))
      script += fmt::format("complete -c dtrain -n __dtrain_needs_command -f -a {} -d {}\n", command.name,
                            in_single_quotes(command.description));
    const std::string where = fish_condition(command.name);
    for (const Option& option : command.options) {
      const std::string values = option.name == "set" || option.name == "try" ? "(__dtrain_settings)"
                                 : option.name == "unset"                     ? "(__dtrain_fields)"
                                                                              : join(option.values, " ");
      const char* const value = !option.takes_value                    ? ""
                                : values.empty() && !option.takes_path ? " -x"
                                                                       : " -r";
      script +=
          fmt::format("complete -c dtrain -n '{}' -l {}{}{} -d {}\n", where, option.name, value,
                      values.empty() ? "" : " -f -a '" + values + "'", in_single_quotes(option.description));
    }
  }
  for (const auto& [command, arguments] : first_arguments(commands))
    script +=
        fmt::format("complete -c dtrain -n '{}' -f -a '{}'\n", fish_condition(command), join(arguments, " "));
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
