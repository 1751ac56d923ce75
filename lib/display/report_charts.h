// The pictures of a report.
#pragma once

#include <string>
#include <vector>

#include "runs/run_history.h"

namespace dtrain {

// One course of a run under the name and the colour that it has all over the page.
struct NamedCourse {
  std::string name;
  size_t colour = 0;
  const RunCourse* course = nullptr;
};

// Loss, accuracy, learning rate, examples/s over epochs, and accuracy over time: those that have values, each
// a <figure>. A learning rate that is multiplied down wants a logarithmic axis.
std::string course_charts(const std::vector<NamedCourse>& courses, bool logarithmic_rate);

// Where the time of a step went: a bar for each course, with a table of the milliseconds; "" when no course
// tells.
std::string phase_chart(const std::vector<NamedCourse>& courses);

}  // namespace dtrain
