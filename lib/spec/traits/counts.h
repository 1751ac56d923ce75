// What an evaluation counts in addition to the sums of a step, and the metrics computed from these counts.
// The counts of parts add up to those of the whole, so the metrics do not depend on the number of replicas.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace dtrain {

// The columns of Counts. For a class: its examples, the examples predicted as this class, and the correct
// ones of these. For an output that says yes or no: the examples whose target is yes, whose prediction is
// yes, both.
enum CountColumn : int64_t { kActual, kPredicted, kCorrect, kFirstOther };
// Then for a class: its examples for which fewer than kTop outputs are larger than that of the class, or not
// comparable (not-a-number).
constexpr int64_t kInTop = kFirstOther;
constexpr int64_t kTop = 5;
// Or of yes or no: two histograms of score_bins() bins, of the examples where yes is right and of the others.
// A logit x is in the bin of x / (1 + |x|), which goes from -1 to 1, so that bins are narrowest around 0.
int64_t score_bins(int64_t outputs);

// A row for each output of the model, which are the classes or questions of yes or no; rows one after the
// other. Empty: of a loss that counts nothing.
class Counts {
 public:
  Counts() = default;
  Counts(int64_t rows, std::vector<int64_t> values) : rows_(rows), values_(std::move(values)) {}
  int64_t rows() const { return rows_; }
  int64_t columns() const { return rows_ == 0 ? 0 : static_cast<int64_t>(values_.size()) / rows_; }
  int64_t at(int64_t row, int64_t column) const {
    return values_[static_cast<size_t>(row * columns() + column)];
  }
  const std::vector<int64_t>& values() const { return values_; }
  bool has_scores() const { return columns() > kInTop + 1; }

 private:
  int64_t rows_ = 0;
  std::vector<int64_t> values_;
};

// Of a class, or of an output that says yes or no.
struct ClassCounts {
  int64_t actual = 0;
  int64_t predicted = 0;
  int64_t correct = 0;
  // correct / predicted, correct / actual and 2 correct / (predicted + actual); 0 if the divisor is.
  double precision() const;
  double recall() const;
  double f1() const;
};

// By class, or by output if several say yes or no. One output tells two classes apart: both are counted.
std::vector<ClassCounts> by_class(const Counts& counts);

// The mean of `value` over the classes that have examples or predictions, or over all outputs that say yes or
// no, as in scikit-learn. NaN without examples.
double macro_mean(const Counts& counts, double (ClassCounts::*value)() const);

// The share of examples whose class is among the kTop largest outputs; NaN for none, or at most kTop classes.
double top_accuracy(const Counts& counts);

// The area under the ROC curve of an output: the probability that an example where yes is right has a larger
// output than one where it is not. For two examples in one bin this counts as 1/2, and `error` is the largest
// error that can result from this.
struct AreaUnderCurve {
  double value = 0;
  double error = 0;
};
// nullopt: the targets are all the same.
std::optional<AreaUnderCurve> area_under_curve(const Counts& counts, int64_t row);
// The mean over the outputs that have one; nullopt: none has.
std::optional<AreaUnderCurve> mean_area_under_curve(const Counts& counts);

}  // namespace dtrain
