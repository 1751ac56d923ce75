#include "judge/chance.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>

#include "core/error.h"
#include "display/table_layout.h"
#include "metrics/show.h"

namespace dtrain {
namespace {

// nullopt with the reason.
std::optional<ExampleResults> results_in(const std::string& run, std::string& why_not) {
  try {
    auto results = read_examples(std::filesystem::path(run) / kExamplesFile);
    if (!results)
      why_not = fmt::format(
          "{} keeps no results of its examples: it has not ended, an earlier version of dtrain trained it, "
          "its evaluation was too large, or its step is a plug-in's",
          printable(run, 1000));
    return results;
  } catch (const Error& error) {
    why_not = error.what();
    return std::nullopt;
  }
}

// Why the second one, `letter`, cannot be compared with the first one; empty: it can.
std::string obstacle(const ExampleResults& first, const ExampleResults& other, const std::string& letter) {
  if (first.part != other.part)
    return fmt::format("A was evaluated on {} examples, {} on {} examples", first.part, letter, other.part);
  if (first.size() != other.size())
    return fmt::format("A was evaluated on {}, {} on {}", counted(first.size(), "example"), letter,
                       with_separators(other.size()));
  if (first.examples != other.examples)
    return "its examples are not those of A: other data or targets, or another data.split";
  return "";
}

// Evaluations do not weigh classes.
bool have_same_loss(const JobSpec& first, const JobSpec& other) {
  std::vector<FinishedRun> both(2);
  both[0].spec = first, both[1].spec = other;
  return std::ranges::none_of(differing_fields(both), [](const std::vector<std::string>& row) {
    return row.front().starts_with("train.loss") && row.front() != "train.loss.class_weights";
  });
}

}  // namespace

bool RunDifference::is_more_than_chance(const MetricInterval& difference) const {
  if (is_tested && difference.name == "accuracy") return chance < 1 - kIntervalLevel;
  return difference.low > 0 || difference.high < 0;
}

std::vector<RunDifference> differences_of(const std::vector<FinishedRun>& runs) {
  std::string no_first;
  const auto first = results_in(runs.front().path, no_first);
  std::optional<Draws> draws;  // of the first one, once
  std::vector<RunDifference> all;
  for (size_t i = 1; i < runs.size(); ++i) {
    RunDifference& one = all.emplace_back(RunDifference{.run = runs[i].path, .why_not = no_first});
    if (!first) continue;
    const auto other = results_in(runs[i].path, one.why_not);
    if (other) one.why_not = obstacle(*first, *other, run_letter(i));
    if (!one.why_not.empty()) continue;
    one.examples = first->size(), one.part = first->part;
    if (!draws) draws = draws_of(*first, std::ssize(runs));
    const Draws others = draws_of(*other, std::ssize(runs));
    one.differences = intervals_of(*draws, &others);
    if (!have_same_loss(runs.front().spec, runs[i].spec))
      std::erase_if(one.differences, [](const MetricInterval& metric) { return metric.name == "loss"; });
    const at::Tensor left = first->right(), right = other->right();
    one.is_tested = left.defined() && right.defined();
    if (!one.is_tested) continue;
    one.only_first = (left & ~right).sum().item<int64_t>();
    one.only_this = (right & ~left).sum().item<int64_t>();
    one.chance = mcnemar(one.only_first, one.only_this);
  }
  return all;
}

TableRows chance_rows(const std::vector<RunDifference>& runs) {
  TableRows rows = {{"", "difference", "95 % interval", ""}};
  for (size_t i = 0; i < runs.size(); ++i) {
    for (const MetricInterval& one : runs[i].differences) {
      std::string said = runs[i].is_more_than_chance(one) ? "more than chance" : "may be chance";
      if (runs[i].is_tested && one.name == "accuracy")
        said += fmt::format("; only A is right on {}, only {} on {}: p = {:.2g}",
                            with_separators(runs[i].only_first), run_letter(i + 1),
                            with_separators(runs[i].only_this), runs[i].chance);
      rows.push_back({run_letter(i + 1) + " " + one.name, show_metric(one.value),
                      show_metric(one.low) + " to " + show_metric(one.high), said});
    }
  }
  if (rows.size() == 1) rows.clear();
  return rows;
}

std::vector<std::string> chance_notes(const std::vector<RunDifference>& runs) {
  std::vector<std::string> notes;
  for (size_t i = 0; i < runs.size(); ++i) {
    const RunDifference& run = runs[i];
    notes.push_back(
        run_letter(i + 1) +
        (!run.why_not.empty()
             ? " cannot be compared: " + run.why_not
             : fmt::format(": paired with A on {} {} examples{}", with_separators(run.examples), run.part,
                           !run.differences.empty() ? ""
                           : runs.size() == 1
                               ? ", which are too much for intervals"
                               : ", which are too much for intervals of so many runs; compare fewer")));
  }
  return notes;
}

std::string chance_text(const std::vector<RunDifference>& runs, int width) {
  const TableRows rows = chance_rows(runs);
  return "\nis the difference to A more than chance?\n" + wrapped(join(chance_notes(runs), "\n"), width, 2) +
         "\n" + (rows.empty() ? "" : lay_out(rows, {.ends_in_text = true, .width = width}));
}

Event chance_document(const std::vector<RunDifference>& runs) {
  Event all = Event::array();
  for (const RunDifference& run : runs) {
    Event& one = all.emplace_back(Event{{"run", run.run}});
    if (!run.why_not.empty()) {
      one["why_not"] = run.why_not;
      continue;
    }
    one["examples"] = run.examples, one["part"] = run.part;
    for (const MetricInterval& metric : run.differences)
      one["differences"][metric.name] = {{"difference", metric.value},
                                         {"interval", {metric.low, metric.high}},
                                         {"more_than_chance", run.is_more_than_chance(metric)}};
    if (run.is_tested)
      one["mcnemar"] = {{"only_first", run.only_first}, {"only_this", run.only_this}, {"p", run.chance}};
  }
  return all;
}

}  // namespace dtrain
