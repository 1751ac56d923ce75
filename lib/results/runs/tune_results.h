// The trials of a tune, their results, and which of them is the best.
#pragma once

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/error.h"
#include "metrics/event.h"

namespace dtrain {

// One set of values, and how far its run has come.
struct TuneTrial {
  std::vector<std::string> values;  // of Tune::fields
  std::vector<double> scores = {};  // of the metric, after each rung that it has completed
  size_t rung = 0;                  // the last one that it has begun, from 0
  int64_t epochs = 0;               // trained
  double seconds = 0;               // of training and evaluations
  std::vector<std::pair<int64_t, double>> course = {};  // epoch and metric of each evaluation
  ExitCode exit_code = ExitCode::kDone;
  std::string error = {};  // one line; empty unless its run failed
  // For a combination: the results of its trials, of which `scores` has the mean.
  std::vector<double> singles = {};

  bool has_result() const { return error.empty() && !scores.empty(); }
};

// The options of a search that stay with its results.
struct TuneSearch {
  std::vector<std::string> tries = {};  // "PATH=VALUE,..."; of Tune only with tpe
  int64_t seed = 1;                     // of what is drawn
  int64_t halving = 0;                  // keep one in so many trials after each rung; 0: there is one rung
  bool asynchronous = false;            // of those that have ended so far, and not of all
  int64_t folds = 0;  // the training examples are divided into, each of which validates once; 0: no folds
  int64_t seeds = 1;  // with which each combination is trained: the job's, and those that follow it
  int64_t at_once = 1;
};

struct Tune : TuneSearch {
  std::string name;       // of the job
  std::string directory;  // has the trials' folders and the results
  std::string command;    // "dtrain run job.yaml --set ...", which trains the job without a trial's values
  std::vector<std::string> fields;
  std::string metric;
  bool of_validation = false;   // whether the validation part judges; else the test examples do
  std::string search = "grid";  // or random, or tpe
  // With tpe: how many combinations there will be. Those not yet among the trials depend on the results of
  // the others. To plan them, also how the job's file is read: its overrides, and where relative paths in the
  // file and in the overrides start.
  int64_t combinations = 0;
  std::vector<std::string> set, unset;
  std::string spec_folder, working_folder;
  std::vector<int64_t> epochs;  // of each rung; 0: those of the trial's own spec
  bool is_combined = false;     // see combined()
  std::vector<TuneTrial> trials;

  // How many trials, one after another, have the same values but for the fold and the seed, the last fields.
  int64_t trials_each() const { return std::max<int64_t>(1, folds) * seeds; }
};

// "trial-007": the folder of a trial's run, within the tune's.
std::string trial_folder(size_t trial);

// The tune with one "trial" for each combination of values, without folds and seeds, which has a score once
// all its trials have one: their mean. Its error is that of the first that failed; epochs and seconds are
// those of all together, and its course has the mean of each epoch that all have evaluated. The tune itself
// where no combination is trained more than once.
Tune combined(const Tune& tune);

// The standard deviation of two or more values, with n - 1.
double sample_deviation(const std::vector<double>& values);

// "trial-007", or for the trials of a combination "trial-007-012".
std::string trial_title(const Tune& tune, size_t trial);

// The trials that rung `rung` trains: all of the first one, and of each later one the best of the rung
// before, in their order; of an asynchronous tune, the best first, one in `halving` of those that have ended
// the rung before so far, failed or not, and those that have begun the rung when there were fewer.
std::vector<size_t> trials_of_rung(const Tune& tune, size_t rung);

// The trials, the best first: those that came furthest, and of these by the metric. Those without a result
// come after them, and the failed ones last.
std::vector<size_t> ranking(const Tune& tune);

// The best of the trials that have a result.
std::optional<size_t> best_trial(const Tune& tune);

// The different values: numbers in ascending order if all are, else as they come.
std::vector<std::string> values_in_order(const std::vector<std::string>& values);

// How much each field of combined() explains by itself, 0 to 1: the part of the variance of the trials' ranks
// that is between the trials with different values (of many numbers: between up to six parts of them, of four
// trials or more), corrected for the number of values. It is the effect size of the test by Kruskal and
// Wallis (Tomczak and Tomczak 2014, "The need to report effect size estimates revisited"). Failed trials
// share the last rank. nullopt for fewer than twelve trials, or three for each value.
std::vector<std::optional<double>> importance_of_fields(const Tune& given);

// "trained", "dropped" after an earlier rung than the last, "failed", or "unfinished".
std::string status_of(const Tune& tune, size_t trial);

// The command that trains the job with a trial's values.
std::string command_of(const Tune& tune, size_t trial);

// The contents of tune.json, and the inverse. read_tune() throws Error(kUsage) if the file cannot be read.
Event tune_document(const Tune& tune);
Tune read_tune(const std::filesystem::path& file);

}  // namespace dtrain
