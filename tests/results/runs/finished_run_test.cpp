#include "runs/finished_run.h"

#include <fstream>

#include <sstream>

#include "catch.h"
#include "core/error.h"
#include "files.h"
#include "report/report.h"

namespace dtrain {
namespace {

namespace fs = std::filesystem;

// A run that was evaluated after each epoch: `speed` examples/s, 2 s an epoch, these accuracies.
fs::path make_run(const fs::path& folder, const std::string& more, double speed,
                  const std::vector<double>& accuracies) {
  fs::create_directories(folder);
  std::ofstream(folder / "spec.yaml") << "name: it\nbatch: {per_replica: 64}\n" << more;
  std::ofstream metrics(folder / "metrics.jsonl");
  metrics << R"({"event":"eval","run":"baseline","epoch":1,"accuracy":0.99,"seconds":50})"
          << "\n";
  int epoch = 0;
  for (const double accuracy : accuracies) {
    ++epoch;
    metrics << Event{{"event", "epoch"}, {"run", "distributed"}, {"epoch", epoch}, {"seconds", 1.5}} << "\n"
            << Event{{"event", "eval"},      {"run", "distributed"}, {"epoch", epoch},
                     {"loss", 1 - accuracy}, {"accuracy", accuracy}, {"seconds", 0.5}}
            << "\n";
  }
  metrics << Event{{"event", "run_end"},
                   {"run", "distributed"},
                   {"status", "completed"},
                   {"examples_per_second", speed},
                   {"step_ms", 2}}
          << "\nhalf a li";
  return folder;
}

TEST_CASE("a run is read from its folder") {
  const TemporaryFolder folder;
  const FinishedRun run = read_finished_run(make_run(folder.path() / "a", "", 1000, {0.5, 0.9, 0.8}));
  CHECK(run.end.status == "completed");
  CHECK(run.end.speed.examples_per_second == 1000);
  REQUIRE(run.points.size() == 3);
  CHECK(run.points[1].seconds == Approx(4));
  CHECK(run.best("accuracy") == 0.9);
  CHECK(run.last("accuracy") == 0.8);
  CHECK(run.seconds_to("accuracy", 0.85) == Approx(4.0));
  CHECK_FALSE(run.seconds_to("accuracy", 0.95).has_value());
  CHECK_THROWS_AS(read_finished_run(folder.path()), Error);
  fs::remove(folder.path() / "a/metrics.jsonl");
  CHECK_THROWS_AS(read_finished_run(folder.path() / "a"), Error);
}

TEST_CASE("a run with gigabytes of events is read like any other") {
  const TemporaryFolder folder;
  const fs::path run = make_run(folder.path() / "a", "", 1000, {0.5});
  std::fstream metrics(run / "metrics.jsonl", std::ios::in | std::ios::out | std::ios::ate);
  // Lines that are no events and mostly holes, which take no room on the disk.
  for (int64_t megabyte = 1; megabyte <= 1025; ++megabyte) metrics.seekp((megabyte << 20) - 1).put('\n');
  metrics << Event{{"event", "eval"}, {"run", "distributed"}, {"epoch", 2}, {"accuracy", 0.75}} << "\n";
  metrics.close();
  REQUIRE(fs::file_size(run / "metrics.jsonl") > uint64_t{1} << 30);
  CHECK(read_finished_run(run).points.back().value("accuracy") == 0.75);
}

TEST_CASE("of many warnings a report has the last, and how many came before") {
  const TemporaryFolder folder;
  const fs::path run = make_run(folder.path() / "a", "", 1000, {0.5});
  std::ofstream metrics(run / "metrics.jsonl", std::ios::app);
  for (int i = 1; i <= 105; ++i)
    metrics << "\n" << Event{{"event", "warning"}, {"run", "distributed"}, {"text", std::to_string(i)}};
  metrics << "\n";
  metrics.close();
  const RunHistory history = read_run_history(run);
  REQUIRE(history.notes.size() == 100);
  CHECK(history.notes.front() == "distributed: 6");
  CHECK(history.notes.back() == "distributed: 105");
  CHECK(history.earlier_notes == 5);
  CHECK_THAT(report_page({history}),
             ContainsSubstring("5 earlier notes in metrics.jsonl; the last 100:</p>\n<p class=\"note\">") &&
                 ContainsSubstring("distributed: 105"));
}

TEST_CASE("a run that went back to its best weights is judged by these") {
  const TemporaryFolder folder;
  const fs::path run = make_run(folder.path() / "a", "", 1000, {0.5, 0.9, 0.8});
  std::ofstream(run / "metrics.jsonl", std::ios::app)
      << "\n"
      << Event{{"event", "run_end"}, {"run", "distributed"}, {"loss", 0.1}, {"accuracy", 0.9}} << "\n";
  CHECK(read_finished_run(run).last("accuracy") == 0.9);
  CHECK(read_finished_run(run).test("loss") == 0.1);
}

TEST_CASE("the best epoch follows the mode of the spec") {
  EvaluationSeries series;
  const auto point = [](int64_t epoch, double loss, double accuracy) {
    return EvaluationPoint{epoch, {{"loss", loss}, {"accuracy", accuracy}}};
  };
  series.points = {point(1, 0.3, 0.9), point(2, 0.5, 0.8), point(3, 0.1, 0.95)};
  CHECK(series.best({"loss"})->epoch == 3);
  CHECK(series.best({"loss", "max"})->epoch == 2);
  CHECK(series.best({"accuracy"})->epoch == 3);
}

// The same with a validation part, whose test comes to `test`.
fs::path make_split_run(const fs::path& folder, const std::vector<double>& accuracies, double test) {
  make_run(folder, "data: {split: {validation: 0.1}}\n", 1000, {});
  std::ofstream metrics(folder / "metrics.jsonl");
  const auto evaluation = [&](const std::string& part, int64_t epoch, double accuracy) {
    metrics << Event{{"event", "eval"},      {"run", "distributed"}, {"part", part},  {"epoch", epoch},
                     {"loss", 1 - accuracy}, {"accuracy", accuracy}, {"seconds", 0.5}}
            << "\n";
  };
  for (size_t i = 0; i < accuracies.size(); ++i)
    evaluation("validation", static_cast<int64_t>(i) + 1, accuracies[i]);
  evaluation("test", std::ssize(accuracies), test);
  return folder;
}

TEST_CASE("the test of a run with a validation part stands beside its evaluations") {
  const TemporaryFolder folder;
  const FinishedRun run = read_finished_run(make_split_run(folder.path() / "a", {0.5, 0.9}, 0.8));
  CHECK(run.of_validation);
  CHECK(run.points.size() == 2);
  CHECK(run.last("accuracy") == 0.9);
  CHECK(run.test("accuracy") == 0.8);
  CHECK(run.test("loss").value() == Approx(0.2));
  const FinishedRun plain = read_finished_run(make_run(folder.path() / "b", "", 1000, {0.5, 0.85}));
  CHECK_FALSE(plain.of_validation);
  CHECK(plain.test("accuracy") == 0.85);

  const RunsComparison comparison = compare_finished_runs({run, plain});
  const std::string table = runs_table(comparison);
  INFO(table);
  CHECK_THAT(table, ContainsSubstring("validation accuracy") &&
                        ContainsSubstring("validation or test accuracy by epoch") &&
                        ContainsSubstring("test accuracy") && ContainsSubstring("0.8500 (1.062)"));
  CHECK(runs_document(comparison).at("runs")[0].at("test_accuracy") == 0.8);
  CHECK(runs_document(comparison).at("runs")[0].at("evaluated") == "validation");
  CHECK_FALSE(runs_document(comparison).at("runs")[1].contains("test_accuracy"));
  const std::string of_tests = runs_table(compare_finished_runs({plain, plain}));
  CHECK_THAT(of_tests, ContainsSubstring("highest test accuracy") && !ContainsSubstring("valid") &&
                           !ContainsSubstring("evaluation"));
}

TEST_CASE("what all runs have measured is compared") {
  const TemporaryFolder folder;
  FinishedRun one = read_finished_run(make_split_run(folder.path() / "a", {0.5, 0.9}, 0.8));
  one.final_metrics.emplace_back("macro_f1", 0.5);
  one.final_test->metrics.emplace_back("macro_f1", 0.6);
  FinishedRun two = one;
  two.final_metrics.back().second = 0.25;
  const std::string table = runs_table(compare_finished_runs({one, two}));
  INFO(table);
  CHECK_THAT(table, ContainsSubstring("validation macro_f1") && ContainsSubstring("0.2500 (0.500)") &&
                        ContainsSubstring("test macro_f1"));
  CHECK(runs_document(compare_finished_runs({one, two})).at("runs")[0].at("test_macro_f1") == 0.6);
  two.final_metrics.pop_back();
  CHECK_THAT(runs_table(compare_finished_runs({one, two})), !ContainsSubstring("validation macro_f1"));
}

TEST_CASE("evaluations of a validation part are compared with their like, tests with tests") {
  const TemporaryFolder folder;
  const FinishedRun good = read_finished_run(make_split_run(folder.path() / "good", {0.9}, 0.9));
  const FinishedRun bad = read_finished_run(make_split_run(folder.path() / "bad", {0.9}, 0.72));
  const FinishedRun plain = read_finished_run(make_run(folder.path() / "plain", "", 1000, {0.72}));
  const auto worse = [](const FinishedRun& a, const FinishedRun& b) {
    return compare_finished_runs({a, b}).regressions(1, 0.05);
  };
  using Strings = std::vector<std::string>;
  CHECK(worse(good, bad) == Strings{"test accuracy: 20.0 % less"});
  CHECK(worse(good, plain) == Strings{"test accuracy: 20.0 % less"});
  CHECK(worse(bad, plain).empty());
  const FinishedRun late = read_finished_run(make_split_run(folder.path() / "late", {0.72}, 0.9));
  CHECK(worse(good, late) == Strings{"validation accuracy: 20.0 % less"});
}

TEST_CASE("what differs is shown, with ratios, and nothing that is the same") {
  const TemporaryFolder folder;
  const RunsComparison comparison = compare_finished_runs(
      {read_finished_run(make_run(folder.path() / "a", "train: {epochs: 2}\n", 1000, {0.5, 0.9})),
       read_finished_run(make_run(folder.path() / "b", "train: {epochs: 3}\n", 1500, {0.6, 0.85, 0.95}))});
  CHECK(comparison.target == 0.9);
  CHECK(differing_fields(comparison.runs) ==
        std::vector<std::vector<std::string>>{{"train.epochs", "2", "3"}});
  const std::string table = runs_table(comparison);
  INFO(table);
  CHECK_THAT(table, ContainsSubstring("train.epochs  2  3") && ContainsSubstring("1,500 (1.500)") &&
                        ContainsSubstring("time to accuracy 0.9000") && ContainsSubstring("0.9500"));
  CHECK_THAT(table, !ContainsSubstring("seed"));
  const Event document = runs_document(comparison);
  CHECK(document.at("spec").at("train.epochs") == std::vector<std::string>{"2", "3"});
  CHECK(document.at("runs")[1].at("evaluations").size() == 3);
  CHECK(document.at("runs")[0].at("seconds_to_accuracy").get<double>() == Approx(4));
}

TEST_CASE("a run that is worse by more than is tolerated is named, with what is worse") {
  const TemporaryFolder folder;
  const auto worse = [&](double speed, const std::vector<double>& accuracies, double tolerated) {
    return compare_finished_runs({read_finished_run(make_run(folder.path() / "a", "", 1000, {0.8, 0.9})),
                                  read_finished_run(make_run(folder.path() / "b", "", speed, accuracies))})
        .regressions(1, tolerated);
  };
  CHECK(worse(1000, {0.8, 0.9}, 0).empty());
  CHECK(worse(960, {0.8, 0.9}, 0.05).empty());
  CHECK(worse(940, {0.8, 0.9}, 0.05) == std::vector<std::string>{"examples/s: 6.0 % less"});
  CHECK(worse(2000, {0.8, 0.7}, 0.05) == std::vector<std::string>{"test accuracy: 22.2 % less"});
  CHECK(worse(2000, {0.7, 0.8, 0.9}, 0.05) ==
        std::vector<std::string>{"time to accuracy 0.9000: 50.0 % more"});
}

TEST_CASE("a run that was resumed for its last steps is not worse for the speed of its warm-up") {
  const TemporaryFolder folder;
  FinishedRun whole = read_finished_run(make_run(folder.path() / "a", "", 1000, {0.9}));
  FinishedRun resumed = whole;
  const auto is_worse = [&] { return !compare_finished_runs({whole, resumed}).regressions(1, 0.05).empty(); };
  resumed.end.speed.examples_per_second = 500;
  resumed.end.skipped_steps = 10;
  CHECK(is_worse());
  resumed.end.skipped_steps = 0;
  CHECK_FALSE(is_worse());
  whole.end.skipped_steps = 0;  // both are that short
  CHECK(is_worse());
  whole.end.skipped_steps = 10;
  resumed.spec.metrics.skip_steps = 0;
  CHECK(is_worse());
  resumed.end.speed.examples_per_second.reset();  // no step was left
  CHECK_FALSE(is_worse());
  resumed.end.status = "failed";
  CHECK(is_worse());
}

TEST_CASE("a hundred runs have a row each, and of many columns some") {
  const TemporaryFolder folder;
  std::vector<FinishedRun> runs;
  const std::vector<double> accuracies(30, 0.5);
  for (int i = 0; i < 100; ++i)
    runs.push_back(read_finished_run(make_run(
        folder.path() / std::to_string(i), "seed: " + std::to_string(i + 1) + "\n", 1000 + i, accuracies)));
  const std::string table = runs_table(compare_finished_runs(runs));
  INFO(table);
  CHECK_THAT(table, ContainsSubstring("\nCV  " + (folder.path() / "99").string() + "\n") &&
                        ContainsSubstring("\n  CV   100\n") &&  // the seed
                        ContainsSubstring("1,099 (1.099)") &&
                        ContainsSubstring("test accuracy by epoch (8 of 30 columns; --json has all)"));
  std::istringstream lines(table);
  for (std::string line; std::getline(lines, line);) CHECK(line.size() < 160);
  CHECK(runs_document(compare_finished_runs(runs)).at("runs").size() == 100);
  CHECK(run_letter(25) == "Z");
  CHECK(run_letter(26) == "AA");
  CHECK(run_letter(26 * 27) == "AAA");
}

}  // namespace
}  // namespace dtrain
