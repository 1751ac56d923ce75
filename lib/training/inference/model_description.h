// The description of a model that other programs need to use it.
#pragma once

#include <filesystem>

#include "checkpoint/manifest.h"
#include "plan/job_plan.h"
#include "report/model_report.h"
#include "safetensors/safetensors.h"

namespace dtrain {

// The names of the numbers that a model predicts: those of its data, or target_0 and so on.
std::vector<std::string> target_names(const DatasetInfo& data);

// Texts by name (docs/export.md): the classes, how pixels are normalised, the job and the step.
Metadata model_description(const JobPlan& job, const TrainingState& state);

// For a run: the layers and classes; if it is `alone` on its page, what it keeps of its examples, and with
// `mistakes` the predictions of the newest good checkpoint for the first 10,000 test examples. Omits what is
// not available.
ModelReport model_report_of(const std::filesystem::path& run, bool alone, bool mistakes);

}  // namespace dtrain
