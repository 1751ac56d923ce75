// The values that `dtrain tune --try` names, and the trials that are made of them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runs/tune_results.h"
#include "yaml/problem.h"

namespace dtrain {

// More trials than this are a mistake in the command line.
constexpr int64_t kMostTrials = 1000;

// Numbers to draw from: log(1e-4,1e-1), evenly by their logarithm; uniform(0,0.5); int(1,8), whole numbers.
struct ValueRange {
  std::string kind;  // log | uniform | int
  double from = 0;
  double to = 0;
};

// A field of the spec and what is tried for it: values as they are written, or a range.
struct TriedField {
  std::string path;
  std::vector<std::string> values = {};
  std::optional<ValueRange> range = {};
};

// The fields and values that a tune tries, and its other options.
struct TuneOptions : TuneSearch {
  std::vector<TriedField> fields = {};  // by read_tries() of `tries`
  std::optional<int64_t> random;        // so many combinations, drawn at random
  std::optional<int64_t> tpe;           // so many, most of them by propose_trial(); neither: the grid
  std::optional<std::string> metric;    // nullopt: the job's own, see docs/tune.md
};

// One value for each of the tried fields, as it is written in a spec.
using TrialValues = std::vector<std::string>;

// Reads "PATH=VALUE,VALUE,..." or "PATH=log(FROM,TO)" each. Commas inside brackets, braces, parentheses and
// quotes divide nothing. Adds a problem for each that cannot be read, or that names a field or value twice.
// Does not check whether the spec has such a field.
std::vector<TriedField> read_tries(const std::vector<std::string>& tries, std::vector<Problem>& problems);

// Every combination; the last field changes fastest. Throws Error(kUsage) for a range, or over kMostTrials.
std::vector<TrialValues> grid_trials(const std::vector<TriedField>& fields);

// `count` different combinations drawn at random, or all if there are fewer. The seed decides the draw.
std::vector<TrialValues> random_trials(const std::vector<TriedField>& fields, int64_t count, uint64_t seed);

// A combination that was tried. `loss`: the lower the better, infinite if it failed; nullopt: not ended.
struct TriedValues {
  TrialValues values;
  std::optional<double> loss = {};
};

// The combination to try after `tried`, by a tree-structured Parzen estimator (tpe.h), to which those that
// have not ended count as bad. The first ones are those of random_trials(), until kTpeRandomTrials have
// ended. Never one that was tried; nullopt if there seems to be no other. Depends on the arguments alone.
std::optional<TrialValues> propose_trial(const std::vector<TriedField>& fields,
                                         const std::vector<TriedValues>& tried, uint64_t seed);

}  // namespace dtrain
