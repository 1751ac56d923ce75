#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "cli/options.h"
#include "core/error.h"
#include "core/named.h"
#include "core/text.h"
#include "documentation/configs.h"
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

std::vector<std::string> settable_paths() {
  std::vector<std::string> paths;
  for (const auto& field : job_fields()) paths.push_back(field.path + "=");
  return paths;
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

// A function that prints the values of a field, or of a command's option ("export --format").
std::string values_function(const std::vector<Command>& commands) {
  std::string script = "_dtrain_values() {\n  case \"$1\" in\n";
  const auto add = [&](const std::string& name, const std::vector<std::string>& values) {
    if (!values.empty()) script += fmt::format("    '{}') echo \"{}\" ;;\n", name, join(values, " "));
  };
  for (const auto& field : job_fields()) add(field.path, values_of(field));
  for (const Command& command : commands) {
    for (const Option& option : command.options) add(command.name + " --" + option.name, option.values);
  }
  return script + "  esac\n}\n";
}

// The functions for bash and for zsh (through bashcompinit, which has no mapfile).
std::string bash_functions(const std::vector<Command>& commands) {
  std::string script = values_function(commands) + R"script(_dtrain() {
  local word="${COMP_WORDS[COMP_CWORD]}" command="${COMP_WORDS[1]}" words="" IFS=$' \t\n'
  local option="" name="" begin="" value="" values="" previous="${COMP_WORDS[COMP_CWORD-1]}"
  # OPTION VALUE, OPTION=VALUE and --set PATH=VALUE, which bash takes for three words and zsh for one.
  if [ "$COMP_CWORD" -ge 3 ]; then option="${COMP_WORDS[COMP_CWORD-1]}"; fi
  if [ "$COMP_CWORD" -ge 4 ] && { [ "$word" = = ] || [ "$option" = = ]; }; then
    if [ "$word" = = ]; then
      name="$option" option="${COMP_WORDS[COMP_CWORD-2]}" word=""
    else
      name="${COMP_WORDS[COMP_CWORD-2]}" option="${COMP_WORDS[COMP_CWORD-3]}"
    fi
  elif [[ "$word" == *=* ]]; then
    name="${word%%=*}" begin="${word%%=*}="
  fi
  if [[ "$name" == --* ]]; then option="$name" name=""; fi
  if [[ "$option" == --set || "$option" == --try ]] && [ -n "$name" ]; then
    values="$(_dtrain_values "$name")"
  elif [[ "$option" == --set || "$option" == --try ]]; then
    values=")script" + join(settable_paths(), " ") +
                       R"script("
    compopt -o nospace 2>/dev/null
  elif [ "$option" = --unset ]; then
    values=")script" + join(removable_paths(), " ") +
                       R"script("
  else
    values="$(_dtrain_values "$command $option")"
  fi
  if [ -n "$values" ]; then
    for value in $values; do words="$words $begin$value"; done
    compopt +o filenames 2>/dev/null
    COMPREPLY=( $(compgen -W "$words" -- "$word") )
    return
  fi
  if [ "$COMP_CWORD" -eq 1 ]; then command=""; fi
  case "$command" in
)script";
  script += "    '') words=\"" + words_of(commands) + " --help --version\" ;;\n";
  for (const Command& command : commands)
    script += "    " + command.name + ") words=\"" + words_of(command.options, "--") + "\" ;;\n";
  script += "  esac\n";
  script += "  case \"$command\" in\n";
  for (const auto& [command, arguments] : first_arguments())
    script += fmt::format("    {}) words=\"$words {}\" ;;\n", command, join(arguments, " "));
  script += R"script(  esac
  case "$command" in
    configs|data) if [ "$COMP_CWORD" -eq 2 ]; then option=-; else option=files; fi ;;
    ''|completion|manual|bench) option=- ;;
    eval|export|inspect|compare|report) option=runs ;;
    predict) if [ "$COMP_CWORD" -eq 2 ]; then option=runs; else option=files; fi ;;
    *) option=files ;;
  esac
  case "$previous" in --out) option=files ;; esac
  if [ "$option" = - ] || [[ "$word" == -* ]]; then
    COMPREPLY=( $(compgen -W "$words" -- "$word") )
  elif [ "$option" = runs ]; then
    IFS=$'\n'
    if [ -z "$word" ] && [ -d runs ]; then word=runs/; fi
    COMPREPLY=( $(compgen -d -- "$word") )
    # Of a run's folder, its checkpoints.
    if [ -d "${word%/}/checkpoints" ]; then COMPREPLY+=( $(compgen -d -- "${word%/}/checkpoints/") ); fi
  else
    IFS=$'\n'
    COMPREPLY=( $(compgen -f -- "$word") )
  fi
}
)script";
  return script;
}

std::string bash_script(const std::vector<Command>& commands) {
  return "# bash completion of dtrain: eval \"$(dtrain completion bash)\"\n" + bash_functions(commands) +
         "complete -o filenames -F _dtrain dtrain\n";
}

std::string zsh_script(const std::vector<Command>& commands) {
  // As a file of $fpath this is the function _dtrain, and its last line makes the first call.
  return "#compdef dtrain\n"
         "# zsh completion of dtrain: eval \"$(dtrain completion zsh)\"\n"
         "(( $+functions[compdef] )) || { autoload -Uz compinit && compinit }\n"
         "autoload -Uz bashcompinit && bashcompinit\n" +
         bash_functions(commands) +
         "complete -o filenames -F _dtrain dtrain\n"
         "[ \"${funcstack[1]}\" != _dtrain ] || _bash_complete -o filenames -F _dtrain\n";
}

std::string in_single_quotes(const std::string& text) {
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' || c == '\\' ? std::string("\\") + c : std::string(1, c);
  return quoted + "'";
}

std::string fish_script(const std::vector<Command>& commands) {
  std::string script = "# fish completion of dtrain: dtrain completion fish | source\n";
  std::vector<std::string> settings;
  for (const auto& field : job_fields()) {
    const std::vector<std::string> values = values_of(field);
    for (const std::string& value : values) settings.push_back(field.path + "=" + value);
    if (values.empty()) settings.push_back(field.path + "=");
  }
  script += "function __dtrain_settings\n  printf '%s\\n' " + join(settings, " ") + "\nend\n";
  script += "function __dtrain_fields\n  printf '%s\\n' " + join(removable_paths(), " ") + "\nend\n";
  script +=
      "function __dtrain_runs\n  set -l folders runs/*/ runs/*/checkpoints/*/\n  printf '%s\\n' "
      "$folders\nend\n"
      "complete -c dtrain -n '__fish_seen_subcommand_from eval export inspect predict compare report' "
      "-a '(__dtrain_runs)'\n";
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
  if (shell == "bash") return bash_script(commands);
  if (shell == "zsh") return zsh_script(commands);
  if (shell == "fish") return fish_script(commands);
  throw Error(ExitCode::kUsage, "unknown shell '{}'{} (known: {})", printable(shell, 60),
              did_you_mean(shell, completion_shells()), join(completion_shells()));
}

}  // namespace dtrain
