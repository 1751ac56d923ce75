// The options of the subcommands that look for good values of a spec's fields.
#include <fmt/format.h>

#include "cli/command_line.h"
#include "core/text.h"
#include "documentation/exit_code_help.h"
#include "experiments/search_space.h"
#include "traits/objectives.h"

namespace dtrain {

void CommandLine::add_tune() {
  CLI::App* command = app.add_subcommand(
      "tune", "Train the job with several values of its fields and name the best: a table and a chart");
  CLI::Option* spec =
      command->add_option("SPEC", tune.spec.spec, "The job spec (YAML); left out with --resume")
          ->type_name("");
  CLI::Option* tries =
      command
          ->add_option(
              "--try", tune.tries,
              "Values of a field, for instance --try batch.global=64,128; repeatable. With --random also "
              "log(1e-4,1e-1), uniform(0,0.5) or int(1,8)")
          ->type_name("PATH=VALUE,...")
          ->allow_extra_args(false);
  CLI::Option* random =
      command->add_option("--random", tune.random, "Try N combinations, drawn at random (default: all)")
          ->check(CLI::Range(int64_t{1}, kMostTrials))
          ->type_name("N");
  command->add_option("--seed", tune.seed, "Decides what --random draws (default: 1)")
      ->check(CLI::Range(int64_t{0}, int64_t{1} << 53))
      ->needs(random)
      ->type_name("S");
  command
      ->add_option("--metric", tune.metric,
                   "The metric that ranks the trials (default: the spec's, or accuracy)")
      ->check(CLI::IsMember(metric_names()))
      ->type_name("METRIC");
  command
      ->add_option("--halving", tune.halving,
                   "Successive halving: train all trials for a part of the epochs, then the best one in "
                   "FACTOR for FACTOR times as many, and so on")
      ->check(CLI::Range(int64_t{2}, int64_t{100}))
      ->type_name("FACTOR");
  command->add_option("--trials-at-once", tune.trials_at_once, "How many trials run at once (default: 1)")
      ->check(CLI::Range(int64_t{1}, int64_t{256}))
      ->type_name("N");
  CLI::Option* out =
      command
          ->add_option("--out", tune.out,
                       "New or empty folder for the results (default: runs/<name>-tune-<time>)")
          ->type_name("DIR");
  command
      ->add_option(
          "--resume", tune.resume,
          "Continue the tune in this folder: finished trials stay, others resume from their checkpoints")
      ->type_name("DIR");
  add_overrides(command, tune.spec.overrides);
  command->add_flag("--quiet", tune.quiet, "Print only the table");
  command->add_flag("--json", tune.json, "Print tune.json instead of the table");
  command->footer(
      "A trial that fails is a row of the table. If all fail, the exit code is that of the first one.\n" +
      exit_code_help());
  // Not CLI11's excludes(), which lists several in the help in the order of their addresses.
  command->callback([this, spec, tries, random, out] {
    for (const CLI::Option* other : {spec, tries, random, out}) {
      if (tune.resume && !other->empty()) throw CLI::ExcludesError("--resume", other->get_name());
    }
    if (!tune.resume && spec->empty()) throw CLI::RequiredError("SPEC");
    if (!tune.resume && tries->empty()) throw CLI::RequiredError("--try");
    const Overrides& overrides = tune.spec.overrides;
    const bool has_changes = !overrides.set.empty() || !overrides.unset.empty() || tune.metric ||
                             tune.halving > 0 || tune.trials_at_once > 1;
    if (tune.resume && has_changes)
      throw CLI::ValidationError(
          "--resume continues the tune with the options that it began with; leave out the other options");
    output_is_progress = true;
    action = [this] { return tune_command(tune); };
  });
}

void CommandLine::add_find_lr() {
  CLI::App* command = app.add_subcommand(
      "find-lr", "Look for a learning rate: raise it from step to step, and chart the loss (a range test)");
  command->add_option("SPEC", rates.spec.spec, "The job spec (YAML); - is the standard input")
      ->required()
      ->type_name("");
  const auto add_rate = [&](const std::string& name, double& rate, const std::string& help) {
    command->add_option(name, rate, help)->check(CLI::Range(1e-30, 1e6))->type_name("RATE");
  };
  add_rate("--from", rates.from, "The rate of the first step (default: 1e-7)");
  add_rate("--to", rates.to, "The rate of the last step (default: 10)");
  command
      ->add_option("--steps", rates.steps,
                   "The number of steps; the rate grows by the same factor in each (default: 100)")
      ->check(CLI::Range(int64_t{10}, int64_t{10'000}))
      ->type_name("N");
  command->add_option("--out", rates.out, "Also write a page with a chart")->type_name("FILE.html");
  command->add_flag("--overwrite", rates.overwrite, "Replace any file; an earlier page needs no --overwrite");
  add_overrides(command, rates.spec.overrides);
  command->add_flag("--quiet", rates.quiet, "Print only the result");
  command->add_flag("--json", rates.json, "Print the result as JSON");
  command->footer(exit_code_help());
  command->callback([this] {
    if (rates.from >= rates.to)
      throw CLI::ValidationError(fmt::format("--from {:g} is not below --to {:g}", rates.from, rates.to));
    action = [this] { return find_lr_command(rates); };
  });
}

}  // namespace dtrain
