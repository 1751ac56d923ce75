#include "cli/completion.h"

#include <fmt/format.h>

#include "core/error.h"
#include "core/text.h"

namespace dtrain {
namespace {

struct Option {
  std::string name;  // "set"
  std::string description;
  bool takes_value = false;
};

struct Command {
  std::string name;
  std::string description;
  std::vector<Option> options;
};

std::vector<Command> visible_commands(const CLI::App& app) {
  std::vector<Command> commands;
  for (const CLI::App* sub :
       app.get_subcommands([](const CLI::App* candidate) { return !candidate->get_group().empty(); })) {
    Command command{sub->get_name(), sub->get_description(), {}};
    for (const CLI::Option* option : sub->get_options()) {
      for (const std::string& name : option->get_lnames())
        command.options.push_back({name, option->get_description(), option->get_items_expected_max() > 0});
    }
    commands.push_back(std::move(command));
  }
  return commands;
}

std::string option_words(const Command& command) {
  std::vector<std::string> words;
  for (const Option& option : command.options) words.push_back("--" + option.name);
  return join(words, " ");
}

std::string command_words(const std::vector<Command>& commands) {
  std::vector<std::string> words;
  for (const Command& command : commands) words.push_back(command.name);
  return join(words, " ");
}

// The function body for bash and for zsh (through bashcompinit, which has no mapfile).
std::string bash_function(const std::vector<Command>& commands) {
  std::string script = R"script(_dtrain() {
  local word="${COMP_WORDS[COMP_CWORD]}" command="${COMP_WORDS[1]}" words="" IFS=$' \t\n'
  if [ "$COMP_CWORD" -eq 1 ]; then command=""; fi
  case "$command" in
)script";
  script += "    '') words=\"" + command_words(commands) + " --help --version\" ;;\n";
  for (const Command& command : commands)
    script += "    " + command.name + ") words=\"" + option_words(command) + "\" ;;\n";
  script += "  esac\n";
  script += "  if [ \"$command\" = completion ]; then words=\"$words " + join(completion_shells(), " ") +
            "\"; fi\n";
  script += R"script(  if [ -z "$command" ] || [ "$command" = completion ] || [[ "$word" == -* ]]; then
    COMPREPLY=( $(compgen -W "$words" -- "$word") )
  else
    IFS=$'\n'
    COMPREPLY=( $(compgen -f -- "$word") )
  fi
}
)script";
  return script;
}

std::string bash_script(const std::vector<Command>& commands) {
  return "# bash completion of dtrain: eval \"$(dtrain completion bash)\"\n" + bash_function(commands) +
         "complete -o filenames -F _dtrain dtrain\n";
}

std::string zsh_script(const std::vector<Command>& commands) {
  return "# zsh completion of dtrain: eval \"$(dtrain completion zsh)\"\n"
         "(( $+functions[compdef] )) || { autoload -Uz compinit && compinit }\n"
         "autoload -Uz bashcompinit && bashcompinit\n" +
         bash_function(commands) + "complete -o filenames -F _dtrain dtrain\n";
}

std::string in_single_quotes(const std::string& text) {
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' || c == '\\' ? std::string("\\") + c : std::string(1, c);
  return quoted + "'";
}

std::string fish_script(const std::vector<Command>& commands) {
  std::string script = "# fish completion of dtrain: dtrain completion fish | source\n";
  for (const Command& command : commands) {
    script += fmt::format("complete -c dtrain -n __fish_use_subcommand -f -a {} -d {}\n", command.name,
                          in_single_quotes(command.description));
    for (const Option& option : command.options) {
      script +=
          fmt::format("complete -c dtrain -n '__fish_seen_subcommand_from {}' -l {}{} -d {}\n", command.name,
                      option.name, option.takes_value ? " -r" : "", in_single_quotes(option.description));
    }
  }
  script += fmt::format("complete -c dtrain -n '__fish_seen_subcommand_from completion' -f -a '{}'\n",
                        join(completion_shells(), " "));
  return script;
}

}  // namespace

const std::vector<std::string>& completion_shells() {
  static const std::vector<std::string> shells = {"bash", "zsh", "fish"};
  return shells;
}

std::string completion_script(const CLI::App& app, const std::string& shell) {
  const std::vector<Command> commands = visible_commands(app);
  if (shell == "bash") return bash_script(commands);
  if (shell == "zsh") return zsh_script(commands);
  if (shell == "fish") return fish_script(commands);
  throw Error(ExitCode::kUsage,
              fmt::format("unknown shell '{}'{} (known: {})", printable(shell, 60),
                          did_you_mean(shell, completion_shells()), join(completion_shells())));
}

}  // namespace dtrain
