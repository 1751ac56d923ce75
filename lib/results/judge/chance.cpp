#include "judge/chance.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.h"
#include "display/table_layout.h"
#include "metrics/show.h"
#include "runs/finished_run.h"

namespace dtrain {
namespace {

// nullopt with the reason.
std::optional<ExampleResults> results_in(const std::string& run, std::string& why_not) {
  try {
    auto results = read_examples(std::filesystem::path(run) / kExamplesFile);
    if (!results)
      why_not = fmt::format("{} keeps no results of its examples; dtrain eval {} makes them",
                            printable(run, 1000), shell_word(run));
    return results;
  } catch (const Error& error) {
    why_not = error.what();
    return std::nullopt;
  }
}

RunDifference difference_of(const ExampleResults& first, const ExampleResults& other) {
  RunDifference result{.why_not = "", .examples = first.size(), .part = first.part};
  if (first.part != other.part) {
    result.why_not = fmt::format("it was evaluated on {} examples, and A on {} ones", other.part, first.part);
  } else if (first.size() != other.size()) {
    result.why_not = fmt::format("it was evaluated on {}, and A on {}",
                                 counted(static_cast<int64_t>(other.size()), "example"), first.size());
  } else if (first.examples != other.examples) {
    result.why_not = "its examples are not those of A: other data or targets, or another data.split";
  }
  if (!result.why_not.empty()) return result;
  const ExampleMetrics of_first(first), of_other(other);
  result.differences = bootstrap(of_first, &of_other);
  if (first.loss != other.loss)
    std::erase_if(result.differences, [](const auto& one) { return one.metric == "loss"; });
  const std::vector<bool> left = first.right(), right = other.right();
  result.is_tested = !left.empty() && !right.empty();
  for (size_t i = 0; result.is_tested && i < left.size(); ++i) {
    result.only_first += left[i] && !right[i];
    result.only_this += right[i] && !left[i];
  }
  result.chance = mcnemar(result.only_first, result.only_this);
  return result;
}

}  // namespace

bool RunDifference::is_more_than_chance(const MetricInterval& difference) const {
  if (is_tested && difference.metric == "accuracy") return chance < 1 - kIntervalLevel;
  return difference.low > 0 || difference.high < 0;
}

std::vector<RunDifference> differences_of(const std::vector<std::string>& runs) {
  std::string why_not;
  const auto first = results_in(runs.front(), why_not);
  std::vector<RunDifference> all(runs.size() - 1);
  for (size_t i = 1; i < runs.size(); ++i) {
    RunDifference& one = all[i - 1];
    one.why_not = why_not;
    if (!first) continue;
    const auto other = results_in(runs[i], one.why_not);
    if (other) one = difference_of(*first, *other);
  }
  return all;
}

TableRows chance_rows(const std::vector<RunDifference>& runs) {
  TableRows rows = {{"", "metric", "difference", "95 % interval", ""}};
  for (size_t i = 0; i < runs.size(); ++i) {
    for (const MetricInterval& one : runs[i].differences) {
      std::string said = runs[i].is_more_than_chance(one) ? "more than chance" : "may be chance";
      if (runs[i].is_tested && one.metric == "accuracy")
        said += fmt::format("; only A is right on {}, only {} on {}: p = {:.2g}",
                            with_separators(runs[i].only_first), run_letter(i + 1),
                            with_separators(runs[i].only_this), runs[i].chance);
      rows.push_back({run_letter(i + 1), one.metric, show_metric(one.value),
                      show_metric(one.low) + " to " + show_metric(one.high), said});
    }
  }
  return rows;
}

std::string chance_note(const std::vector<RunDifference>& runs) {
  std::string note;
  for (size_t i = 0; i < runs.size(); ++i) {
    const RunDifference& run = runs[i];
    note += fmt::format("{}{}: {}", note.empty() ? "" : "\n", run_letter(i + 1),
                        run.why_not.empty()
                            ? fmt::format("of {} {} examples, each with A's result of the same one",
                                          with_separators(static_cast<int64_t>(run.examples)), run.part)
                            : "cannot be told: " + run.why_not);
  }
  return note;
}

std::string chance_text(const std::vector<RunDifference>& runs, int width) {
  const TableRows rows = chance_rows(runs);
  return "\nis the difference to A more than chance?\n" + wrapped(chance_note(runs), width, 2) + "\n" +
         (rows.size() > 1 ? lay_out(rows, {.ends_in_text = true, .width = width}) : "");
}

Event chance_document(const std::vector<RunDifference>& runs, const std::vector<std::string>& folders) {
  Event all = Event::array();
  for (size_t i = 0; i < runs.size(); ++i) {
    const RunDifference& run = runs[i];
    Event one = {{"run", folders[i + 1]}};
    if (!run.why_not.empty()) one["why_not"] = run.why_not;
    if (run.why_not.empty()) one["examples"] = run.examples, one["part"] = run.part;
    for (const MetricInterval& metric : run.differences)
      one["differences"][metric.metric] = {{"difference", metric.value},
                                           {"interval", {metric.low, metric.high}},
                                           {"more_than_chance", run.is_more_than_chance(metric)}};
    if (run.is_tested)
      one["mcnemar"] = {{"only_first", run.only_first}, {"only_this", run.only_this}, {"p", run.chance}};
    all.push_back(one);
  }
  return all;
}

}  // namespace dtrain
