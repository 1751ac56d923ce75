// The output of `dtrain eval`.
#pragma once

#include <string>

#include "inference/evaluate_replicas.h"
#include "metrics/event.h"

namespace dtrain {

// For people: the metrics; of classes also a table of them and, of at most 40, the confusion matrix.
// Tables wider than `width` (0: no limit) are divided.
std::string evaluation_text(const EvaluationJob& evaluation, const JobPlan& job, const Evaluation& result,
                            int width = 0);

// The same as JSON, with the matrix of any number of classes that has one.
Event evaluation_document(const EvaluationJob& evaluation, const JobPlan& job, const Evaluation& result);

}  // namespace dtrain
