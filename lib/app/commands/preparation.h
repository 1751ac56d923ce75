// The progress that a user sees while dtrain reads pictures.
#pragma once

#include <cstdint>
#include <string>

#include "plan/job_plan.h"

namespace dtrain {

// How far work on many things is, on standard error: a line that changes on a terminal and goes with this
// object, elsewhere one line if it takes long.
class CountingLine {
 public:
  explicit CountingLine(std::string what);  // "checking pictures"
  ~CountingLine();
  CountingLine(const CountingLine&) = delete;
  CountingLine& operator=(const CountingLine&) = delete;

  void on_progress(int64_t done, int64_t all);

 private:
  const std::string what_;
  const bool on_terminal_;
  const double begin_;
  double next_;
  bool drawn_ = false;
  bool told_ = false;
};

// prepare_dataset(), with its progress. `quiet`: shows nothing. Returns whether find_dataset() now knows more
// than `data`: the job has to be planned again.
bool prepare_data(const DatasetInfo& data, const DataSpec& spec, bool quiet);

// Measures what the spec wants measured of the training pictures, and puts the numbers in their place.
// Reads all of these pictures, which prepare_data() has made quick. Nothing without such a wish.
void measure_data(const DatasetInfo& data, JobSpec& job, bool quiet);

}  // namespace dtrain
