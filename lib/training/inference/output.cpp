#include "inference/output.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string_view>

#include "core/text.h"
#include "csv/csv_file.h"

namespace dtrain {
namespace {

std::string file_text(const FileReport& file) {
  size_t width = 6;
  for (const TensorReport& tensor : file.tensors) width = std::max(width, printable(tensor.name, 80).size());
  std::string text = fmt::format("\n{}\n", file.name);
  for (const TensorReport& tensor : file.tensors) {
    const char* const verdict = !tensor.good ? "unknown" : *tensor.good ? "OK" : "BAD";
    text +=
        fmt::format("  {:<{}}  {:<4}  {:<20}  {:>10}  {}\n", printable(tensor.name, 80), width, tensor.dtype,
                    fmt::format("[{}]", fmt::join(tensor.shape, ", ")), human_bytes(tensor.bytes), verdict);
  }
  return text;
}

std::string state_text(const TrainingState& state) {
  std::string text;
  size_t width = std::string_view("learning rate").size();
  for (const auto& [name, value] : state.metrics) width = std::max(width, printable(name, 80).size());
  const auto line = [&text, width](const std::string& label, const std::string& value) {
    text += fmt::format("  {:<{}}  {}\n", label, width, printable(value, 1000));
  };
  line("run", fmt::format("{} on {}", state.run, counted(state.replicas, "replica")));
  line("step", fmt::format("{}, after {} and {} examples of the next", with_separators(state.step),
                           counted(state.epoch, "epoch"), with_separators(state.position)));
  line("learning rate", fmt::format("{:g}", state.learning_rate));
  if (!state.metrics.empty() && state.validation_examples > 0)
    line("evaluated on", fmt::format("{} validation examples", with_separators(state.validation_examples)));
  for (const auto& [name, value] : state.metrics) line(printable(name, 80), fmt::format("{:.6g}", value));
  if (!state.suspicion.empty()) line("suspect", state.suspicion);
  line("saved by", fmt::format("dtrain {}, LibTorch {}", state.dtrain, state.libtorch));
  return text;
}

std::string title_of(const std::string& file, const Prediction& prediction) {
  return file + (prediction.index ? fmt::format("[{}]", *prediction.index) : "");
}

}  // namespace

std::string checkpoint_text(const std::filesystem::path& path, const CheckpointReport& report) {
  std::string text = printable(path.string(), 1000) + "\n";
  if (report.state) text += state_text(*report.state);
  for (const FileReport& file : report.files) text += file_text(file);
  if (!report.problems.empty()) text += "\n";
  for (const std::string& problem : report.problems) text += printable(problem, 2000) + "\n";
  text += report.problems.empty() ? "\nall of it is as it was saved\n" : "\nDAMAGED\n";
  return text + (report.state && !report.state->suspicion.empty() ? "SUSPECT\n" : "");
}

std::string checkpoint_line(const std::filesystem::path& path, const CheckpointReport& report,
                            const std::string& best_by) {
  const bool suspect = report.state && !report.state->suspicion.empty();
  const char* const word = !report.problems.empty() ? "DAMAGED" : suspect ? "SUSPECT" : "OK";
  std::string text = fmt::format("{:<8}{}", word, path.filename().string());
  if (report.state) {
    text += fmt::format("  epoch {}", report.state->epoch);
    for (const auto& [name, value] : report.state->metrics)
      text += fmt::format("  {} {:.4g}", printable(name), value);
  }
  text += best_by.empty() ? "\n" : "  best by " + best_by + "\n";
  for (const std::string& problem : report.problems) text += "        " + printable(problem, 2000) + "\n";
  if (suspect) text += "        " + printable(report.state->suspicion, 2000) + "\n";
  return text;
}

Event checkpoint_document(const std::filesystem::path& path, const CheckpointReport& report,
                          const std::string& best_by) {
  Event json = {{"path", path.string()},
                {"good", report.problems.empty()},
                {"problems", report.problems},
                {"best", !best_by.empty()}};
  if (!best_by.empty()) json["best_by"] = best_by;
  if (report.state) json["state"] = to_json(*report.state);
  json["files"] = Event::array();
  for (const FileReport& file : report.files) {
    Event tensors = Event::array();
    for (const TensorReport& tensor : file.tensors) {
      tensors.push_back({{"name", tensor.name},
                         {"dtype", tensor.dtype},
                         {"shape", tensor.shape},
                         {"bytes", tensor.bytes},
                         {"good", tensor.good ? Event(*tensor.good) : Event()}});
    }
    json["files"].push_back({{"name", file.name}, {"tensors", tensors}});
  }
  return json;
}

std::string prediction_text(const std::string& file, size_t width, const DatasetInfo& data,
                            const Prediction& prediction) {
  std::string line = fmt::format("{:<{}}", printable(title_of(file, prediction), 1000), width);
  for (const ClassProbability& one : prediction.classes)
    line += fmt::format("  {} {:.4f}", class_title(data, one.label), one.probability);
  return line + "\n";
}

std::string prediction_heading(const DatasetInfo& data) {
  CsvRow row = {"file", "class"};
  for (int64_t label = 0; label < data.classes; ++label) row.push_back("p_" + class_name(data, label));
  return csv_line(row);
}

std::string prediction_row(const std::string& file, const DatasetInfo& data, const Prediction& prediction) {
  CsvRow row(static_cast<size_t>(data.classes) + 2);
  row[0] = title_of(file, prediction);
  row[1] = class_name(data, prediction.classes.front().label);
  for (const ClassProbability& one : prediction.classes)
    row[static_cast<size_t>(one.label) + 2] = fmt::format("{:.7g}", one.probability);
  return csv_line(row);
}

Event prediction_document(const std::string& file, const DatasetInfo& data, const Prediction& prediction) {
  Event line = {{"file", file}};
  if (prediction.index) line["index"] = *prediction.index;
  line["predictions"] = Event::array();
  for (const ClassProbability& one : prediction.classes) {
    Event entry = {{"class", one.label}};
    if (!data.class_names.empty()) entry["name"] = class_name(data, one.label);
    entry["probability"] = one.probability;
    line["predictions"].push_back(entry);
  }
  return line;
}

}  // namespace dtrain
