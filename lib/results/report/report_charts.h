// The charts of a report.
#pragma once

#include <string>
#include <vector>

#include "display/chart.h"
#include "runs/finished_run.h"

namespace dtrain {

// A course of a run, with the name and the colour that it has everywhere on the page.
struct NamedCourse {
  std::string name;
  size_t colour = 0;
  const RunCourse* course = nullptr;
  BestCheckpointSpec deciding{"loss"};  // decides which epoch is its best
};

// A chart without lines in the size of all.
LineChart report_chart(const std::string& title, const std::string& x_title);

// Charts of loss, main metrics, learning rate and examples/s over epochs, and of the metrics over time: those
// that have values, each as a <figure>. The best evaluation has a ring around its dot. `logarithmic_rate`
// suits a learning rate that decays by factors.
std::string course_charts(const std::vector<NamedCourse>& courses, bool logarithmic_rate);

// How busy the machine was over the time of a job, each chart as a <figure>; "" if that is not known.
std::string machine_charts(const std::vector<MachineEvent>& machine);

// Where the time of a mean step goes, in milliseconds, by the name of what made the steps.
struct NamedStepTimes {
  std::string name;
  StepTimes milliseconds;
};

// A bar for each, and a table of the numbers, below a heading; "" if there are none.
std::string step_times_section(const std::vector<NamedStepTimes>& all);

// The same over the epochs of each course, as a <figure> each; "" if there are not two epochs.
std::string phase_figures(const std::vector<NamedCourse>& courses);

}  // namespace dtrain
