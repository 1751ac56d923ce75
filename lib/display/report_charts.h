// The charts of a report.
#pragma once

#include <string>
#include <vector>

#include "runs/run_history.h"

namespace dtrain {

// A course of a run, with the name and the colour that it has everywhere on the page.
struct NamedCourse {
  std::string name;
  size_t colour = 0;
  const RunCourse* course = nullptr;
};

// Charts of loss, accuracy, learning rate and examples/s over epochs, and of accuracy over time: those that
// have values, each as a <figure>. `logarithmic_rate` suits a learning rate that decays by factors.
std::string course_charts(const std::vector<NamedCourse>& courses, bool logarithmic_rate);

// Where the time of a step went: a bar for each course, and a table of the milliseconds; "" if no course has
// the times.
std::string phase_chart(const std::vector<NamedCourse>& courses);

}  // namespace dtrain
