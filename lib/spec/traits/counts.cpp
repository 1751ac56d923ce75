#include "traits/counts.h"

#include <algorithm>
#include <cmath>

namespace dtrain {
namespace {

constexpr int64_t kMostBins = 4096;
constexpr int64_t kFewestBins = 256;
constexpr int64_t kBinsOfAll = 65536;  // of all outputs together, roughly

double quotient(int64_t part, int64_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

int64_t examples_of(const Counts& counts, int64_t row) {
  int64_t sum = 0;
  for (int64_t bin = kFirstOther; bin < counts.columns(); ++bin) sum += counts.at(row, bin);
  return sum;
}

}  // namespace

int64_t score_bins(int64_t outputs) {
  return std::clamp(kBinsOfAll / std::max<int64_t>(1, outputs), kFewestBins, kMostBins);
}

double ClassCounts::precision() const { return quotient(correct, predicted); }
double ClassCounts::recall() const { return quotient(correct, actual); }
double ClassCounts::f1() const { return quotient(2 * correct, predicted + actual); }

std::vector<ClassCounts> by_class(const Counts& counts) {
  std::vector<ClassCounts> classes;
  for (int64_t row = 0; row < counts.rows(); ++row)
    classes.push_back({counts.at(row, kActual), counts.at(row, kPredicted), counts.at(row, kCorrect)});
  if (!counts.has_scores() || counts.rows() > 1) return classes;
  const int64_t examples = examples_of(counts, 0);
  const ClassCounts& yes = classes.front();
  const ClassCounts no = {examples - yes.actual, examples - yes.predicted,
                          examples - yes.actual - yes.predicted + yes.correct};
  return {no, yes};
}

double macro_mean(const Counts& counts, double (ClassCounts::*value)() const) {
  const bool of_outputs = counts.has_scores() && counts.rows() > 1;
  if (of_outputs && examples_of(counts, 0) == 0) return std::nan("");
  double sum = 0;
  int64_t averaged = 0;
  for (const ClassCounts& one : by_class(counts)) {
    if (!of_outputs && one.actual == 0 && one.predicted == 0) continue;
    sum += (one.*value)();
    ++averaged;
  }
  return sum / static_cast<double>(averaged);
}

double top_accuracy(const Counts& counts) {
  if (counts.rows() <= kTop) return std::nan("");
  int64_t found = 0, examples = 0;
  for (int64_t row = 0; row < counts.rows(); ++row) {
    found += counts.at(row, kInTop);
    examples += counts.at(row, kActual);
  }
  return static_cast<double>(found) / static_cast<double>(examples);
}

std::optional<AreaUnderCurve> area_under_curve(const Counts& counts, int64_t row) {
  const int64_t bins = (counts.columns() - kFirstOther) / 2;
  double larger = 0, same = 0;  // pairs of a yes and a no
  double yes_so_far = 0, no_so_far = 0;
  for (int64_t bin = 0; bin < bins; ++bin) {
    const auto yes = static_cast<double>(counts.at(row, kFirstOther + bin));
    const auto no = static_cast<double>(counts.at(row, kFirstOther + bins + bin));
    larger += yes * no_so_far;
    same += yes * no;
    yes_so_far += yes;
    no_so_far += no;
  }
  const double pairs = yes_so_far * no_so_far;
  if (pairs == 0) return std::nullopt;
  return AreaUnderCurve{(larger + same / 2) / pairs, same / 2 / pairs};
}

std::optional<AreaUnderCurve> mean_area_under_curve(const Counts& counts) {
  AreaUnderCurve sum;
  double averaged = 0;
  for (int64_t row = 0; row < counts.rows() && counts.has_scores(); ++row) {
    const auto area = area_under_curve(counts, row);
    if (!area) continue;
    sum.value += area->value;
    sum.error += area->error;
    ++averaged;
  }
  if (averaged == 0) return std::nullopt;
  return AreaUnderCurve{sum.value / averaged, sum.error / averaged};
}

}  // namespace dtrain
