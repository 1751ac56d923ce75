#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <iostream>
#include <map>
#include <set>

#include "checkpoint/checkpoint.h"
#include "commands/checkpoint_job.h"
#include "commands/commands.h"
#include "commands/report_problems.h"
#include "core/terminal.h"
#include "core/text.h"
#include "inference/prediction.h"
#include "inference/table_prediction.h"
#include "metrics/event.h"
#include "pictures/picture_list.h"
#include "tables/csv_file.h"

namespace dtrain {
namespace {

namespace fs = std::filesystem;

// The pictures in a folder and in the folders below it, by name. What is left out is counted by its ending.
class PicturesBelow {
 public:
  explicit PicturesBelow(const fs::path& folder) { look_into(folder); }
  const std::vector<std::string>& files() const { return files_; }
  // "2 .tif, 1 .txt"; "" if nothing was left out.
  std::string left_out() const {
    std::vector<std::string> endings;
    for (const auto& [ending, count] : others_)
      endings.push_back(fmt::format("{} {}", with_separators(count), printable(ending, 20)));
    return join(endings);
  }

 private:
  void look_into(const fs::path& folder) {
    if (!seen_.insert(fs::canonical(folder)).second) return;  // a link leads back
    std::vector<fs::path> paths;
    for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
      if (!is_left_out(entry.path().filename().string())) paths.push_back(entry.path());
    }
    std::sort(paths.begin(), paths.end());
    for (const fs::path& path : paths) {
      if (fs::is_directory(path)) {
        look_into(path);
      } else if (is_picture_name(path.filename().string())) {
        files_.push_back(path.string());
      } else {
        ++others_[path.has_extension() ? path.extension().string() : "without an ending"];
      }
    }
  }

  std::vector<std::string> files_;
  std::map<std::string, int64_t> others_;  // by ending
  std::set<fs::path> seen_;
};

// With the pictures of folders instead of these.
std::vector<std::string> files_of(const std::vector<std::string>& arguments) {
  std::vector<std::string> files;
  for (const std::string& argument : arguments) {
    std::error_code none;
    if (!fs::is_directory(argument, none)) {
      files.push_back(argument);
      continue;
    }
    try {
      const PicturesBelow folder(argument);
      if (const std::string others = folder.left_out(); !others.empty())
        report_warnings({fmt::format("{}: what is no picture that dtrain reads is left out: {}",
                                     printable(argument, 1000), others)},
                        std::cerr);
      files.insert(files.end(), folder.files().begin(), folder.files().end());
      if (folder.files().empty()) files.push_back(argument);  // reported where it is predicted
    } catch (const fs::filesystem_error& error) {
      throw Error(ExitCode::kData,
                  fmt::format("{}: cannot be read: {}", printable(error.path1().string(), 1000),
                              error.code().message()));
    }
  }
  return files;
}

void refuse_folder(const std::string& file) {
  std::error_code none;
  if (fs::is_directory(file, none))
    throw Error(
        ExitCode::kData,
        fmt::format("{}: there are no pictures (.jpg, .jpeg, .png, .webp, .ppm, .pgm) in this folder or "
                    "below it",
                    printable(file, 1000)));
}

std::string title_of(const std::string& file, const Prediction& prediction) {
  return file + (prediction.index ? fmt::format("[{}]", *prediction.index) : "");
}

std::string name_of_class(const DatasetInfo& data, int64_t label) {
  return data.class_names.empty() ? std::to_string(label) : data.class_names[static_cast<size_t>(label)];
}

CsvRow csv_heading(const DatasetInfo& data) {
  CsvRow row = {"file", "class"};
  for (int64_t label = 0; label < data.classes; ++label) row.push_back("p_" + name_of_class(data, label));
  return row;
}

// A terminal would obey some characters, which files keep.
void print_csv_line(const std::vector<std::string>& cells) {
  const std::string line = csv_line(cells);
  std::cout << (is_terminal(STDOUT_FILENO) ? printable(trimmed(line), line.size()) + "\n" : line);
}

// `prediction` has all classes.
void print_csv(const std::string& title, const DatasetInfo& data, const Prediction& prediction) {
  CsvRow row(static_cast<size_t>(data.classes) + 2);
  row[0] = title;
  row[1] = name_of_class(data, prediction.classes.front().label);
  for (const ClassProbability& one : prediction.classes)
    row[static_cast<size_t>(one.label) + 2] = fmt::format("{:.7g}", one.probability);
  print_csv_line(row);
}

void print_text(const std::string& title, size_t width, const DatasetInfo& data,
                const Prediction& prediction) {
  std::cout << fmt::format("{:<{}}", printable(title, 1000), width);
  for (const ClassProbability& one : prediction.classes)
    std::cout << fmt::format("  {} {:.4f}", class_title(data, one.label), one.probability);
  std::cout << '\n';
}

void print_json(const std::string& file, const DatasetInfo& data, const Prediction& prediction) {
  Event line = {{"file", file}};
  if (prediction.index) line["index"] = *prediction.index;
  line["predictions"] = Event::array();
  for (const ClassProbability& one : prediction.classes) {
    Event entry = {{"class", one.label}};
    if (!data.class_names.empty()) entry["name"] = data.class_names[static_cast<size_t>(one.label)];
    entry["probability"] = one.probability;
    line["predictions"].push_back(entry);
  }
  std::cout << event_text(line) << '\n';
}

// Reports the files that cannot be predicted; the others can still be.
ExitCode for_each_file(const std::vector<std::string>& files, const PredictOptions& options,
                       const std::function<void(const std::string&)>& predict) {
  ExitCode code = ExitCode::kDone;
  for (const std::string& file : files) {
    try {
      predict(file);
    } catch (const Error& error) {
      if (error.code() != ExitCode::kData) throw;
      code = ExitCode::kData;
      report_failure(std::string("dtrain: ") + error.what(), std::cerr);
      if (options.json) std::cout << event_text(Event{{"file", file}, {"error", error.what()}}) << '\n';
    }
  }
  return code;
}

// Predicts the rows of tables, and prints a table.
void predict_rows(const TablePredictor& predictor, const PredictOptions& options, const std::string& file) {
  const auto warn = [](const std::string& line) { report_warnings({line}, std::cerr); };
  predictor.predict_file(file, warn, [&](const RowPrediction& predicted) {
    std::vector<std::string> cells;
    Event line = {{"file", file}, {"row", predicted.row}};
    auto column = predictor.columns().begin();
    if (predicted.name) {
      cells.push_back(*predicted.name);
      line[*column++] = *predicted.name;
    }
    for (const double number : predicted.numbers) {
      cells.push_back(fmt::format("{:.7g}", number));
      line[*column++] = number;
    }
    if (options.json)
      std::cout << event_text(line) << '\n';
    else
      print_csv_line(cells);
  });
}

}  // namespace

ExitCode predict_command(const PredictOptions& options) {
  const auto opened = open_checkpoint(options.checkpoint, {}, describe_dataset);
  if (!opened) return ExitCode::kUsage;
  const ResumePoint& point = opened->point;
  const JobPlan& job = opened->job;
  if (options.threshold && job.spec.train.loss.kind != "binary_cross_entropy")
    throw Error(ExitCode::kUsage,
                fmt::format("--threshold is for models of binary_cross_entropy, and this one's "
                            "loss is {}; leave it out",
                            job.spec.train.loss.kind));
  const NamedTensors variables = load_model(point.checkpoint);
  if (!job.data.has_pixels) {
    const TablePredictor predictor(job, variables, options.threshold);
    if (!options.json) print_csv_line(predictor.columns());
    return for_each_file(options.files, options,
                         [&](const std::string& file) { predict_rows(predictor, options, file); });
  }
  const Predictor predictor(job, variables, options.threshold);
  const std::vector<std::string> files = files_of(options.files);
  size_t width = 0;
  for (const std::string& file : files) width = std::max(width, printable(file, 1000).size());
  if (options.csv) print_csv_line(csv_heading(job.data));
  const int64_t top = options.csv ? job.data.classes : options.top;
  return for_each_file(files, options, [&](const std::string& file) {
    refuse_folder(file);
    predictor.predict_file(file, options.resize, top, [&](const Prediction& prediction) {
      if (options.csv) return print_csv(title_of(file, prediction), job.data, prediction);
      options.json ? print_json(file, job.data, prediction)
                   : print_text(title_of(file, prediction), width, job.data, prediction);
    });
  });
}

}  // namespace dtrain
