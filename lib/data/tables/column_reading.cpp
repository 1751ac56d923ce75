#include "tables/column_reading.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "core/text.h"
#include "yaml/yaml_text.h"

namespace dtrain {
namespace {

constexpr size_t kMostNamed = 8;  // columns in a line

std::string in_quotes(const std::string& cell) { return "'" + printable(cell, 60) + "'"; }

// "data.columns: {a: words}"
std::string columns_field(const std::string& name, const char* kind) {
  return "data.columns: " + yaml_text(nlohmann::ordered_json{{name, kind}});
}

// Decides as decide_columns() says.
class Decision {
 public:
  Decision(const std::vector<CountedColumn>& columns, char separator, const StyleWish& wish)
      : columns_(columns), separator_(separator), wish_(wish) {}

  DecidedColumns decide() {
    for (const CountedColumn& column : columns_) votes_ += has_numbers(column) ? vote_of(column.counts) : 0;
    for (const CountedColumn& column : columns_) decimals_.push_back(decimal_of(column));
    for (const char decimal : {'.', ','}) thousands_[decimal] = thousands_beside(decimal);
    DecidedColumns decided;
    for (size_t i = 0; i < columns_.size(); ++i) {
      const NumberStyle style{decimals_[i], thousands_[decimals_[i]]};
      decided.columns.push_back(decide_one(columns_[i], style));
      const DecidedColumn& one = decided.columns.back();
      if (!one.refusal.empty()) continue;
      if (one.reading.kind == CellKind::kNumber) warn_of_doubt(columns_[i], style, decided.warnings);
      if (one.reading.kind == CellKind::kWord) warn_of_amounts(columns_[i], decided.warnings);
    }
    return decided;
  }

 private:
  static bool has_numbers(const CountedColumn& column) {
    if (!column.kind.empty()) return column.kind == "number";
    return are_most(column.counts.numbers_in(kEveryStyle), column.counts.cells());
  }

  // Cells that show a decimal comma, less those that show a decimal point.
  static int64_t vote_of(const ColumnCounts& counts) {
    return counts.numbers_in(kCommaStyles) - counts.numbers_in(kPointStyles);
  }

  // The first cell that has either decimal sign, such as 1.234; nullptr: there is none.
  static const CellSort* ambiguous_in(const ColumnCounts& counts) {
    for (const CellSort& sort : counts.sorts()) {
      const bool either = (sort.styles & kPointStyles) != 0 && (sort.styles & kCommaStyles) != 0;
      // Spaces and apostrophes mean the same beside both.
      if (either && (sort.styles & (bit_of({'.', 0}) | bit_of({',', 0}))) != 0 && sort.styles != kEveryStyle)
        return &sort;
    }
    return nullptr;
  }

  char decimal_of(const CountedColumn& column) const {
    if (wish_.decimal) return *wish_.decimal;
    if (wish_.thousands == '.') return ',';
    if (wish_.thousands == ',') return '.';
    if (const int64_t vote = vote_of(column.counts); vote != 0) return vote > 0 ? ',' : '.';
    if (votes_ != 0) return votes_ > 0 ? ',' : '.';
    const CellSort* const either = ambiguous_in(column.counts);
    const bool comma = either && (either->styles & bit_of({',', 0})) != 0 && separator_ != ',';
    return comma ? ',' : '.';
  }

  // Cells that are numbers with this sign between thousands alone.
  static int64_t needing(const ColumnCounts& counts, char decimal, char thousands) {
    return counts.cells_where([&](const CellSort& sort) {
      return (sort.styles & bit_of({decimal, thousands})) != 0 && (sort.styles & bit_of({decimal, 0})) == 0;
    });
  }

  char thousands_beside(char decimal) const {
    if (wish_.thousands) return *wish_.thousands == decimal ? '\0' : *wish_.thousands;
    char best = 0;
    int64_t most = 0;
    for (const char thousands : {decimal == '.' ? ',' : '.', ' ', '\''}) {
      int64_t all = 0;
      bool shown = false;
      for (size_t i = 0; i < columns_.size(); ++i) {
        if (decimals_[i] != decimal || !has_numbers(columns_[i])) continue;
        const int64_t here = needing(columns_[i].counts, decimal, thousands);
        all += here;
        shown = shown || (here > 0 && (decimal == ',' || here * 10 >= columns_[i].counts.cells()));
      }
      if (shown && all > most) {
        most = all;
        best = thousands;
      }
    }
    return best;
  }

  DecidedColumn decide_one(const CountedColumn& column, NumberStyle style) const {
    const ColumnCounts& counts = column.counts;
    if (column.kind == "words") return {{CellKind::kWord, {}}};
    if (column.kind == "date") return {{CellKind::kDate, {}}};
    const CellSort* const other = counts.first_other(style);
    if (other == nullptr) return {{CellKind::kNumber, style}};
    if (column.kind == "number" || has_numbers(column))
      return {{CellKind::kNumber, style}, refusal_of_number(column, style, *other)};
    if (are_most(counts.cells_of(CellForm::kDate), counts.cells()))
      return {{CellKind::kDate, {}}, refusal_of_dates(column)};
    return {{CellKind::kWord, {}}};
  }

  static std::string refusal_of_number(const CountedColumn& column, NumberStyle style,
                                       const CellSort& other) {
    const ColumnCounts& counts = column.counts;
    const int64_t numbers = counts.numbers_in(bit_of(style));
    std::string text = fmt::format("{}, row {}: {} is no number{}, and {} of {} cells are; correct it",
                                   in_column(column.name), other.row, in_quotes(other.cell),
                                   style == NumberStyle() ? "" : " with " + style_text(style),
                                   with_separators(numbers), with_separators(counts.cells()));
    for (const char thousands : {'.', ',', ' ', '\''}) {
      const NumberStyle with{style.decimal, thousands};
      if (thousands != style.decimal && (other.styles & bit_of(with)) != 0)
        text += fmt::format(", or read it as {} with data.thousands: {}",
                            yaml_text(*number_in_cell(other.cell, with)), word_for(thousands));
    }
    text += fmt::format(", or say that it means a missing value with data.missing_values: {}",
                        yaml_text(nlohmann::ordered_json::array({other.cell})));
    if (column.kind.empty())
      text += fmt::format(", or what the column holds with {} (each value a category) or {}",
                          columns_field(column.name, "words"), columns_field(column.name, "ignore"));
    return text;
  }

  static std::string refusal_of_dates(const CountedColumn& column) {
    const ColumnCounts& counts = column.counts;
    const CellSort* const date = first_of(counts, CellForm::kDate);
    return fmt::format(
        "{}, row {}: {} is a date, as {} of {} cells are; {} makes numbers of them (days since "
        "1970-01-01), {} categories, and {} leaves the column out",
        in_column(column.name), date->row, in_quotes(date->cell),
        with_separators(counts.cells_of(CellForm::kDate)), with_separators(counts.cells()),
        columns_field(column.name, "date"), columns_field(column.name, "words"),
        columns_field(column.name, "ignore"));
  }

  static const CellSort* first_of(const ColumnCounts& counts, CellForm form) {
    const auto found = std::ranges::find(counts.sorts(), form, &CellSort::form);
    return found == counts.sorts().end() ? nullptr : &*found;
  }

  static void warn_of_amounts(const CountedColumn& column, std::vector<std::string>& warnings) {
    const ColumnCounts& counts = column.counts;
    const CellSort* const amount = first_of(counts, CellForm::kAmount);
    const int64_t numbers = counts.cells_of(CellForm::kAmount) + counts.numbers_in(kEveryStyle);
    if (amount == nullptr || !column.kind.empty() || !are_most(numbers, counts.cells())) return;
    warnings.push_back(fmt::format(
        "{}, row {}: {} is a number with a sign, so that each value of the column is a category: remove "
        "the signs, or say that it is meant with {}",
        in_column(column.name), amount->row, in_quotes(amount->cell), columns_field(column.name, "words")));
  }

  // Says how numbers are read that no other cell of the file decides about.
  void warn_of_doubt(const CountedColumn& column, NumberStyle style,
                     std::vector<std::string>& warnings) const {
    if (wish_.decimal || wish_.thousands) return;
    const CellSort* const either = ambiguous_in(column.counts);
    if (either == nullptr) return;
    const bool as_groups = (either->styles & bit_of({style.decimal, 0})) == 0;
    if (as_groups ? shows_groups(style) : votes_ != 0 || vote_of(column.counts) != 0) return;
    if (!as_groups && style.decimal == '.' && separator_ == ',') return;  // as nearly all files are
    const NumberStyle other = as_groups ? NumberStyle{style.decimal == '.' ? ',' : '.', 0}
                                        : NumberStyle{style.decimal == '.' ? ',' : '.', style.decimal};
    warnings.push_back(
        fmt::format("{}, row {}: {} is read as {}, and could be {}; data.decimal: {} or {} says which it is",
                    in_column(column.name), either->row, in_quotes(either->cell),
                    yaml_text(number_in_cell(either->cell, style).value_or(0)),
                    yaml_text(number_in_cell(either->cell, other).value_or(0)), word_for(style.decimal),
                    word_for(other.decimal)));
  }

  // Whether any cell of the file has groups of thousands for certain.
  bool shows_groups(NumberStyle style) const {
    return std::ranges::any_of(columns_, [&](const CountedColumn& column) {
      return has_numbers(column) && std::ranges::any_of(column.counts.sorts(), [&](const CellSort& sort) {
               return sort.styles == bit_of(style);
             });
    });
  }

  const std::vector<CountedColumn>& columns_;
  const char separator_;
  const StyleWish& wish_;
  int64_t votes_ = 0;  // of all columns of numbers: as vote_of()
  std::vector<char> decimals_;
  std::map<char, char> thousands_;  // by decimal sign
};

std::string names_text(std::vector<std::string> names) {
  const bool cut = names.size() > kMostNamed;
  if (cut) names.resize(kMostNamed);
  return printable(join(names), 400) + (cut ? ", ..." : "");
}

}  // namespace

std::string in_column(const std::string& name) { return fmt::format("column '{}'", printable(name, 100)); }

CellSort& ColumnCounts::sort_of(CellForm form, NumberStyles styles) {
  const auto is_same = [&](const CellSort& sort) { return sort.form == form && sort.styles == styles; };
  if (last_ < sorts_.size() && is_same(sorts_[last_])) return sorts_[last_];
  const auto at = std::ranges::find_if(sorts_, is_same);
  last_ = static_cast<size_t>(at - sorts_.begin());
  if (at == sorts_.end()) sorts_.push_back({form, styles});
  return sorts_[last_];
}

void ColumnCounts::add(std::string_view cell, int64_t row) {
  const NumberStyles styles = styles_of(cell);
  const CellForm form = styles != 0          ? CellForm::kNumber
                        : days_in_cell(cell) ? CellForm::kDate
                        : is_amount(cell)    ? CellForm::kAmount
                                             : CellForm::kWord;
  CellSort& sort = sort_of(form, styles);
  if (sort.count++ > 0) return;
  sort.row = row;
  sort.cell = cell;
}

void ColumnCounts::merge(const ColumnCounts& later) {
  for (const CellSort& more : later.sorts_) {
    CellSort& sort = sort_of(more.form, more.styles);
    const int64_t count = sort.count + more.count;
    if (sort.count == 0) sort = more;
    sort.count = count;
  }
}

const CellSort* ColumnCounts::first_other(NumberStyle style) const {
  const CellSort* first = nullptr;
  for (const CellSort& sort : sorts_) {
    if ((sort.styles & bit_of(style)) == 0 && (first == nullptr || sort.row < first->row)) first = &sort;
  }
  return first;
}

DecidedColumns decide_columns(const std::vector<CountedColumn>& columns, char separator,
                              const StyleWish& wish) {
  return Decision(columns, separator, wish).decide();
}

std::string reading_text(const std::vector<std::string>& names, const std::vector<ColumnReading>& readings,
                         char separator) {
  std::vector<NumberStyle> styles;
  std::map<std::string, std::vector<std::string>> columns;  // by style or kind
  for (size_t i = 0; i < names.size(); ++i) {
    const ColumnReading& reading = readings[i];
    if (reading.kind == CellKind::kWord) columns["words"].push_back(names[i]);
    if (reading.kind == CellKind::kDate) columns["dates"].push_back(names[i]);
    if (reading.kind != CellKind::kNumber) continue;
    columns[style_text(reading.style)].push_back(names[i]);
    if (std::ranges::find(styles, reading.style) == styles.end()) styles.push_back(reading.style);
  }
  std::string text = separator == 0      ? "typed columns"
                     : separator == ';'  ? "separated by semicolons"
                     : separator == '\t' ? "separated by tabs"
                     : separator == '|'  ? "separated by bars"
                                         : "separated by commas";
  for (const NumberStyle style : styles) {
    if (separator == 0) break;  // there is no text
    const std::string how = style_text(style);
    text += "; numbers with " + how + (styles.size() > 1 ? ": " + names_text(columns[how]) : "");
  }
  if (!columns["words"].empty()) text += "; words: " + names_text(columns["words"]);
  if (!columns["dates"].empty()) text += "; dates: " + names_text(columns["dates"]);
  return text;
}

}  // namespace dtrain
