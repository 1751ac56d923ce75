#include "cli/cli.h"

#include <fmt/format.h>
#include <torch/headeronly/version.h>

#include <filesystem>
#include <iostream>

#include "addresses/fetched_files.h"
#include "cli/options.h"
#include "commands/shared.h"
#include "core/exit_codes.h"
#include "core/files.h"
#include "core/signals.h"
#include "core/text.h"
#include "core/version.h"
#include "host/own_process.h"
#include "job_file/load.h"
#include "kernels/instructions.h"
#include "plugins/load_plugin.h"
#include "store/describe_exception.h"

namespace dtrain {
namespace {

constexpr int64_t kMostComponentBytes = 1'000'000;

// "dtrain 0.1.0 (LibTorch 2.11.0)"
std::string short_version() { return fmt::format("dtrain {} (LibTorch {})", kVersion, TORCH_VERSION); }

// The same with dtrain's licence, and the name, version and licence of every library inside this
// installation, which cmake/components.cmake has written beside it.
std::string long_version() {
  const std::filesystem::path components = own_program().parent_path() / "../share/doc/dtrain/COMPONENTS";
  std::string inside =
      "This program is not installed. It uses the libraries of this machine, which docs/dependencies.md "
      "lists.";
  if (std::filesystem::exists(components))
    inside = read_file(components, kMostComponentBytes, ExitCode::kUsage);
  while (!inside.empty() && inside.back() == '\n') inside.pop_back();
  return short_version() + "\nLicence: Apache-2.0\n\n" + inside;
}

void add_bench_options(CLI::App* command, BenchOptions& options) {
  AllReduceBench& bench = options.all_reduce;
  add_value(command, "--communication LIST", bench.communication,
            "Kinds of groups (default: gloo,shared_memory)")
      ->delimiter(',')
      ->check(CLI::IsMember({"gloo", "shared_memory"}));
  add_value(command, "--sizes SIZES", options.sizes,
            "Sizes of the tensor, for instance 8B,1MB or 8B..100MB:4 (default: 100B..100MB, times 10)")
      ->delimiter(',');
  add_value(command, "--iterations N", bench.iterations,
            "Timed iterations of each size (default: 10 to 200, by the size)")
      ->check(whole_numbers(0, 10'000));
  add_value(command, "--dtype TYPE", bench.dtype, "Type of the elements (default: float32)")
      ->check(CLI::IsMember(bench_dtypes()));
  for (const char* list : {"--communication", "--sizes"}) command->get_option(list)->allow_extra_args(false);
}

// Checks that the output was written. A command that failed has already reported that.
void require_written(ExitCode code) {
  if (code == ExitCode::kDone && !std::cout.flush())
    throw Error(output_failure_code(), "cannot write to the standard output");
}

ExitCode parse_and_run(int argc, char** argv) {
  CommandLine line;
  if (const auto problem = unknown_command(line.app, argc, argv)) throw Error(ExitCode::kUsage, *problem);
  try {
    line.app.parse(argc, argv);
  } catch (const CLI::Success& success) {  // --help, --version
    line.app.exit(success);
    require_written(ExitCode::kDone);
    return ExitCode::kDone;
  } catch (const CLI::ParseError& error) {
    throw Error(ExitCode::kUsage, usage_error(line.app, error));
  }
  if (!line.action) {
    std::cerr << line.app.help();
    return ExitCode::kUsage;
  }
  instructions();  // an environment that asks for what the processor lacks is an error of every command
  if (line.run.quiet || line.sweep.quiet || line.tune.quiet || line.rates.quiet) fetch_quietly();
  const ExitCode code = line.action();
  if (!line.output_is_progress) require_written(code);
  return code;
}

}  // namespace

CommandLine::CommandLine() {
  const CLI::Option* verbose =
      app.add_flag("--verbose")
          ->description("With --version: list the libraries inside, with their licences");
  app.set_version_flag(
      "--version", [verbose] { return verbose->count() > 0 ? long_version() : short_version(); },
      "Print the versions of dtrain and LibTorch and exit");
  app.add_option("--plugin")
      ->type_name("FILE")
      ->description("Load this plug-in, as if every spec named it; before the command; repeatable")
      ->allow_extra_args(false)
      ->take_all()
      ->each([](const std::string& file) {
        const std::string path =
            file.empty() ? file : std::filesystem::absolute(file).lexically_normal().string();
        load_plugin(path);
        add_plugin_to_specs(path);
      });
  app.require_subcommand(0, 1);
  app.option_defaults()->disable_flag_override();  // otherwise --json=no would mean --json
  add_run();
  add_validate();
  add_plan();
  add_init();
  add_configs();
  add_schema();
  add_inspect();
  add_eval();
  add_predict();
  add_export();
  add_resize();
  add_watch();
  add_compare();
  add_verify();
  add_report();
  add_sweep();
  add_tune();
  add_find_lr();
  add_bench();
  add_doctor();
  add_data();
  add_cache();
  add_completion();
  add_manual();
  add_replica();
  // Set after the commands, which would inherit it otherwise.
  app.footer("Start with: dtrain init job.yaml, then dtrain run job.yaml; dtrain configs has examples\n\n" +
             exit_code_help());
}

void CommandLine::add_completion() {
  CLI::App* command =
      app.add_subcommand("completion", "Print a completion script: eval \"$(dtrain completion bash)\"");
  add_value(command, "SHELL", shell, join(completion_shells()))->required();
  command->callback([this] {
    action = [this] {
      std::cout << completion_script(app, shell);
      return ExitCode::kDone;
    };
  });
}

void CommandLine::add_manual() {
  CLI::App* command =
      app.add_subcommand("manual", "Show a manual page, or print it in roff if the output is no terminal");
  add_value(command, "COMMAND", manual.command, "The command (default: dtrain as a whole)");
  add_value(command, "--out FOLDER", manual.folder, "Write all pages into this folder instead");
  command->callback([this] {
    action = [this] {
      if (manual.folder.empty()) {
        show_manual_page(app, manual.command);
        return ExitCode::kDone;
      }
      std::error_code told_by_the_writer;
      std::filesystem::create_directories(manual.folder, told_by_the_writer);
      for (const auto& [name, page] : manual_pages(app))
        write_file_atomically(std::filesystem::path(manual.folder) / name, page, "--out");
      return ExitCode::kDone;
    };
  });
}

void CommandLine::add_bench() {
  CLI::App* command = app.add_subcommand(
      "bench", "Measure how fast replicas on this machine sum tensors, and check every sum");
  add_value(command, "BENCHMARK", benchmark, "allreduce")->required();
  add_value(command, "--replicas N", bench.all_reduce.replicas, "Processes (default: 2)")
      ->check(whole_numbers(2, 64));
  add_bench_options(command, bench);
  command->add_flag("--json", bench.json, "Print every row as a line of JSON instead");
  command->footer(
      exit_code_help({{ExitCode::kDone, "every sum was exact"}, {ExitCode::kBug, "a sum was wrong"}}));
  command->callback([this] {
    if (benchmark != "allreduce") {
      throw CLI::ValidationError(
          fmt::format("unknown benchmark '{}' (known: allreduce)", printable(benchmark)));
    }
    action = [this] { return bench_command(bench); };
  });
  CLI::App* replica = app.add_subcommand("bench-replica", "One replica process; started by dtrain bench");
  replica->group("");  // hidden
  add_bench_options(replica, bench);
  replica->callback([this] { action = [this] { return bench_replica_command(bench); }; });
}

void CommandLine::add_cache() {
  CLI::App* command = app.add_subcommand(
      "cache",
      "List the files of decoded pictures, kept features and copies of files at addresses, or remove them");
  command->add_flag("--clear", cache.clear, "Remove them; runs that use one keep it until they end");
  command->add_flag("--json", cache.json, "Print the same as JSON");
  command->footer(exit_code_help({{ExitCode::kDone, "they are listed, or removed"}}));
  command->callback([this] { action = [this] { return cache_command(cache); }; });
}

void CommandLine::add_doctor() {
  CLI::App* command =
      app.add_subcommand("doctor", "Check this host, or the hosts of a job, and say what to fix");
  CLI::App* host = app.add_subcommand("doctor-host", "One host's part; started by dtrain doctor");
  host->group("");  // hidden
  for (CLI::App* one : {command, host}) {
    add_value(one, "--hosts A,B,...", doctor.examined.hosts,
              "Hosts to check by ssh, with the network between them; the first leads")
        ->delimiter(',')
        ->allow_extra_args(false);
    add_value(one, "--port PORT", doctor.examined.port, "The job's network.port (default: 29400)")
        ->check(CLI::Range(1, 65535));
  }
  add_value(command, "--program PATH", doctor.examined.program,
            "dtrain on the hosts (default: the path of this one)");
  add_value(command, "--ssh-config FILE", doctor.examined.ssh_configuration,
            "A configuration for ssh (ssh -F)");
  command->add_flag("--json", doctor.json, "Print every finding as a line of JSON instead");
  command->footer(
      exit_code_help({{ExitCode::kDone, "all is well"}, {ExitCode::kUsage, "there is something to fix"}}));
  command->callback([this] { action = [this] { return doctor_command(doctor); }; });
  host->add_option("--index", doctor.index)->required();
  host->callback([this] { action = [this] { return doctor_host_command(doctor); }; });
  CLI::App* plugin = app.add_subcommand("plugin-devices", "What a plugin finds; started by dtrain");
  plugin->group("");  // hidden
  plugin->add_option("PLUGIN", doctor.plugin)->required();
  plugin->add_flag("--gpus", doctor.plugin_for_gpus);
  plugin->callback([this] { action = [this] { return plugin_devices_command(doctor); }; });
}

void CommandLine::add_replica() {
  CLI::App* command = app.add_subcommand("replica", "One replica process; started by dtrain run");
  command->group("");  // hidden
  command->add_option("PLAN", replica.plan)->required();
  command->add_option("--run", replica.run)->required();
  command->add_option("--folder", replica.folder);
  command->add_flag("--resume", replica.resumes);
  command->add_option("--checkpoint", replica.checkpoint);
  command->callback([this] { action = [this] { return replica_command(replica); }; });
}

int run_command_line(int argc, char** argv) {
  occupy_standard_streams();
  leave_size_limit_to_writers();
  keep_freed_memory();
  ExitCode code = ExitCode::kBug;
  try {
    code = parse_and_run(argc, argv);
  } catch (...) {
    const Failure failure = describe_current_exception();
    code = failure.code;
    report_failure("dtrain: " + failure.message);
    if (code == ExitCode::kBug)
      std::cerr << "This is a bug in dtrain; please report it with the spec." << std::endl;
  }
  return static_cast<int>(code);
}

}  // namespace dtrain
