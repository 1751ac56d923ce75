#include "inference/prediction_text.h"

#include <fmt/format.h>

#include "core/text.h"
#include "tables/csv_file.h"

namespace dtrain {
namespace {

std::string title_of(const std::string& file, const Prediction& prediction) {
  return file + (prediction.index ? fmt::format("[{}]", *prediction.index) : "");
}

}  // namespace

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
