// What is told of a run whose loss has no accuracy: its own metrics, and nothing in their place.
#include <fstream>
#include <limits>
#include <sstream>

#include "catch.h"
#include "display/console.h"
#include "files.h"
#include "metrics/sample_events.h"
#include "report/report.h"
#include "runs/comparison.h"
#include "runs/finished_run.h"

namespace dtrain {
namespace {

namespace fs = std::filesystem;

Event with_metrics(Event event, double loss, double rmse) {
  event.erase("accuracy");
  event["loss"] = loss;
  event["rmse"] = rmse;
  event["mae"] = rmse / 2;
  event["r2"] = 1 - loss;
  return event;
}

std::vector<Event> regression_run(const std::string& run, double last) {
  return {run_start(run, 2),
          with_metrics(step(run, 1, 50), 4, 2),
          with_metrics(epoch(run, 1), 4, 2),
          with_metrics(eval(run, 1), 1, 1),
          with_metrics(epoch(run, 2), 1, 1),
          with_metrics(eval(run, 2), last * last, last),
          with_metrics(run_end(run), last * last, last)};
}

fs::path regression_folder(const fs::path& folder, double last) {
  fs::create_directories(folder);
  std::ofstream(folder / "spec.yaml")
      << "name: it\nbatch: {per_replica: 64}\ntrain: {loss: mean_squared_error}\n";
  std::ofstream metrics(folder / "metrics.jsonl");
  for (const Event& event : regression_run("distributed", last)) metrics << event << '\n';
  return folder;
}

TEST_CASE("the table of a regression shows the error beside the loss, and its end all metrics") {
  std::ostringstream out;
  Console console(out, {});
  for (const Event& event : regression_run("distributed", 0.5)) console.on_event(event);
  const std::string text = out.str();
  INFO(text);
  CHECK_THAT(
      text, ContainsSubstring("    epoch      loss      rmse      loss      rmse  examples/s        time\n"));
  CHECK_THAT(text, ContainsSubstring("      2/2    1.0000    1.0000    0.2500    0.5000 "));
  CHECK_THAT(text, ContainsSubstring("  final test: loss 0.2500, rmse 0.5000, mae 0.2500, r2 0.7500\n"));
  CHECK_THAT(text, !ContainsSubstring("accuracy"));
}

RunSummary summary_of(const std::string& run, double last, int64_t replicas, double rate) {
  SummaryCollector collector;
  for (const Event& event : regression_run(run, last)) collector.on_event(event);
  RunSummary summary = collector.of(run);
  summary.strategy = replicas == 1 ? "one_device" : "mirrored";
  summary.replicas = replicas;
  summary.speed.examples_per_second = rate;
  return summary;
}

std::string verdict_of(double baseline, double distributed, double rate = 180) {
  return compare_runs(summary_of("baseline", baseline, 1, 100),
                      summary_of("distributed", distributed, 2, rate))
      .verdict.value();
}

TEST_CASE("the verdict of a regression goes by its error, of which less is better") {
  CHECK_THAT(verdict_of(0.5, 0.502), ContainsSubstring(", and the rmse is the same within 0.4 %"));
  CHECK_THAT(verdict_of(0.5, 0.6),
             ContainsSubstring(", but the rmse is 20.0 % higher (0.6000 against 0.5000)"));
  CHECK_THAT(verdict_of(0.5, 0.4),
             ContainsSubstring(", and the rmse is 20.0 % lower (0.4000 against 0.5000)"));
  CHECK_THAT(verdict_of(0.5, 0.4, 80), ContainsSubstring(", but the rmse is 20.0 % lower"));
  CHECK_THAT(verdict_of(0, 0), ContainsSubstring(", and the rmse is the same"));
  CHECK_THAT(verdict_of(0, 0.4), ContainsSubstring(", but the rmse is higher (0.4000 against 0.0000)"));
}

TEST_CASE("the comparison of a regression has its metrics and no others") {
  const std::string table = comparison_table(
      compare_runs(summary_of("baseline", 0.5, 1, 100), summary_of("distributed", 0.6, 2, 180)));
  INFO(table);
  for (const char* row : {"test loss", "test rmse", "test mae", "test r2"})
    CHECK_THAT(table, ContainsSubstring(row));
  CHECK_THAT(table, !ContainsSubstring("accuracy") && !ContainsSubstring("f1"));
}

TEST_CASE("regressions are compared by their error, and a higher one is worse") {
  const TemporaryFolder folder;
  const FinishedRun good = read_finished_run(regression_folder(folder.path() / "good", 0.5));
  const FinishedRun bad = read_finished_run(regression_folder(folder.path() / "bad", 0.8));
  CHECK(good.best("rmse") == 0.5);
  CHECK(good.last("rmse") == 0.5);
  CHECK(good.seconds_to("rmse", 0.9) == good.points.back().seconds);
  CHECK(good.seconds_to("rmse", 1) == good.points.front().seconds);
  CHECK_FALSE(good.best("accuracy").has_value());
  const RunsComparison comparison = compare_finished_runs({good, bad});
  CHECK(comparison.metric == "rmse");
  CHECK(comparison.target == 0.8);  // both came to it
  CHECK(comparison.regressions(1, 0.05) == std::vector<std::string>{"test rmse: 60.0 % more"});
  CHECK(compare_finished_runs({bad, good}).regressions(1, 0.05).empty());
  const auto worse = [&](double before, double after) {
    return compare_finished_runs({read_finished_run(regression_folder(folder.path() / "before", before)),
                                  read_finished_run(regression_folder(folder.path() / "after", after))})
        .regressions(1, 0.05);
  };
  CHECK(worse(0, 0).empty());
  CHECK(worse(0, 0.125) == std::vector<std::string>{"test rmse: 0.125 instead of 0"});
  CHECK(worse(-2, -1) == std::vector<std::string>{"test rmse: 50.0 % more"});  // as a plug-in may have it
  CHECK(worse(-2, -1.95).empty());
  const std::string table = runs_table(comparison);
  INFO(table);
  CHECK_THAT(table, ContainsSubstring("test rmse by epoch") && ContainsSubstring("lowest test rmse") &&
                        ContainsSubstring("time to rmse 0.8000") && !ContainsSubstring("accuracy"));
  const Event document = runs_document(comparison);
  CHECK(document.at("metric") == "rmse");
  CHECK(document.at("target_rmse") == 0.8);
  CHECK(document.at("runs")[1].at("best_rmse") == 0.8);
  CHECK(document.at("runs")[0].at("evaluations")[0].at("mae") == 0.5);
}

TEST_CASE("no run is worse than one whose metric is not a number") {
  const TemporaryFolder folder;
  const FinishedRun sound = read_finished_run(regression_folder(folder.path() / "run", 0.5));
  const auto ended_with = [&](double rmse) {
    FinishedRun run = sound;
    run.final_metrics = {{"rmse", rmse}};
    return run;
  };
  const auto worse = [](const FinishedRun& before, const FinishedRun& after) {
    return compare_finished_runs({before, after}).regressions(1, 0.05);
  };
  const FinishedRun lost = ended_with(std::numeric_limits<double>::quiet_NaN());
  const FinishedRun infinite = ended_with(std::numeric_limits<double>::infinity());
  CHECK(worse(lost, sound).empty());
  CHECK(worse(lost, lost).empty());
  CHECK(worse(infinite, infinite).empty());
  CHECK(worse(infinite, sound).empty());
  CHECK(compare_finished_runs({infinite, sound}).regressions(1, 0).empty());
  CHECK(worse(sound, lost) == std::vector<std::string>{"test rmse: is not a number"});
}

TEST_CASE("the page of a regression has a curve of its error") {
  const TemporaryFolder folder;
  const std::string page = report_page({read_run_history(regression_folder(folder.path() / "run", 0.5))});
  for (const char* text : {"Rmse (lines: training, dots: test)", "Test rmse over time", ">test rmse<"})
    CHECK_THAT(page, ContainsSubstring(text));
  CHECK_THAT(page, !ContainsSubstring("the best by"));  // it is what the run ended with
  CHECK_THAT(page, !ContainsSubstring("ccuracy"));
}

}  // namespace
}  // namespace dtrain
