// Predicts the rows of tables in files with a trained model.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "models/model.h"
#include "plan/job_plan.h"
#include "safetensors/safetensors.h"

namespace dtrain {

struct RowPrediction {
  int64_t row = 0;                       // of its file, from 1
  std::optional<std::string> name = {};  // of the most probable class, if classes are predicted
  std::vector<double> numbers = {};      // what is predicted, or the probability of each class
};

// For a model of numbers, which was trained on a csv file or on arrays.
class TablePredictor {
 public:
  // With `threshold`, for outputs that say yes or no, it is yes from this probability on, and numbers to
  // predict are 1 or 0. Throws Error(kCheckpoint) if the variables are another model's.
  TablePredictor(const JobPlan& job, const NamedTensors& variables, std::optional<double> threshold = {});

  // The names of what is predicted of a row, in the order of a RowPrediction: of classes the most probable
  // one ("class", or the column's name) and the probability of each ("p_NAME"); otherwise the numbers, which
  // if they say yes or no are probabilities, or with a threshold 1 and 0.
  const std::vector<std::string>& columns() const { return columns_; }

  // Predicts each row of a file: a CSV file with the columns that the model was trained on, in any order and
  // with any others besides; or for a model of arrays a .npy file. Warns of words that no training example
  // had. Throws Error(kData) that names the file and the row.
  void predict_file(const std::filesystem::path& path,
                    const std::function<void(const std::string& line)>& on_warning,
                    const std::function<void(const RowPrediction&)>& on_row) const;

 private:
  JobPlan job_;
  std::shared_ptr<Model> model_;
  std::optional<double> threshold_;
  std::vector<std::string> columns_;
};

}  // namespace dtrain
