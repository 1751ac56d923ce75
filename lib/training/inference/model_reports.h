// What a report shows of a trained model.
#pragma once

#include <filesystem>

#include "report/model_report.h"

namespace dtrain {

// Of a run: the layers, and with `mistakes` what the newest good checkpoint makes of the test examples, the
// first 10,000. What cannot be had is left out.
ModelReport model_report_of(const std::filesystem::path& run, bool mistakes);

}  // namespace dtrain
