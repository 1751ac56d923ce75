// Makes the part of a report about a trained model.
#pragma once

#include <filesystem>

#include "report/model_report.h"

namespace dtrain {

// For a run: the layers, and with `mistakes` the predictions of the newest good checkpoint for the first
// 10,000 test examples. Omits what is not available.
ModelReport model_report_of(const std::filesystem::path& run, bool mistakes);

}  // namespace dtrain
