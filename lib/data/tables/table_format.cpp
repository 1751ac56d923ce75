#include "tables/table_format.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "core/checksum.h"
#include "core/error.h"

namespace dtrain {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

// A kind and a style that formats of earlier versions do not name are those that these had.
void add_reading(ordered_json& column, const ColumnReading& reading) {
  if (reading.kind == CellKind::kDate) column["dates"] = true;
  if (reading.style == NumberStyle()) return;
  column["decimal"] = std::string(1, reading.style.decimal);
  if (reading.style.thousands != 0) column["thousands"] = std::string(1, reading.style.thousands);
}

char sign_in(const json& column, const char* name, char otherwise, std::string_view known) {
  const std::string sign = column.value(name, std::string(otherwise == 0 ? 0 : 1, otherwise));
  if (sign.empty()) return otherwise;
  if (sign.size() != 1 || known.find(sign) == std::string_view::npos) throw std::out_of_range(name);
  return sign[0];
}

ColumnReading reading_from(const json& column, bool words) {
  ColumnReading reading;
  reading.kind = column.value("dates", false) ? CellKind::kDate : words ? CellKind::kWord : CellKind::kNumber;
  reading.style.decimal = sign_in(column, "decimal", '.', ".,");
  reading.style.thousands = sign_in(column, "thousands", 0, "., '");
  if (reading.style.thousands == reading.style.decimal) throw std::out_of_range("thousands");
  return reading;
}

TableColumn column_from(const json& document) {
  TableColumn column;
  document.at("name").get_to(column.name);
  column.reading = reading_from(document, document.contains("categories"));
  if (column.is_number()) {
    document.at("mean").get_to(column.mean);
    document.at("standard_deviation").get_to(column.standard_deviation);
    if (!std::isfinite(column.mean) || !(column.standard_deviation > 0)) throw std::out_of_range("mean");
  } else {
    document.at("categories").get_to(column.categories);
  }
  return column;
}

}  // namespace

int64_t TableFormat::width() const {
  int64_t width = 0;
  for (const TableColumn& column : inputs) width += column.width();
  return width;
}

std::string table_format_text(const TableFormat& format) {
  ordered_json inputs = ordered_json::array();
  for (const TableColumn& column : format.inputs) {
    ordered_json one = {{"name", column.name}};
    add_reading(one, column.reading);
    if (column.is_number()) {
      one["mean"] = column.mean;
      one["standard_deviation"] = column.standard_deviation;
    } else {
      one["categories"] = column.categories;
    }
    inputs.push_back(one);
  }
  ordered_json targets = ordered_json::array();
  for (const ColumnReading& reading : format.target_readings) {
    ordered_json one = {{"words", reading.kind == CellKind::kWord}};
    add_reading(one, reading);
    targets.push_back(one);
  }
  const ordered_json document = {{"inputs", inputs},
                                 {"targets", format.targets},
                                 {"target_readings", targets},
                                 {"classes", format.classes},
                                 {"fills_missing", format.fills_missing},
                                 {"missing_values", format.missing_values},
                                 {"separator", std::string(1, format.separator)}};
  return document.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
}

TableFormat parse_table_format(const std::string& text) {
  try {
    const json document = json::parse(text);
    TableFormat format;
    for (const json& column : document.at("inputs")) format.inputs.push_back(column_from(column));
    document.at("targets").get_to(format.targets);
    document.at("classes").get_to(format.classes);
    document.at("fills_missing").get_to(format.fills_missing);
    for (const json& target : document.value("target_readings", json::array()))
      format.target_readings.push_back(reading_from(target, target.at("words").get<bool>()));
    if (format.target_readings.empty())  // of earlier versions, whose classes were words
      format.target_readings.assign(
          format.targets.size(),
          {format.classes.empty() ? CellKind::kNumber : CellKind::kWord, NumberStyle()});
    format.missing_values = document.value("missing_values", std::vector<std::string>());
    format.separator = sign_in(document, "separator", ',', ",;\t|");
    if (format.width() < 1 || format.targets.empty() ||
        format.target_readings.size() != format.targets.size())
      throw std::out_of_range("width");
    return format;
  } catch (const std::exception&) {
    throw Error(ExitCode::kCheckpoint,
                "the checkpoint's description of its table is not one that dtrain saves");
  }
}

std::string checksum_of(TableFormat format) {
  for (TableColumn& column : format.inputs) column.standard_deviation = 1;
  return checksum_of(table_format_text(format));
}

}  // namespace dtrain
