// Whether the difference between two runs is more than chance: pair by pair, of the same examples.
#pragma once

#include <string>
#include <vector>

#include "core/text.h"
#include "judge/intervals.h"
#include "metrics/event.h"
#include "runs/finished_run.h"

namespace dtrain {

// What is said of a run and the first one.
struct RunDifference {
  std::string run = {};      // its folder
  std::string why_not = {};  // nothing can be said, and why; empty: something can
  int64_t examples = 0;
  std::string part = {};
  NamedIntervals differences = {};  // how much higher the run's metrics are than the first one's
  // Where examples are right or wrong: how many only one of them gets right, and mcnemar() of these.
  bool is_tested = false;
  int64_t only_first = 0, only_this = 0;
  double chance = 1;

  // For the accuracy, the test decides; for other differences, whether 0 is outside of the interval.
  bool is_more_than_chance(const MetricInterval& difference) const;
};

// The difference of each run but the first, from the examples that the runs' folders keep. Losses are
// compared if their specs have the same one.
std::vector<RunDifference> differences_of(const std::vector<FinishedRun>& runs);

// For people: a row for each metric, with headings, empty if there is none; a line for each run; and both as
// a section of a text.
TableRows chance_rows(const std::vector<RunDifference>& runs);
std::vector<std::string> chance_notes(const std::vector<RunDifference>& runs);
std::string chance_text(const std::vector<RunDifference>& runs, int width = 0);

Event chance_document(const std::vector<RunDifference>& runs);

}  // namespace dtrain
