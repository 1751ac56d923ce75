#include "cli/cli.h"

#include <fmt/format.h>
#include <torch/headeronly/version.h>

#include <CLI/CLI.hpp>
#include <iostream>

#include "cli/commands.h"
#include "cli/completion.h"
#include "core/memory.h"
#include "core/text.h"
#include "core/version.h"
#include "train/failure.h"

namespace dtrain {
namespace {

constexpr const char* kExitCodes =
    "Exit codes: 0 done; 2 bad usage or spec; 3 bad data; 4 peer lost or timeout; 5 out of memory;\n"
    "6 diverged; 7 no usable checkpoint; 75 stopped by a signal; 1 a bug in dtrain.";

// What the command line asked for: the options of every subcommand and what to do once all is parsed.
struct CommandLine {
  CLI::App app{
      "dtrain: a native distributed trainer. A YAML job spec in, a trained model and its numbers out."};
  RunOptions run;
  SpecOptions plan;
  std::vector<std::string> specs;
  std::vector<std::string> overrides;
  std::string replica_spec;
  std::string replica_run;
  std::string shell;
  bool json = false;
  bool markdown = false;
  std::function<ExitCode()> action;

  CommandLine();

 private:
  void add_run();
  void add_validate();
  void add_plan();
  void add_schema();
  void add_completion();
  void add_replica();
};

CLI::Option* add_spec(CLI::App* command, std::string& spec) {
  return command->add_option("spec", spec, "The job spec (YAML)")->required()->type_name("SPEC");
}

void add_overrides(CLI::App* command, std::vector<std::string>& overrides) {
  command
      ->add_option("--set", overrides,
                   "Override a field, for instance --set train.epochs=3; repeatable, the later wins")
      ->type_name("PATH=VALUE")
      ->allow_extra_args(false);
}

CommandLine::CommandLine() {
  app.set_version_flag("--version", fmt::format("dtrain {} (LibTorch {})", kVersion, TORCH_VERSION));
  app.footer(std::string("Start with: dtrain run configs/mnist_mirrored.yaml\n\n") + kExitCodes);
  app.require_subcommand(0, 1);
  add_run();
  add_validate();
  add_plan();
  add_schema();
  add_completion();
  add_replica();
}

void CommandLine::add_run() {
  CLI::App* command =
      app.add_subcommand("run", "Train: the baseline if the spec has one, then the job, compared");
  add_spec(command, run.spec.spec);
  add_overrides(command, run.spec.overrides);
  command->add_option("--run-dir", run.run_directory, "Folder of the run (default: runs/<name>-<time>)")
      ->type_name("DIR");
  command->add_flag("--overwrite", run.overwrite, "Replace the run that --run-dir holds");
  command->add_flag("--quiet", run.quiet, "Print only the comparison and failures");
  command->add_flag("--json", run.json, "Print every event as a line of JSON instead");
  command->footer(kExitCodes);
  command->callback([this] {
    if (run.overwrite && !run.run_directory) {
      throw CLI::ValidationError("--overwrite", "needs --run-dir: without it every run gets a new folder");
    }
    action = [this] { return run_command(run); };
  });
}

void CommandLine::add_validate() {
  CLI::App* command = app.add_subcommand("validate", "Check specs and list every problem; starts nothing");
  command->add_option("spec", specs, "The job specs (YAML)")->required()->type_name("SPEC");
  add_overrides(command, overrides);
  command->add_flag("--json", json, "Print the problems as JSON");
  command->callback([this] { action = [this] { return validate_command(specs, overrides, json); }; });
}

void CommandLine::add_plan() {
  CLI::App* command = app.add_subcommand(
      "plan", "Show every resolved number: batches, learning rate, steps, parameters; starts nothing");
  add_spec(command, plan.spec);
  add_overrides(command, plan.overrides);
  command->add_flag("--json", json, "Print the plan as JSON");
  command->callback([this] { action = [this] { return plan_command(plan, json); }; });
}

void CommandLine::add_schema() {
  CLI::App* command = app.add_subcommand("schema", "Print the JSON Schema of job specs, for editors");
  command->add_flag("--markdown", markdown, "Print the reference (docs/spec.md) instead");
  command->callback([this] { action = [this] { return schema_command(markdown); }; });
}

void CommandLine::add_completion() {
  CLI::App* command =
      app.add_subcommand("completion", "Print a completion script: eval \"$(dtrain completion bash)\"");
  command->add_option("shell", shell, "bash, zsh or fish")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh", "fish"}))
      ->type_name("SHELL");
  command->callback([this] {
    action = [this] {
      std::cout << completion_script(app, shell);
      return ExitCode::kDone;
    };
  });
}

void CommandLine::add_replica() {
  CLI::App* command = app.add_subcommand("replica", "One replica process; started by dtrain run");
  command->group("");  // hidden
  add_spec(command, replica_spec);
  command->add_option("--run", replica_run)->required();
  command->callback([this] { action = [this] { return replica_command(replica_spec, replica_run); }; });
}

// The first word when it is no subcommand: CLI11 would only say that it was not expected.
std::optional<std::string> unknown_command(const CLI::App& app, int argc, char** argv) {
  if (argc < 2 || argv[1][0] == '-') return std::nullopt;
  std::vector<std::string> known;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (command->get_name() == argv[1]) return std::nullopt;
    if (!command->get_group().empty()) known.push_back(command->get_name());
  }
  return fmt::format("unknown command '{}'{} (commands: {})", printable(argv[1]),
                     did_you_mean(argv[1], known), join(known));
}

ExitCode parse_and_run(int argc, char** argv) {
  CommandLine line;
  if (const auto problem = unknown_command(line.app, argc, argv)) throw Error(ExitCode::kUsage, *problem);
  try {
    line.app.parse(argc, argv);
  } catch (const CLI::Success& success) {  // --help, --version
    line.app.exit(success);
    return ExitCode::kDone;
  } catch (const CLI::ParseError& error) {
    throw Error(ExitCode::kUsage, std::string(error.what()) + "; see dtrain --help");
  }
  if (!line.action) {
    std::cerr << line.app.help();
    return ExitCode::kUsage;
  }
  return line.action();
}

}  // namespace

int run_command_line(int argc, char** argv) {
  keep_freed_memory();
  ExitCode code = ExitCode::kBug;
  try {
    code = parse_and_run(argc, argv);
  } catch (...) {
    const Failure failure = describe_current_exception();
    code = failure.code;
    std::cerr << "dtrain: " << failure.message << std::endl;
    if (code == ExitCode::kBug)
      std::cerr << "This is a bug in dtrain; please report it with the spec." << std::endl;
  }
  std::cout.flush();
  return static_cast<int>(code);
}

}  // namespace dtrain
