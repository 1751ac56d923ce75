#include "pictures/parquet_pictures.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <vector>

#include "codecs/image_file.h"
#include "core/data_errors.h"
#include "core/text.h"
#include "parquet/parquet_file.h"
#include "pictures/picture_list.h"
#include "pictures/shards.h"
#include "yaml/problem.h"

namespace dtrain {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

// What the metadata says of a column (https://huggingface.co/docs/datasets/about_dataset_features).
json feature_of(const ParquetTable& table, const std::string& column) {
  const json notes = json::parse(table.note("huggingface"), nullptr, /*allow_exceptions=*/false);
  const json* at = &notes;
  for (const std::string& key : {std::string("info"), std::string("features"), column}) {
    const auto next = at->is_object() ? at->find(key) : at->end();
    if (next == at->end()) return json::object();
    at = &*next;
  }
  return *at;
}

bool is_feature(const json& feature, const char* type) {
  return feature.is_object() && feature.contains("_type") && feature["_type"] == type;
}

class PictureColumns {
 public:
  PictureColumns(const fs::path& path, const ParquetTable& table, const DataSpec& spec)
      : path_(path), table_(table), spec_(spec) {
    for (const std::string& name : spec.ignore) place_of("data.ignore", name);
    picture_ = find_pictures();
    label_ = find_labels();
    const json feature = feature_of(table, columns()[label_].name);
    if (is_feature(feature, "ClassLabel") && feature.contains("names")) names_ = feature["names"];
    if (!names_.is_null() && (!names_.is_array() || names_.empty() || names_.size() > kMostPictureClasses))
      refuse_file(path, "the names of the classes in its metadata are no list of names");
  }

  size_t picture() const { return picture_; }
  // The names of the classes as JSON; null: it has none.
  const json& names() const { return names_; }

  // The class of each row: a number, or a word.
  std::vector<std::string> classes() const {
    std::vector<std::string> all;
    const bool are_words = columns()[label_].kind == ParquetKind::kWord;
    table_.read(label_, are_words, [&](const fs::path&, const ParquetCells& cells, int64_t first) {
      for (int64_t i = 0; i < cells.rows(); ++i) {
        const auto at = static_cast<size_t>(i);
        all.push_back(are_words ? word_of(cells, cells.places[at], first + i)
                                : std::to_string(number_of(cells.numbers[at], first + i)));
      }
    });
    return all;
  }

 private:
  const std::vector<ParquetColumn>& columns() const { return table_.columns(); }

  std::string shown_columns() const {
    std::vector<std::string> names;
    for (const ParquetColumn& column : columns()) names.push_back(printable(column.name, 60));
    return printable(join(names), 300);
  }

  size_t place_of(const char* field, const std::string& name) const {
    const auto found = std::ranges::find(columns(), name, &ParquetColumn::name);
    if (found == columns().end())
      throw FieldError(field, "{} has no column '{}'; it has {}", printable(path_.string(), 1000),
                       printable(name, 100), shown_columns());
    return static_cast<size_t>(found - columns().begin());
  }

  // The columns that are looked at and satisfy `is_one`.
  template <class IsOne>
  std::vector<size_t> columns_where(const IsOne& is_one) const {
    std::vector<size_t> places;
    for (size_t i = 0; i < columns().size(); ++i) {
      const bool ignored = contains(spec_.ignore, columns()[i].name);
      if (!ignored && is_one(columns()[i])) places.push_back(i);
    }
    return places;
  }

  size_t find_pictures() const {
    const std::vector<size_t> all =
        columns_where([&](const ParquetColumn& column) { return column.has_bytes && !is_target(column); });
    if (all.empty())
      refuse_file(path_,
                  "has no column of pictures, which is binary or a struct with binary 'bytes'; it has {}",
                  shown_columns());
    if (all.size() > 1)
      throw FieldError("data.ignore", "missing; {} has pictures in '{}' and in '{}': name the other columns",
                       printable(path_.string(), 1000), printable(columns()[all[0]].name, 60),
                       printable(columns()[all[1]].name, 60));
    return all.front();
  }

  bool is_target(const ParquetColumn& column) const { return contains(spec_.target, column.name); }

  // Words without a type that says so, as old versions of Spark write them, look as pictures do.
  bool may_be_class(const ParquetColumn& column) const {
    return (!column.has_bytes || is_target(column)) &&
           (column.kind == ParquetKind::kNumber || column.kind == ParquetKind::kWord);
  }

  size_t find_labels() const {
    if (spec_.target.size() > 1)
      throw FieldError("data.target", "names several columns; a picture has one class");
    if (!spec_.target.empty()) {
      const size_t place = place_of("data.target", spec_.target.front());
      if (may_be_class(columns()[place])) return place;
      refuse_file(path_, "column '{}' holds neither numbers nor words, which classes are",
                  printable(columns()[place].name, 100));
    }
    for (const auto& found :
         {columns_where([&](const ParquetColumn& column) {
            return may_be_class(column) && is_feature(feature_of(table_, column.name), "ClassLabel");
          }),
          columns_where([&](const ParquetColumn& column) {
            return may_be_class(column) && (column.name == "label" || column.name == "labels");
          }),
          columns_where([&](const ParquetColumn& column) { return may_be_class(column); })}) {
      if (found.size() == 1) return found.front();
      if (found.size() > 1) break;
    }
    throw FieldError("data.target", "missing; name the column of the classes in {}, one of: {}",
                     printable(path_.string(), 1000), shown_columns());
  }

  [[noreturn]] void refuse_class(int64_t row, const std::string& fault) const {
    refuse_file(path_, "column '{}', row {}: {}", printable(columns()[label_].name, 100), row, fault);
  }

  int64_t number_of(double value, int64_t row) const {
    const auto classes = static_cast<int64_t>(names_.is_null() ? kMostPictureClasses : names_.size());
    if (std::isnan(value)) refuse_class(row, "the class is missing");
    if (value == std::floor(value) && value >= 0 && value < static_cast<double>(classes))
      return static_cast<int64_t>(value);
    refuse_class(row,
                 fmt::format("{:g} is no class{}{}", value,
                             names_.is_null() ? ", which are whole numbers from 0"
                                              : fmt::format(": the file names classes 0 to {}", classes - 1),
                             value == -1 ? "; -1 marks pictures without a class: remove this file" : ""));
  }

  std::string word_of(const ParquetCells& cells, int32_t place, int64_t row) const {
    if (place < 0 || cells.words[static_cast<size_t>(place)].empty())
      refuse_class(row, "the class is missing");
    return std::string(cells.words[static_cast<size_t>(place)]);
  }

  const fs::path& path_;
  const ParquetTable& table_;
  const DataSpec& spec_;
  size_t picture_ = 0, label_ = 0;
  json names_;
};

// As the name of a file ends with such a picture in it.
std::string ending_for(const std::string& picture) {
  try {
    const std::string ending = "." + in_lower_case(image_facts(picture).format);
    return is_picture_name("row" + ending) ? ending : ".jpg";
  } catch (const Error&) {
    return ".jpg";  // decoding it will say what is wrong
  }
}

}  // namespace

void write_pictures_as_tar(const fs::path& path, const DataSpec& spec,
                           const std::function<void(std::string_view bytes)>& write) {
  if (!is_parquet(path)) refuse_file(path, "is no Parquet file");
  const ParquetTable table({path});
  if (table.rows() == 0) refuse_file(path, "has no rows");
  const PictureColumns columns(path, table, spec);
  if (!columns.names().is_null())
    write(tar_member(kShardsNote, json{{"classes", columns.names()}}.dump(-1, ' ', false,
                                                                          json::error_handler_t::replace)));
  const std::vector<std::string> classes = columns.classes();
  table.read(columns.picture(), true, [&](const fs::path&, const ParquetCells& cells, int64_t first) {
    for (int64_t i = 0; i < cells.rows(); ++i) {
      const int64_t row = first + i;
      const int32_t place = cells.places[static_cast<size_t>(i)];
      const auto fault = [&](const std::string& what) { refuse_file(path, "row {}: {}", row, what); };
      if (place < 0)
        fault("has no picture in it; bytes that are null stand for a file elsewhere, which is not read");
      if (row > std::ssize(classes)) fault("has no class");
      const std::string picture(cells.words[static_cast<size_t>(place)]);
      if (std::ssize(picture) > kMaxImageFileBytes) fault("is over " + human_bytes(kMaxImageFileBytes));
      const std::string key = fmt::format("row-{:08d}", row);
      write(tar_member(key + ending_for(picture), picture));
      write(tar_member(key + ".cls", classes[static_cast<size_t>(row - 1)]));
    }
  });
  write(std::string(1024, '\0'));  // the end of a tar archive
}

bool has_picture_column(const fs::path& path) {
  if (!is_parquet(path)) return false;
  const ParquetTable table({path});
  return std::ranges::any_of(table.columns(), [&](const ParquetColumn& column) {
    return column.has_bytes &&
           (column.kind == ParquetKind::kOther || is_feature(feature_of(table, column.name), "Image"));
  });
}

}  // namespace dtrain
