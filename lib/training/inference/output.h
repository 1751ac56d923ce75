// The output of `dtrain eval`, `inspect` and `predict`.
#pragma once

#include <filesystem>
#include <string>

#include "checkpoint/checkpoint.h"
#include "data/dataset.h"
#include "inference/evaluation.h"
#include "inference/prediction.h"
#include "metrics/event.h"

namespace dtrain {

// eval, for people: the metrics; for classes also a table of them and, if there are at most 40, the confusion
// matrix. Tables wider than `width` (0: no limit) are divided.
std::string evaluation_text(const EvaluationJob& evaluation, const JobPlan& job, const Evaluation& result,
                            int width = 0);

// The same as JSON, with the confusion matrix, if there is one, whatever the number of classes.
Event evaluation_document(const EvaluationJob& evaluation, const JobPlan& job, const Evaluation& result);

// inspect: all that is in a checkpoint.
std::string checkpoint_text(const std::filesystem::path& path, const CheckpointReport& report);

// A line about one of several checkpoints. `best_by`: the metric by which it is the best of them; empty: it
// is not.
std::string checkpoint_line(const std::filesystem::path& path, const CheckpointReport& report,
                            const std::string& best_by);

Event checkpoint_document(const std::filesystem::path& path, const CheckpointReport& report,
                          const std::string& best_by);

// predict, for pictures: a line for people, whose first column has a width: the file, and the most probable
// classes.
std::string prediction_text(const std::string& file, size_t width, const DatasetInfo& data,
                            const Prediction& prediction);

// The heading and a line of a table: the file, its class, and the probability of each class. `prediction`
// must have all classes.
std::string prediction_heading(const DatasetInfo& data);
std::string prediction_row(const std::string& file, const DatasetInfo& data, const Prediction& prediction);

Event prediction_document(const std::string& file, const DatasetInfo& data, const Prediction& prediction);

}  // namespace dtrain
