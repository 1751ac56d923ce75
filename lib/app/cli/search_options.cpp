// The options of the subcommands that look for good values of a spec's fields.
#include <fmt/format.h>

#include "cli/options.h"
#include "core/exit_codes.h"

namespace dtrain {

void CommandLine::add_tune() {
  CLI::App* command = app.add_subcommand(
      "tune", "Train the job with several values of its fields and name the best: a table and a chart");
  CLI::Option* spec =
      add_value(command, "SPEC", tune.spec.spec, "The job spec (YAML); left out with --resume");
  CLI::Option* tries = add_value(command, "--try PATH=VALUE,...", tune.plan.tries,
                                 "Values of a field, for instance --try batch.global=64,128; repeatable. "
                                 "With --random and --tpe also "
                                 "log(1e-4,1e-1), uniform(0,0.5) or int(1,8)")
                           ->allow_extra_args(false);
  CLI::Option* random =
      add_value(command, "--random N", tune.plan.random, "Try N combinations, drawn at random (default: all)")
          ->check(whole_numbers(1, kMostTrials));
  CLI::Option* tpe =
      add_value(
          command, "--tpe N", tune.plan.tpe,
          "Try N combinations; each, but for the first ten, is proposed from the results of those before it")
          ->check(whole_numbers(1, kMostTrials));
  CLI::Option* seed =
      add_value(command, "--seed S", tune.plan.seed, "Decides what --random and --tpe draw (default: 1)")
          ->check(whole_numbers(0, int64_t{1} << 53));
  add_value(command, "--metric METRIC", tune.plan.metric,
            "The metric that ranks the trials (default: the spec's, or the main one of the loss)");
  add_value(command, "--halving FACTOR", tune.plan.halving,
            "Successive halving: train all trials for a part of the epochs, then the best one in "
            "FACTOR for FACTOR times as many, and so on")
      ->check(whole_numbers(2, 100));
  CLI::Option* asynchronous = command->add_flag(
      "--asynchronous", tune.plan.asynchronous,
      "Halving that waits for no other trial: one goes on once it is among the best so far");
  add_value(command, "--folds N", tune.plan.folds,
            "Cross-validation: train each combination N times, each time with another N-th of the training "
            "examples to validate on, and rank by the mean")
      ->check(whole_numbers(2, 1000));
  add_value(command, "--seeds N", tune.plan.seeds,
            "Train each combination with N seeds, from the job's on, and rank by the mean (default: 1)")
      ->check(whole_numbers(1, 1000));
  add_value(command, "--trials-at-once N", tune.plan.at_once, "How many trials run at once (default: 1)")
      ->check(whole_numbers(1, 256));
  CLI::Option* out = add_value(command, "--out DIR", tune.out,
                               "New or empty folder for the results (default: runs/<name>-tune-<time>)");
  add_value(command, "--resume DIR", tune.resume,
            "Continue the tune in this folder: finished trials stay, others resume from their checkpoints");
  add_overrides(command, tune.spec.overrides);
  command->add_flag("--quiet", tune.quiet, "Print only the table");
  command->add_flag("--json", tune.json, "Print tune.json instead of the table");
  command->footer(
      "A trial that fails is a row of the table. If all fail, the exit code is that of the first one.\n" +
      exit_code_help());
  // Not CLI11's excludes(), which lists several in the help in the order of their addresses.
  command->callback([this, spec, tries, random, tpe, seed, asynchronous, out] {
    for (const CLI::Option* other : {spec, tries, random, tpe, seed, asynchronous, out}) {
      if (tune.resume && !other->empty()) throw CLI::ExcludesError("--resume", other->get_name());
    }
    const bool draws = tune.plan.random || tune.plan.tpe;
    if (tune.plan.random && tune.plan.tpe) throw CLI::ExcludesError("--random", "--tpe");
    if (!seed->empty() && !draws) throw CLI::RequiresError("--seed", "--random or --tpe");
    if (tune.plan.asynchronous && tune.plan.halving == 0)
      throw CLI::RequiresError("--asynchronous", "--halving");
    if (!tune.resume && spec->empty()) throw CLI::RequiredError("SPEC");
    const bool repeats = tune.plan.folds > 0 || tune.plan.seeds > 1;
    if (!tune.resume && tries->empty() && (!repeats || draws)) throw CLI::RequiredError("--try");
    const Overrides& overrides = tune.spec.overrides;
    const bool has_changes = !overrides.set.empty() || !overrides.unset.empty() || tune.plan.metric ||
                             tune.plan.halving > 0 || tune.plan.at_once > 1 || repeats;
    if (tune.resume && has_changes)
      throw CLI::ValidationError(
          "--resume continues the tune with the options that it began with; leave out the other options");
    output_is_progress = !tune.json;
    action = [this] { return tune_command(tune); };
  });
}

void CommandLine::add_find_lr() {
  CLI::App* command = app.add_subcommand(
      "find-lr", "Look for a learning rate: raise it from step to step, and chart the loss (a range test)");
  add_value(command, "SPEC", rates.spec.spec, "The job spec (YAML); - is the standard input")->required();
  const auto add_rate = [&](const std::string& name, double& rate, const std::string& help) {
    command->add_option(name, rate, help)->check(CLI::Range(1e-30, 1e6))->type_name("RATE");
  };
  add_rate("--from", rates.test.from, "The rate of the first step (default: 1e-7)");
  add_rate("--to", rates.test.to, "The rate of the last step (default: 10)");
  add_value(command, "--steps N", rates.test.steps,
            "The number of steps; the rate grows by the same factor in each (default: 100)")
      ->check(whole_numbers(10, 5'000));
  add_value(command, "--out FILE.html", rates.out, "Also write a page with a chart");
  command->add_flag("--overwrite", rates.overwrite, "Replace any file; an earlier page needs no --overwrite");
  add_overrides(command, rates.spec.overrides);
  command->add_flag("--quiet", rates.quiet, "Print only the result");
  command->add_flag("--json", rates.json, "Print the result as JSON");
  command->footer(exit_code_help());
  command->callback([this] {
    if (rates.test.from >= rates.test.to)
      throw CLI::ValidationError(
          fmt::format("--from {:g} is not below --to {:g}", rates.test.from, rates.test.to));
    action = [this] { return find_lr_command(rates); };
  });
}

}  // namespace dtrain
