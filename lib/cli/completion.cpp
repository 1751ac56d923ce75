#include "cli/completion.h"

#include <fmt/format.h>

#include <vector>

#include "core/text.h"

namespace dtrain {
namespace {

struct Command {
  std::string name;
  std::string description;
  std::vector<std::string> options;  // "--set"
};

std::vector<Command> visible_commands(const CLI::App& app) {
  std::vector<Command> commands;
  for (const CLI::App* sub :
       app.get_subcommands([](const CLI::App* candidate) { return !candidate->get_group().empty(); })) {
    Command command{sub->get_name(), sub->get_description(), {}};
    for (const CLI::Option* option : sub->get_options()) {
      for (const std::string& name : option->get_lnames()) command.options.push_back("--" + name);
    }
    commands.push_back(std::move(command));
  }
  return commands;
}

std::string names(const std::vector<Command>& commands) {
  std::vector<std::string> all;
  for (const Command& command : commands) all.push_back(command.name);
  return join(all, " ");
}

std::string bash_script(const std::vector<Command>& commands) {
  std::string script = R"script(# bash completion of dtrain: eval "$(dtrain completion bash)"
_dtrain() {
  local word="${COMP_WORDS[COMP_CWORD]}" command="${COMP_WORDS[1]}" words=""
  case "$command" in
)script";
  for (const Command& command : commands) {
    script += "    " + command.name + ") words=\"" + join(command.options, " ") + "\" ;;\n";
  }
  script += R"script(  esac
  if [ "$command" = completion ]; then words="$words bash zsh fish"; fi
)script";
  script += "  if [ \"$COMP_CWORD\" -eq 1 ]; then words=\"" + names(commands) + " --help --version\"; fi\n";
  script += R"script(  if [ "$COMP_CWORD" -eq 1 ] || [ "$command" = completion ] || [[ "$word" == -* ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
  else
    mapfile -t COMPREPLY < <(compgen -f -- "$word")
  fi
}
complete -o filenames -F _dtrain dtrain
)script";
  return script;
}

std::string zsh_script(const std::vector<Command>& commands) {
  return "# zsh completion of dtrain: eval \"$(dtrain completion zsh)\"\nautoload -U +X bashcompinit && "
         "bashcompinit\n" +
         bash_script(commands);
}

std::string fish_script(const std::vector<Command>& commands) {
  std::string script = "# fish completion of dtrain: dtrain completion fish | source\n";
  for (const Command& command : commands) {
    script += fmt::format("complete -c dtrain -n __fish_use_subcommand -f -a {} -d '{}'\n", command.name,
                          command.description);
    for (const std::string& option : command.options) {
      script += fmt::format("complete -c dtrain -n '__fish_seen_subcommand_from {}' -l {}\n", command.name,
                            option.substr(2));
    }
  }
  return script;
}

}  // namespace

std::string completion_script(const CLI::App& app, const std::string& shell) {
  const std::vector<Command> commands = visible_commands(app);
  if (shell == "zsh") return zsh_script(commands);
  if (shell == "fish") return fish_script(commands);
  return bash_script(commands);
}

}  // namespace dtrain
