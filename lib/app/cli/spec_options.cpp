// The options of the subcommands that read a spec.
#include <fmt/format.h>

#include <filesystem>
#include <utility>

#include "cli/options.h"
#include "core/exit_codes.h"
#include "core/patterns.h"
#include "core/text.h"
#include "initial_state/resume.h"
#include "runs/run_directory.h"
#include "spec/fields.h"

namespace dtrain {
namespace {

constexpr const char* kSignals =
    "Signals: INT, TERM, HUP save and stop; USR1 saves; QUIT prints what each replica is doing;\n"
    "TSTP (Ctrl-Z) stops the replicas, too.\n";

// A field's description without the links of docs/spec.md: "[layers](x.md#y)" becomes "layers (docs/x.md)".
std::string without_links(const std::string& text) {
  static const Pattern within(R"(\]\(#)");
  static const Pattern link(R"(\[([^\]]*)\]\(([^)#]*)(#[^)]*)?\))");
  return link.replace(within.replace(text, "](spec.md#"), "$1 (docs/$2)");
}

// Throws if more than one of these is given.
void require_at_most_one(const std::vector<const CLI::Option*>& options) {
  const CLI::Option* first = nullptr;
  for (const CLI::Option* option : options) {
    if (option->empty()) continue;
    if (first != nullptr) throw CLI::ExcludesError(first->get_name(), option->get_name());
    first = option;
  }
}

CLI::Option* add_spec(CLI::App* command, std::string& spec) {
  return add_value(command, "SPEC", spec, "The job spec (YAML); - is the standard input")->required();
}

// An option with a list of numbers from 1 to `most`.
CLI::Option* add_numbers(CLI::App* command, const std::string& name, std::vector<int64_t>& values,
                         const std::string& help, int64_t most) {
  return command->add_option(name, values, help)
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(whole_numbers(1, most))
      ->type_name("N,N,...");
}

// For "run --resume PATH": the spec of the run at PATH. In "run --resume job.yaml" the word is the spec.
std::string spec_of_resumed_run(RunOptions& run) {
  if (!run.resume) throw CLI::RequiredError("SPEC");
  const std::string word = std::exchange(*run.resume, "auto");
  if (std::filesystem::is_regular_file(word)) return word;
  if (word != "auto") run.resume = word;
  if (word == "auto" && !run.run_directory)
    throw CLI::ValidationError("SPEC is missing; or name the run: --resume RUN");
  if (word != "auto") require_run(word, ExitCode::kUsage, "dtrain run --resume RUN");
  const std::filesystem::path of =
      word == "auto" ? std::filesystem::path(*run.run_directory) : run_of_checkpoint(word);
  return (of / "spec.yaml").string();
}

}  // namespace

void add_overrides(CLI::App* command, Overrides& overrides) {
  add_value(command, "--set PATH=VALUE", overrides.set,
            "Override a field, for instance --set train.epochs=3; repeatable, the last one wins. A "
            "new kind drops fields that it does not have")
      ->allow_extra_args(false);
  add_value(command, "--unset PATH", overrides.unset,
            "Remove a field or section of the spec, for instance --unset compare; repeatable")
      ->allow_extra_args(false);
}

void CommandLine::add_run() {
  CLI::App* command =
      app.add_subcommand("run", "Train the baseline if the spec names one, then the job, and compare them");
  CLI::Option* spec =
      add_spec(command, run.spec.spec)
          ->required(false)
          ->description("The job spec (YAML); with --resume PATH the default is the run's own");
  add_overrides(command, run.spec.overrides);
  add_value(command, "--run-dir DIR", run.run_directory, "Folder of the run (default: runs/<name>-<time>)");
  CLI::Option* overwrite =
      command->add_flag("--overwrite", run.overwrite, "Replace the run that --run-dir holds");
  add_value(command, "--resume [auto|PATH]", run.resume,
            "Resume from a checkpoint: auto (the newest good one of --run-dir, or of the newest folder "
            "runs/NAME-TIME of the job), "
            "or the folder of a run or of a checkpoint")
      ->expected(0, 1)
      ->default_str("auto")
      ->excludes(overwrite);
  add_value(command, "--inspect-step N", run.inspect_step,
            "Show update N replica by replica, and check that they agree (--set metrics.inspect_step)");
  command->add_flag("--quiet", run.quiet, "Print only the comparison and failures");
  command->add_flag("--json", run.json, "Print every event as a line of JSON instead");
  command->footer(kSignals + exit_code_help());
  command->callback([this, spec] {
    if (spec->empty()) run.spec.spec = spec_of_resumed_run(run);
    if (run.run_directory && run.run_directory->empty())
      throw CLI::ValidationError("--run-dir needs the name of a folder");
    if (run.overwrite && !run.run_directory)
      throw CLI::ValidationError("--overwrite needs --run-dir: without it every run gets a new folder");
    if (run.inspect_step) run.spec.overrides.set.push_back("metrics.inspect_step=" + *run.inspect_step);
    output_is_progress = true;
    action = [this] { return run_command(run); };
  });
}

void CommandLine::add_validate() {
  CLI::App* command = app.add_subcommand("validate", "Check specs and list every problem; starts nothing");
  add_value(command, "SPEC", specs, "The job specs (YAML); - is the standard input")->required();
  add_overrides(command, overrides);
  command->add_flag("--json", json, "Print the problems as JSON");
  command->callback([this] { action = [this] { return validate_command(specs, overrides, json); }; });
}

void CommandLine::add_plan() {
  CLI::App* command = app.add_subcommand(
      "plan",
      "Show every resolved number: batches, learning rate, steps, parameters; starts nothing, except "
      "for --at-hosts");
  CLI::Option* spec = add_spec(command, plan.spec.spec)->required(false);
  add_overrides(command, plan.spec.overrides);
  CLI::Option* json = command->add_flag("--json", plan.json, "Print the plan as JSON");
  CLI::Option* explain =
      command->add_flag("--explain", plan.explain,
                        "Also compute each layer on this machine: its time, and its share of the peak speed");
  CLI::Option* plotted =
      add_value(command, "--plot-lr [FILE]", plan.plot_learning_rate,
                "Only draw the learning rate of the distributed run: on the terminal, or to a file (.svg)")
          ->expected(0, 1)
          ->default_str("");
  CLI::Option* written =
      add_value(command, "--stablehlo FOLDER", plan.stablehlo,
                "Only write the distributed run's training step and forward pass as StableHLO, the language "
                "of compilers for TPUs, into this folder");
  CLI::Option* compiled = add_value(command, "--compile-for TOPOLOGY", plan.compile_for,
                                    "Only compile the programs of a job on TPUs or of train.step "
                                    "xla, for devices that need not be here, such "
                                    "as v5e:2x2 or h200:1");
  CLI::Option* at_hosts =
      add_numbers(command, "--at-hosts", plan.at_hosts,
                  "Only forecast how fast the job would be on so many hosts like this one, by ways to "
                  "exchange gradients; trains for 20 seconds to measure, unless --from names a run",
                  100'000);
  CLI::Option* link = add_value(command, "--link RATE,TIME", plan.link,
                                "With --at-hosts: the network of each host, and the round trip between two "
                                "(ping), such as 25gbit,50us")
                          ->needs(at_hosts);
  CLI::Option* from = add_value(command, "--from RUN", plan.from,
                                "With --at-hosts: take the times from this run of the job on one host")
                          ->needs(at_hosts);
  CLI::Option* calibrate = command->add_flag("--calibrate")
                               ->description("With --at-hosts: measure (the default)")
                               ->needs(at_hosts);
  command->callback([=, this] {
    // By hand: CLI11 shows options that exclude each other in the order of their addresses.
    require_at_most_one({explain, plotted, written, compiled, at_hosts});
    require_at_most_one({from, calibrate});
    if (!at_hosts->empty() && link->empty()) throw CLI::RequiredError("--link");
    const std::vector<int64_t>& hosts = plan.at_hosts;
    if (hosts.size() > 32 ||
        std::adjacent_find(hosts.begin(), hosts.end(), std::greater_equal<>()) != hosts.end())
      throw CLI::ValidationError(
          "--at-hosts takes at most 32 numbers, each above the one before, such as 1,2,4,8");
    require_at_most_one({json, plotted, written});
    std::optional<std::string>& plot = plan.plot_learning_rate;
    // In "plan --plot-lr job.yaml" the word after the option is the spec, if no other word is.
    if (spec->empty()) {
      if (!plot || plot->empty()) throw CLI::RequiredError("SPEC");
      plan.spec.spec = std::exchange(*plot, "");
    }
    if (plot && !plot->empty() && std::filesystem::path(*plot).extension() != ".svg")
      throw CLI::ValidationError(
          fmt::format("--plot-lr writes SVG: {} should end in .svg", printable(*plot)));
    action = [this] { return plan_command(plan); };
  });
}

void CommandLine::add_init() {
  CLI::App* command = app.add_subcommand(
      "init", "Write a commented spec: for your own data, from a few questions, or from these options");
  CLI::Option* file = add_value(command, "FILE", init.file,
                                "The new spec (default: job.yaml, or with --from the standard output)");
  CLI::Option* from = add_value(
      command, "--from PATH", init.from,
      "Look at this data, and write a spec for it: a folder, .tar or Parquet files of pictures, a CSV "
      "or Parquet file, arrays (.npy, .npz, .safetensors), IDX or CIFAR files; .tar, Parquet, CSV and array "
      "files also at an address (https://, s3://), of which all are fetched");
  add_value(command, "--target COLUMN", init.targets,
            "With --from: the column of the table to predict, which also decides the loss; "
            "repeatable, for several columns of numbers (default: by name, or the last column)")
      ->allow_extra_args(false)
      ->needs(from);
  CLI::Option* plugin =
      add_value(command, "--plugin NAME", init.plugin,
                "Write a project of a plug-in in C++ instead, in a new folder with this name");
  CLI::Option* dataset = nullptr;
  for (const FirstQuestion& question : first_questions()) {
    const FieldInfo& field = *find_field(job_fields(), question.path);
    CLI::Option* option = command->add_option_function<std::string>(
        question.option,
        [this, path = question.path](const std::string& value) { init.job.answers[path] = value; },
        without_links(field.doc));
    option->type_name(field.choices ? "KIND" : "N");
    if (field.choices) option->check(CLI::IsMember(field.choices->built));
    if (question.path == "data.dataset") dataset = option;
  }
  add_value(command, "--set PATH=VALUE", init.job.set,
            "Any other field, for instance --set name=mine; repeatable")
      ->allow_extra_args(false);
  command->add_flag("--overwrite", init.overwrite, "Replace the file if it is there");
  command->footer(
      "Start with your own data: dtrain init --from photos/ > job.yaml, then dtrain run job.yaml\n" +
      exit_code_help({{ExitCode::kDone, "the spec is written"},
                      {ExitCode::kUsage, "an option is wrong, or the file is there"},
                      {ExitCode::kData, "--from: there is no data that dtrain can read"}}));
  command->callback([=, this] {
    require_at_most_one({from, plugin});
    require_at_most_one({from, dataset});
    require_at_most_one({plugin, file});
    action = [this] { return init_command(init); };
  });
}

void CommandLine::add_data() {
  CLI::App* command = app.add_subcommand(
      "data", "Look at a job's data before it trains: check it, show batches, or pack its pictures");
  command->require_subcommand(0, 1);
  command->callback([command] {
    if (command->get_subcommands().empty()) throw CLI::ValidationError("say what to do: check, show or pack");
  });
  CLI::App* check =
      command->add_subcommand("check",
                              "Read all data once: find broken files, copies, test examples that leak into "
                              "training, and odd columns; count classes and sizes");
  CLI::App* show =
      command->add_subcommand("show", "Write a page with batches of pictures as the model gets them");
  CLI::App* pack = command->add_subcommand(
      "pack", "Write a job's pictures into archives of WebDataset's naming (shards), a folder for each part");
  for (CLI::App* one : {check, show, pack}) {
    add_spec(one, data.spec.spec);
    add_overrides(one, data.spec.overrides);
  }
  for (CLI::App* one : {check, show}) {
    one->add_flag("--overwrite", data.overwrite,
                  "Replace any file; an earlier page of dtrain needs no --overwrite");
  }
  add_value(check, "--out FILE", data.out, "Also write a page with the pictures in question");
  check->add_flag("--json", data.json, "Print the same as JSON, with all findings");
  check->footer(exit_code_help({{ExitCode::kDone, "dtrain can read all examples"},
                                {ExitCode::kData, "dtrain cannot read some, or there is no such data"}}));
  add_value(show, "--out FILE", data.out, "The page (default: batches.html in this folder)");
  add_value(show, "--epoch N", data.epoch, "The epoch, counted from 0 (default: 0)")
      ->check(whole_numbers(0, 1'000'000));
  add_value(show, "--batches N", data.batches, "The number of batches, from the first (default: 1)")
      ->check(whole_numbers(1, 1'000'000));
  show->footer(exit_code_help());
  CLI::Option* out = add_value(pack, "--out FOLDER", data.out, "The new folder");
  add_value(pack, "--shard-size SIZE", data.shard_size,
            "The most bytes of an archive, such as 100MB or 2GiB (default: 500MB)");
  pack->add_flag("--overwrite", data.overwrite, "Replace a folder that dtrain data pack has written");
  pack->add_flag("--json", data.json, "Print what was written as JSON");
  CLI::Option* index = pack->add_flag("--index", data.index,
                                      "Only write the index of the archives in data.path, for data.stream");
  pack->footer(exit_code_help());
  pack->callback([this, out, index] {
    require_at_most_one({out, index});
    if (!data.out && !data.index) throw CLI::RequiredError("--out");
    action = [this] { return data_pack_command(data); };
  });
  check->callback([this] { action = [this] { return data_check_command(data); }; });
  show->callback([this] { action = [this] { return data_show_command(data); }; });
}

void CommandLine::add_configs() {
  CLI::App* command = app.add_subcommand("configs", "List the example jobs inside the program, or copy one");
  add_value(command, "NAME", configs.name, "The job to copy");
  add_value(command, "FILE", configs.file, "The new file (default: NAME.yaml in this folder)");
  command->add_flag("--overwrite", configs.overwrite, "Replace the file if it is there");
  command->callback([this] { action = [this] { return configs_command(configs); }; });
}

void CommandLine::add_schema() {
  CLI::App* command = app.add_subcommand("schema", "Print the JSON Schema of job specs, for editors");
  CLI::Option* reference =
      command->add_flag("--markdown", markdown, "Print the reference (docs/spec.md) instead");
  command->add_flag("--events", events, "Print the tables of the events (in docs/metrics.md) instead")
      ->excludes(reference);
  command->callback([this] { action = [this] { return schema_command(markdown, events); }; });
}

void CommandLine::add_sweep() {
  CLI::App* command = app.add_subcommand(
      "sweep",
      "Time the job with several numbers of replicas and batch sizes: a table, CSV, JSON and a chart");
  add_spec(command, sweep.spec.spec);
  add_numbers(command, "--replicas", sweep.plan.replicas, "Numbers of replicas, such as 1,2,4", 1024)
      ->required();
  add_numbers(command, "--batch", sweep.plan.batches,
              "Batch sizes, per replica (weak) or global (strong); default: the spec's", 1'000'000'000);
  add_value(command, "--mode MODE", sweep.mode,
            "weak: keep the batch of each replica (default); strong: keep the global batch")
      ->check(CLI::IsMember({"weak", "strong"}));
  add_value(command, "--repeats N", sweep.plan.repeats, "Runs of each point; the median counts (default: 3)")
      ->check(CLI::Range(1, 1000));
  add_value(command, "--steps N", sweep.plan.steps, "Timed steps of each run (default: 300)")
      ->check(CLI::Range(1, 1'000'000'000));
  add_value(command, "--out DIR", sweep.out,
            "New or empty folder for the results (default: runs/<name>-sweep-<time>)");
  add_overrides(command, sweep.spec.overrides);
  command->add_flag("--quiet", sweep.quiet, "Print only the table");
  command->add_flag("--json", sweep.json, "Print sweep.json instead of the table");
  command->footer(
      "If points fail, dtrain still measures the others; the exit code is that of the first failure.\n" +
      exit_code_help());
  command->callback([this] {
    output_is_progress = !sweep.json;
    action = [this] { return sweep_command(sweep); };
  });
}

}  // namespace dtrain
