#include "tables/table_format.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "core/error.h"

namespace dtrain {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

TableColumn column_from(const json& document) {
  TableColumn column;
  document.at("name").get_to(column.name);
  column.is_number = !document.contains("categories");
  if (column.is_number) {
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
    if (column.is_number) {
      one["mean"] = column.mean;
      one["standard_deviation"] = column.standard_deviation;
    } else {
      one["categories"] = column.categories;
    }
    inputs.push_back(one);
  }
  const ordered_json document = {{"inputs", inputs},
                                 {"targets", format.targets},
                                 {"classes", format.classes},
                                 {"fills_missing", format.fills_missing}};
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
    if (format.width() < 1 || format.targets.empty()) throw std::out_of_range("width");
    return format;
  } catch (const std::exception&) {
    throw Error(ExitCode::kCheckpoint,
                "the checkpoint's description of its table is not one that dtrain saves");
  }
}

}  // namespace dtrain
