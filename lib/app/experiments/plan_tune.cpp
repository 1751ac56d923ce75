// Plans the trials of a tune.

#include <algorithm>
#include <cmath>
#include <set>

#include "core/files.h"
#include "core/text.h"
#include "experiments/tpe.h"
#include "experiments/tune.h"
#include "host/cores.h"
#include "job_file/print.h"
#include "plan/own_program.h"
#include "runs/finished_run.h"
#include "spec/schedule_kinds.h"
#include "yaml/yaml_tree.h"

namespace dtrain {
namespace {

// Problems that all or many trials share are listed once.
class ProblemsOnce {
 public:
  ProblemsOnce(std::vector<Problem>& problems, const TuneOptions& options)
      : problems_(problems), options_(options) {}

  void add(Problem problem) {
    const auto is_about = [&](const TriedField& field) { return problem.path.rfind(field.path, 0) == 0; };
    if (problem.line == 0 && std::ranges::any_of(options_.fields, is_about)) problem.file = "--try";
    if (options_.folds > 0 && problem.path == "data.split.folds") problem.file = "--folds";
    if (seen_.insert(problem.to_string()).second) problems_.push_back(std::move(problem));
  }

 private:
  std::vector<Problem>& problems_;
  const TuneOptions& options_;
  std::set<std::string> seen_;
};

bool repeats(const TuneOptions& options) { return options.folds > 0 || options.seeds > 1; }

// Each combination of values with each fold and seed, as Tune::trials_each() has them.
std::vector<TrialValues> trials_of(const TuneOptions& options, int64_t first_seed) {
  const int64_t drawn = options.tpe ? std::min(*options.tpe, kTpeRandomTrials) : options.random.value_or(0);
  const std::vector<TrialValues> combinations =
      drawn > 0 ? random_trials(options.fields, drawn, static_cast<uint64_t>(options.seed))
                : grid_trials(options.fields);
  const int64_t all = options.tpe.value_or(std::ssize(combinations));
  const int64_t each = std::max<int64_t>(1, options.folds) * options.seeds;
  const int64_t count = all * each;
  if (count > kMostTrials)
    throw Error(ExitCode::kUsage, "{} with its folds and seeds are {} trials, and a tune has at most {}",
                counted(all, "combination"), with_separators(count), with_separators(kMostTrials));
  std::vector<TrialValues> trials;
  for (const TrialValues& combination : combinations) {
    for (int64_t i = 0; i < each; ++i) {
      trials.push_back(combination);
      if (options.folds > 0) trials.back().push_back(std::to_string(i % options.folds + 1));
      if (options.seeds > 1)
        trials.back().push_back(std::to_string(first_seed + i / std::max<int64_t>(1, options.folds)));
    }
  }
  return trials;
}

std::vector<std::string> fields_of_trials(const TuneOptions& options) {
  std::vector<std::string> fields;
  for (const TriedField& field : options.fields) fields.push_back(field.path);
  if (options.folds > 0) fields.emplace_back("data.split.fold");
  if (options.seeds > 1) fields.emplace_back("seed");
  return fields;
}

bool tries(const TuneOptions& options, const std::string& section) {
  return std::ranges::any_of(options.fields,
                             [&](const TriedField& field) { return field.path.rfind(section, 0) == 0; });
}

void require_repeatable(const TuneOptions& options) {
  if (repeats(options) && options.halving > 0)
    throw Error(ExitCode::kUsage,
                "--halving drops trials before all folds and seeds are trained, whose mean ranks the "
                "combinations; leave out --halving, or --folds and --seeds");
  if (options.tpe && options.halving > 0)
    throw Error(
        ExitCode::kUsage,
        "--halving begins when all its combinations are known, and --tpe proposes them one by one; use "
        "--random with --halving");
  if (options.folds > 0 && (tries(options, "data.split.fold") || tries(options, "data.split.validation")))
    throw Error(ExitCode::kUsage, "--folds chooses the validation part of each trial; leave it out of --try");
  if (options.seeds > 1 && tries(options, "seed"))
    throw Error(ExitCode::kUsage, "--seeds sets the seed of each trial; leave it out of --try");
}

// Where the spec goes by a metric, this one; else the main one of the loss.
std::string own_metric(const JobSpec& spec) {
  const bool goes_by_one = spec.checkpoint.best.metric || spec.callbacks.early_stopping.metric;
  return goes_by_one ? *deciding_metric(spec).metric : objective_info(spec.train.loss.kind).main().name;
}

void require_metric(const std::string& metric, const JobSpec& spec) {
  const ObjectiveInfo& objective = objective_info(spec.train.loss.kind);
  std::vector<std::string> names;
  for (const MetricInfo& each : objective.all_metrics()) names.push_back(each.name);
  if (contains(names, metric)) return;
  throw Error(ExitCode::kUsage, "--metric: {} has no {}{}; its metrics: {}", objective.name,
              printable(metric, 60), did_you_mean(metric, names), join(names));
}

// One in `factor` continues, and trains `factor` times as long. The last rung is the whole training.
std::vector<int64_t> epochs_of_rungs(int64_t trials, int64_t epochs, int64_t factor) {
  std::vector<int64_t> rungs = {epochs};
  for (double left = static_cast<double>(trials), part = static_cast<double>(epochs);;) {
    left /= static_cast<double>(factor);
    part /= static_cast<double>(factor);
    if (left < 1 || part < 1) return rungs;
    rungs.insert(rungs.begin(), std::llround(std::ceil(part)));
  }
}

void require_divisible(const JobSpec& spec, const TuneOptions& options) {
  if (spec.train.max_steps || tries(options, "train.epochs") || tries(options, "train.max_steps"))
    throw Error(
        ExitCode::kUsage,
        "--halving divides train.epochs, so it cannot be tried, and train.max_steps must be left out");
  if (!spec.phases.empty())
    throw Error(ExitCode::kUsage,
                "--halving divides train.epochs, and the phases have their own; leave one of them out");
  if (spec.train.epochs < options.halving)
    throw Error(ExitCode::kUsage, "--halving: there are too few epochs to divide by {}; train.epochs is {}",
                options.halving, spec.train.epochs);
}

// The trial's own job.
JobSpec spec_of_trial(const JobPlan& job, const JobSpec& given, int64_t at_once, bool halves) {
  JobSpec spec = given;
  spec.compare.baseline = "none";
  spec.checkpoint.final = true;
  if (spec.model.has_file()) spec.model.file = program_file(spec.model);
  if (!spec.strategy.threads_per_replica)
    spec.strategy.threads_per_replica =
        std::max<int64_t>(1, available_cores() / (job.distributed_run().replicas * at_once));
  ScheduleSpec& schedule = spec.train.schedule;
  auto* const over = schedule_value<std::optional<int64_t>>(schedule, "over");
  if (halves && over != nullptr && !*over)
    *over = *schedule_value<std::string>(schedule, "unit") == "epochs" ? spec.train.epochs
                                                                       : job.distributed_run().total_steps;
  return spec;
}

}  // namespace

TrialPlanner::TrialPlanner(std::filesystem::path spec, Overrides overrides, const TuneOptions& options,
                           StartOfPaths starts)
    : spec_(std::move(spec)),
      overrides_(std::move(overrides)),
      options_(options),
      starts_(std::move(starts)) {}

std::optional<TrialPlanner::Trial> TrialPlanner::plan(const TrialValues& values,
                                                      std::vector<Problem>& problems) {
  Overrides with = overrides_;
  if (options_.folds > 0)
    with.set.insert(with.set.end(),
                    {"data.split.validation=none", fmt::format("data.split.folds={}", options_.folds)});
  const std::vector<std::string> fields = fields_of_trials(options_);
  for (size_t i = 0; i < values.size(); ++i) with.set.push_back(fields[i] + "=" + values[i]);
  const bool one_dataset = !tries(options_, "data") && !tries(options_, "seed");
  LoadedSpec loaded = load_spec(spec_, with, starts_);
  const std::string& kind = loaded.spec.data.target_kind;  // the loss may decide it
  DatasetInfo& data = datasets_[options_.folds > 0 ? kind + values[options_.fields.size()] : kind];
  PlannedJob trial =
      one_dataset && !data.name.empty() ? plan_job(loaded, data) : plan_job(loaded, find_dataset);
  problems.insert(problems.end(), trial.problems.begin(), trial.problems.end());
  if (!trial.ok()) return std::nullopt;
  if (!loaded.spec.hosts.empty())
    throw Error(ExitCode::kUsage, "a tune runs its trials on this host; leave out hosts (--unset hosts)");
  if (!trial.job.distributed_run().evaluates)
    throw Error(ExitCode::kUsage, "the job has no examples to judge its trials by; see data.test_examples");
  data = trial.job.data;
  std::string spec =
      print_spec(spec_of_trial(trial.job, loaded.spec, options_.at_once, options_.halving > 0));
  return Trial{std::move(loaded), std::move(trial.job), std::move(spec)};
}

PlannedTune plan_tune(const std::filesystem::path& spec, const Overrides& overrides,
                      const TuneOptions& options, std::vector<Problem>& problems) {
  PlannedTune planned;
  Tune& tune = planned.tune;
  ProblemsOnce found(problems, options);
  std::set<std::string> notes;
  require_repeatable(options);
  tune.fields = fields_of_trials(options);
  const LoadedSpec given = load_spec(spec, overrides);
  TrialPlanner planner(spec, overrides, options);
  for (TrialValues& values : trials_of(options, given.spec.seed)) {
    std::vector<Problem> wrong;
    const std::optional<TrialPlanner::Trial> trial = planner.plan(values, wrong);
    for (const Problem& problem : wrong) found.add(problem);
    if (!trial) continue;
    const auto& [loaded, job, text] = *trial;
    for (const std::string& note : loaded.notes) {
      if (notes.insert(note).second) planned.notes.push_back(note);
    }
    if (tune.trials.empty()) {
      planned.first = job;
      tune.name = loaded.spec.name;
      tune.metric = options.metric.value_or(own_metric(loaded.spec));
      tune.of_validation = job.data.has_validation();
      tune.epochs = {options.halving > 0 ? loaded.spec.train.epochs : 0};
    }
    require_metric(tune.metric, loaded.spec);
    if (options.halving > 0) require_divisible(loaded.spec, options);
    planned.specs.push_back(text);
    tune.trials.push_back({.values = std::move(values), .scores = {}});
  }
  tune.command = "dtrain run " + shell_word(spec.string());
  for (const std::string& set : overrides.set) tune.command += " --set " + shell_word(set);
  for (const std::string& unset : overrides.unset) tune.command += " --unset " + shell_word(unset);
  tune.search = options.random ? "random" : options.tpe ? "tpe" : "grid";
  static_cast<TuneSearch&>(tune) = options;
  if (options.halving > 0 && !tune.trials.empty())
    tune.epochs = epochs_of_rungs(std::ssize(tune.trials), tune.epochs.front(), options.halving);
  if (options.tpe) {
    tune.combinations = *options.tpe;
    planned.base = read_file(spec, kMaxYamlBytes, ExitCode::kUsage);
    tune.set = overrides.set;
    tune.unset = overrides.unset;
    // With those of the command line, which --resume does not have.
    if (!planned.first.spec.plugins.empty())
      tune.set.push_back("plugins=" + yaml_text(planned.first.spec.plugins));
    tune.spec_folder = std::filesystem::absolute(spec).parent_path();
    tune.working_folder = std::filesystem::current_path();
  }
  return planned;
}

TrialPlanner planner_of(const Tune& tune) {
  TuneOptions options;
  static_cast<TuneSearch&>(options) = tune;
  std::vector<Problem> problems;
  options.fields = read_tries(tune.tries, problems);
  if (!problems.empty() || fields_of_trials(options) != tune.fields)
    throw Error(ExitCode::kUsage, "{}/tune.json is damaged; start the tune again", tune.directory);
  return {std::filesystem::path(tune.directory) / "specs" / "base.yaml", Overrides(tune.set, tune.unset),
          options, StartOfPaths{tune.spec_folder, tune.working_folder}};
}

void save_tune(const PlannedTune& planned) {
  const std::filesystem::path folder = planned.tune.directory;
  std::filesystem::create_directory(folder / "specs");
  for (size_t i = 0; i < planned.specs.size(); ++i)
    write_file_atomically(folder / "specs" / (trial_folder(i) + ".yaml"), planned.specs[i]);
  if (!planned.base.empty()) {
    write_file_atomically(folder / "specs" / "base.yaml", planned.base);
    std::vector<Problem> problems;
    const auto again = planner_of(planned.tune).plan(planned.tune.trials[0].values, problems);
    if (!again || again->spec != planned.specs[0])
      throw Error(ExitCode::kUsage,
                  "the spec has changed while the trials were planned; start the tune again");
  }
  write_file_durably(folder / "tune.json", event_text(tune_document(planned.tune), 2) + "\n");
}

}  // namespace dtrain
