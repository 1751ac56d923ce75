// The rules between fields, and what they are written with.
#pragma once

#include <fmt/format.h>

#include <string>
#include <vector>

#include "job_file/load.h"

namespace dtrain {

// Adds the problems of fields that contradict each other. A rule complains about what was written, never
// about a default. It ignores fields that already have a problem.
void check_rules(LoadedSpec& loaded);

// Checks a spec whose fields were read one by one, and adds problems to those that reading found.
class RuleBase {
 public:
  explicit RuleBase(LoadedSpec& loaded);

 protected:
  // Whether `path` itself, a section around it, or an entry of its list could not be read.
  bool has_problem(const std::string& path) const;
  // Whether anything within the section could not be read, known fields or not.
  bool any_faulty_in(const std::string& section) const;
  bool is_written(const std::string& path) const { return loaded_.positions.contains(path); }
  // Whether it is written and could be read.
  bool usable(const std::string& path) const { return is_written(path) && !has_problem(path); }
  // The text is as that of Error: a format only if there are values.
  void add(const std::string& path, const std::string& text) {
    loaded_.problems.push_back(loaded_.problem_at(path, text));
  }
  template <class... Values>
  requires(sizeof...(Values) > 0) void add(const std::string& path, fmt::format_string<Values...> format,
                                           Values&&... values) {
    add(path, fmt::vformat(format, fmt::make_format_args(values...)));
  }
  // Adds the problem if the field is usable and `wrong`.
  void refuse(const std::string& path, bool wrong, const std::string& text) {
    if (wrong && usable(path)) add(path, text);
  }
  template <class... Values>
  requires(sizeof...(Values) > 0) void refuse(const std::string& path, bool wrong,
                                              fmt::format_string<Values...> format, Values&&... values) {
    refuse(path, wrong, fmt::vformat(format, fmt::make_format_args(values...)));
  }
  // Reports the contradictions between the fields that only this kind has in `section`.
  void check_own(const std::string& section, Contradictions contradictions, const KindFields& own);

  LoadedSpec& loaded_;
  const JobSpec& spec_;

 private:
  std::vector<std::string> faulty_;  // paths that had a problem before any rule was checked
};

// The rules between the fields of `data` about columns of tables and about parts.
void check_columns_and_parts(const RuleBase& base);

// Whether schedules set all learning rates, so that the optimizer's is not used.
bool schedules_have_rates(const JobSpec& spec);

// A field that names the metric of evaluations by which something is decided, and this metric.
struct WatchedMetric {
  std::string path;
  std::string metric;  // "none" if none
};
std::vector<WatchedMetric> watched_metrics(const JobSpec& spec);

// The rules between the fields of `train` and `phases`.
void check_training(const RuleBase& base);

// The rules for fields that do not work with strategy.virtual_replicas, with strategy.local_steps, or if a
// plugin computes the steps (strategy.kind tpu, train.step xla).
void check_strategies(const RuleBase& base);

}  // namespace dtrain
