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
  std::string cases;
  for (const Command& command : commands) {
    cases += fmt::format("    {}) words=\"{}\" ;;\n", command.name, join(command.options, " "));
  }
  return fmt::format(R"(# bash completion of dtrain: eval "$(dtrain completion bash)"
_dtrain() {
    {
      local word = "${{COMP_WORDS[COMP_CWORD]}}" words = "" case "${{COMP_WORDS[1]}}" in {}    completion) words="bash zsh fish" ;
      ;
      esac if["$COMP_CWORD" - eq 1];
      then words = "{} --help --version" fi if["$COMP_CWORD" - eq 1] || [["$word" == -*]] ||
                   ["${{COMP_WORDS[1]}}" = completion];
      then mapfile - t COMPREPLY < < (compgen - W "$words" --"$word") else mapfile - t COMPREPLY < <
          (compgen - f-- "$word") fi
    }}
complete -o filenames -F _dtrain dtrain
)",
                     cases, names(commands));
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
