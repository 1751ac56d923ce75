// Predicts pictures and the rows of tables in files with a trained model.
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

namespace dtrain {

struct ClassProbability {
  int64_t label = 0;
  double probability = 0;  // softmax of the logits
};

struct Prediction {
  std::optional<int64_t> index;           // of the image, in a file with many
  std::vector<ClassProbability> classes;  // the most probable first
};

struct RowPrediction {
  int64_t row = 0;                       // of its file, from 1
  std::optional<std::string> id = {};    // the cell of the column data.id, if the job has one
  std::optional<std::string> name = {};  // of the most probable class, if classes are predicted
  std::vector<double> numbers = {};      // what is predicted, or the probability of each class
};

// A trained model.
struct Predictor {
  const JobPlan& job;
  std::shared_ptr<Model> model;
  // For outputs that say yes or no: yes from this probability on. Then the second class is predicted; or if
  // numbers are predicted, they are 1 for yes and 0 for no.
  std::optional<double> threshold;
};

// Predicts each picture in a file, in order, with only some of them in memory at a time: its `top` most
// probable classes. Pictures are fitted to the model's input as in training (data.image), or with `resize`
// stretched. Throws Error(kData) that names the file, Error(kCheckpoint) as finite_outputs() does.
void predict_picture_file(const Predictor& predictor, const std::filesystem::path& path, bool resize,
                          int64_t top, const std::function<void(const Prediction&)>& on_prediction);

// The names of what is predicted for a row, in the order of a RowPrediction: the column data.id; for classes
// the most probable one ("class", or the column's name) and the probability of each ("p_NAME"); otherwise the
// numbers: if they say yes or no, probabilities, or with a threshold 1 and 0.
std::vector<std::string> predicted_columns(const JobPlan& job);

// For a model of numbers, which was trained on a table or on arrays: predicts each row of a file. That is
// a CSV file with the columns that the model was trained on, in any order and with any others besides; or for
// a model of arrays a .npy file. The column data.id has to be there, too. Warns of words that no training
// example had. Throws Error(kData) that names the file and the row.
void predict_table_file(const Predictor& predictor, const std::filesystem::path& path,
                        const std::function<void(const std::string& line)>& on_warning,
                        const std::function<void(const RowPrediction&)>& on_row);

}  // namespace dtrain
