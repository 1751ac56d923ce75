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

// eval, for people: the metrics; of classes also a table of them and, of at most 40, the confusion matrix.
// Tables wider than `width` (0: no limit) are divided.
std::string evaluation_text(const EvaluationJob& evaluation, const JobPlan& job, const Evaluation& result,
                            int width = 0);

// The same as JSON, with the matrix of any number of classes that has one.
Event evaluation_document(const EvaluationJob& evaluation, const JobPlan& job, const Evaluation& result);

// inspect: all that is in a checkpoint.
std::string checkpoint_text(const std::filesystem::path& path, const CheckpointReport& report);

// One of several checkpoints in a line. `best_by`: the metric by which it is the best of them; empty: it is
// not.
std::string checkpoint_line(const std::filesystem::path& path, const CheckpointReport& report,
                            const std::string& best_by);

Event checkpoint_document(const std::filesystem::path& path, const CheckpointReport& report,
                          const std::string& best_by);

// predict, for pictures: a line for people, whose first column has a width: the file, and the most probable
// classes.
std::string prediction_text(const std::string& file, size_t width, const DatasetInfo& data,
                            const Prediction& prediction);

// A line of a table, and the line above all: the file, its class, and the probability of each class, all of
// which `prediction` has.
std::string prediction_heading(const DatasetInfo& data);
std::string prediction_row(const std::string& file, const DatasetInfo& data, const Prediction& prediction);

Event prediction_document(const std::string& file, const DatasetInfo& data, const Prediction& prediction);

}  // namespace dtrain
