// What a report shows of a trained model.
#pragma once

#include <vector>

#include "plan/job_plan.h"
#include "report/model_report.h"
#include "train/resume.h"

namespace dtrain {

std::vector<LayerRow> layers_of(const JobPlan& job);

// Predicts the test examples of the checkpoint's job, the first 10,000, and adds what is confused and the
// worst mistakes. Of a job with more than kMostConfusedClasses classes nothing. Throws as find_mistakes()
// does.
void add_mistakes(ModelReport& report, const ResumePoint& point);

}  // namespace dtrain
