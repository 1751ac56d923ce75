// Which trials of a tune go on, which is the best, and what is shown of them.
#include "runs/tune_results.h"

#include <cmath>

#include "catch.h"
#include "display/tune.h"
#include "files.h"
#include "report/report.h"

namespace dtrain {
namespace {

// Of 7 trials, three rungs with a factor of 2: 7, 3 and 1. The second has failed in the first rung.
Tune halved_tune() {
  Tune tune;
  tune.name = "mine";
  tune.directory = "runs/mine";
  tune.command = "dtrain run job.yaml";
  tune.fields = {"train.optimizer.learning_rate", "model.hidden"};
  tune.metric = "accuracy";
  tune.halving = 2;
  tune.epochs = {1, 2, 4};
  for (const double score : {0.5, 0.0, 0.9, 0.7, 0.8, 0.6, 0.1}) {
    TuneTrial trial{.values = {std::to_string(score), "[8, 8]"}, .scores = {score}};
    trial.epochs = 1;
    trial.course = {{1, score}};
    tune.trials.push_back(trial);
  }
  tune.trials[1].scores.clear();
  tune.trials[1].exit_code = ExitCode::kDiverged;
  tune.trials[1].error = "the loss is not finite, \"so\"";
  return tune;
}

using Indices = std::vector<size_t>;

TEST_CASE("the best of a rung go on to the next one") {
  Tune tune = halved_tune();
  CHECK(trials_of_rung(tune, 0) == Indices{0, 1, 2, 3, 4, 5, 6});
  CHECK(trials_of_rung(tune, 1) == Indices{2, 3, 4});
  CHECK(status_of(tune, 0) == "dropped");
  CHECK(status_of(tune, 1) == "failed");
  CHECK(status_of(tune, 2) == "unfinished");
  tune.trials[2].scores.push_back(0.91);
  tune.trials[3].scores.push_back(0.95);
  CHECK(trials_of_rung(tune, 1) == Indices{2, 3, 4});  // whatever has been trained of it
  CHECK(status_of(tune, 2) == "unfinished");           // the fifth could still be better or worse
  tune.trials[4].scores.push_back(0.2);
  CHECK(trials_of_rung(tune, 2) == Indices{3});
  CHECK(status_of(tune, 2) == "dropped");
  tune.trials[3].scores.push_back(0.3);
  CHECK(status_of(tune, 3) == "trained");
  // Those that came furthest are before those with a better value after fewer epochs.
  CHECK(ranking(tune) == Indices{3, 2, 4, 5, 0, 6, 1});
  CHECK(best_trial(tune) == size_t{3});
}

TEST_CASE("an asynchronous tune waits for no trial of a rung") {
  Tune tune = halved_tune();
  tune.asynchronous = true;
  for (const size_t running : {3, 4, 5, 6}) tune.trials[running].scores.clear();
  CHECK(trials_of_rung(tune, 1) == Indices{2});  // one in two of three, of which the second has failed
  tune.trials[3].scores = {0.7};
  CHECK(trials_of_rung(tune, 1) == Indices{2, 3});
  tune.trials[3].scores.clear();
  tune.trials[4].scores = {0.8};
  CHECK(trials_of_rung(tune, 1) == Indices{2, 4});
  tune.trials[3].scores = {0.7};
  CHECK(trials_of_rung(tune, 2).empty());
  tune.trials[2].scores.push_back(0.91);
  CHECK(trials_of_rung(tune, 2).empty());
  tune.trials[4].scores.push_back(0.95);
  CHECK(trials_of_rung(tune, 2) == Indices{4});
  // Two that come later are better than one that has gone on.
  tune.trials[5].scores = {0.99};
  tune.trials[6].scores = {0.98};
  CHECK(trials_of_rung(tune, 1) == Indices{5, 6, 2});  // the best first, whatever their numbers
  CHECK(trials_of_rung(tune, 2) == Indices{4});
  CHECK(status_of(tune, 0) == "dropped");
  CHECK(status_of(tune, 5) == "unfinished");
  CHECK_THAT(tune_table(tune),
             ContainsSubstring("asynchronous halving, one in 2 continues: 6 to epoch 1, then 2 to"));
  const TemporaryFolder folder;
  CHECK(read_tune(folder.write("tune.json", event_text(tune_document(tune)))).asynchronous);
}

TEST_CASE("a trial that went on stays in its rung though others are better later, also after a resume") {
  Tune tune = halved_tune();
  tune.asynchronous = true;
  tune.trials[0].rung = 1;  // it was the best of two
  const TemporaryFolder folder;
  const Tune again = read_tune(folder.write("tune.json", event_text(tune_document(tune))));
  CHECK(trials_of_rung(again, 1) == Indices{2, 4, 3, 0});
  CHECK(status_of(again, 0) == "unfinished");
  CHECK(status_of(again, 5) == "dropped");
}

TEST_CASE("where most trials of a rung fail, some go on all the same") {
  Tune tune = halved_tune();
  tune.asynchronous = true;
  tune.halving = 6;
  for (const size_t failed : {0, 2, 3, 4, 6}) {
    tune.trials[failed].scores.clear();
    tune.trials[failed].error = "it fails";
  }
  CHECK(trials_of_rung(tune, 1) == Indices{5});
}

TEST_CASE("where less is better, the lowest value is the best") {
  Tune tune = halved_tune();
  tune.metric = "loss";
  CHECK(trials_of_rung(tune, 1) == Indices{0, 5, 6});
  CHECK(best_trial(tune) == size_t{6});
}

TEST_CASE("a tune without results has no best trial") {
  Tune tune = halved_tune();
  for (TuneTrial& trial : tune.trials) trial.scores.clear();
  CHECK_FALSE(best_trial(tune));
  CHECK_THAT(tune_table(tune), ContainsSubstring("# no trial has a result"));
}

TEST_CASE("a tune is read as it was written") {
  const TemporaryFolder folder;
  Tune tune = halved_tune();
  tune.search = "tpe";
  tune.combinations = 8;
  tune.tries = {"model.hidden=[8],[16]"};
  tune.seed = 9;
  tune.of_validation = true;
  tune.at_once = 3;
  const Event document = tune_document(tune);
  CHECK(document["best"] == "trial-003");
  CHECK(document["best_command"] ==
        "dtrain run job.yaml --set train.optimizer.learning_rate=0.900000 --set 'model.hidden=[8, 8]'");
  Event again = tune_document(read_tune(folder.write("tune.json", event_text(document))));
  again["time"] = document["time"];
  CHECK(again == document);
  for (const std::string damaged : {"{", "{}", "[]"})
    CHECK_THROWS_WITH(read_tune(folder.write("tune.json", damaged)), ContainsSubstring("is damaged"));
}

// Of two combinations, each with two folds and two seeds.
Tune cross_validation() {
  Tune tune;
  tune.name = "mine";
  tune.directory = "runs/mine";
  tune.command = "dtrain run job.yaml";
  tune.fields = {"model.hidden", "data.split.fold", "seed"};
  tune.metric = "accuracy";
  tune.of_validation = true;
  tune.epochs = {0};
  tune.folds = tune.seeds = 2;
  const std::vector<double> scores = {0.9, 0.1, 0.5, 0.5, 0.6, 0.4, 0.7, 0.7};
  for (size_t i = 0; i < scores.size(); ++i) {
    TuneTrial trial{
        .values = {i < 4 ? "[4]" : "[8]", std::to_string(i % 2 + 1), std::to_string(42 + i / 2 % 2)},
        .scores = {scores[i]}};
    trial.epochs = 3;
    trial.course = {{1, scores[i] / 2}, {3, scores[i]}};
    if (i % 2 == 0) trial.course.emplace_back(4, 1);
    tune.trials.push_back(trial);
  }
  return tune;
}

TEST_CASE("combinations rank by the mean of their folds and seeds") {
  Tune tune = cross_validation();
  const Tune whole = combined(tune);
  REQUIRE(whole.trials.size() == 2);
  CHECK(whole.fields == std::vector<std::string>{"model.hidden"});
  CHECK(whole.trials[1].scores[0] == Approx(0.6));
  CHECK(sample_deviation(whole.trials[1].singles) == Approx(std::sqrt((0.04 + 0.01 + 0.01) / 3)));
  CHECK(whole.trials[1].epochs == 12);
  REQUIRE(whole.trials[1].course.size() == 2);
  CHECK(whole.trials[1].course[0].second == Approx(0.3));
  // One that early stopping has ended was evaluated then: it has no second epoch that the others have.
  tune.trials[4].course = {{1, 0.3}, {2, 0.7}};
  const TuneTrial early = combined(tune).trials[1];
  REQUIRE(early.course.size() == 1);
  CHECK(early.course[0].first == 1);
  tune = cross_validation();
  CHECK(best_trial(whole) == size_t{1});  // although the best single trial is of the other
  CHECK(combined(whole).trials.size() == 2);
  CHECK(combined(halved_tune()).trials.size() == 7);
  const std::string table = tune_table(tune);
  CHECK_THAT(table, ContainsSubstring("grid of 2 combinations") &&
                        ContainsSubstring("mean and standard deviation over 2 folds and 2 seeds") &&
                        ContainsSubstring("\n  1     005-008     [8]  0.6000     0.1414      12"));
  CHECK_THAT(tune_csv(tune),
             ContainsSubstring("hidden,data.split.fold,seed,accuracy,mean,deviation,epochs") &&
                 ContainsSubstring("\ntrial-005,trained,[8],1,42,0.6,0.6"));
  CHECK_THAT(tune_page(tune), ContainsSubstring("best mean accuracy") && ContainsSubstring("trial-005-008"));
  const TemporaryFolder folder;
  const Event document = tune_document(tune);
  CHECK(document["best"] == "trial-005-008");
  CHECK(document["best_command"] == "dtrain run job.yaml --set 'model.hidden=[8]'");
  Event again = tune_document(read_tune(folder.write("tune.json", event_text(document))));
  again["time"] = document["time"];
  CHECK(again == document);

  tune.trials[6].scores.clear();  // it is not trained yet
  CHECK(best_trial(combined(tune)) == size_t{0});
  CHECK(status_of(combined(tune), 1) == "unfinished");
  tune.trials[1].error = "it diverged";
  tune.trials[1].exit_code = ExitCode::kDiverged;
  CHECK_FALSE(best_trial(combined(tune)));
  CHECK_THAT(tune_table(tune), ContainsSubstring("failed, exit code 6: it diverged"));
}

TEST_CASE("what is shown of a tune") {
  const Tune tune = halved_tune();
  const std::string table = tune_table(tune);
  CHECK_THAT(table, ContainsSubstring("grid of 7 trials, 1 at once; accuracy of the test examples") &&
                        ContainsSubstring("NOTE: the test examples chose") &&
                        ContainsSubstring("7 to epoch 1, then 3 to epoch 2") &&
                        ContainsSubstring("\n# rank  trial  ") && ContainsSubstring("\n  1       003  ") &&
                        ContainsSubstring("failed, exit code 6: the loss is not finite") &&
                        ContainsSubstring("# the best, trial-003, is in runs/mine/trial-003") &&
                        ContainsSubstring("# to train it from the start: dtrain run job.yaml --set train"));
  // On a narrow terminal in two tables, the outcome in the second.
  CHECK_THAT(tune_table(tune, 40),
             ContainsSubstring("\n# rank  trial  ") && ContainsSubstring("\n\n# rank  "));
  CHECK_THAT(tune_csv(tune),
             ContainsSubstring("trial-002,failed,0.000000,\"[8, 8]\",,1,0,6,\"the loss is not "
                               "finite, \"\"so\"\"\"\n"));
  CHECK_THAT(tune_chart(tune), ContainsSubstring("trial-003: learning_rate 0.900000, hidden [8, 8]"));
  CHECK(tune_legend(tune).size() == 6);
  const std::string page = tune_page(tune);
  CHECK_THAT(page, ContainsSubstring("tune of mine") && ContainsSubstring("<svg") &&
                       ContainsSubstring("best accuracy") &&
                       ContainsSubstring("to train the best from the start"));
  Tune judged = tune;
  judged.of_validation = true;
  CHECK_THAT(tune_table(judged), !ContainsSubstring("NOTE"));
}

Tune importance_tune(const std::vector<std::string>& fields,
                     const std::vector<std::vector<std::string>>& values) {
  Tune tune;
  tune.name = "mine";
  tune.fields = fields;
  tune.metric = "loss";
  tune.epochs = {0};
  for (const auto& each : values)
    tune.trials.push_back({.values = each, .scores = {static_cast<double>(tune.trials.size())}});
  return tune;
}

TEST_CASE("the importance of a field is how much of the ranks it explains, and failed trials are the last") {
  const std::string balanced = "uvvuuvvuuvvu";
  std::vector<std::vector<std::string>> values;
  for (size_t i = 0; i < 12; ++i)
    values.push_back(
        {i < 6 ? "x" : "y", balanced.substr(i, 1), "c" + std::to_string(i), "d" + std::to_string(i % 5)});
  Tune tune = importance_tune({"a", "b", "c", "d"}, values);
  const auto importance = importance_of_fields(tune);
  REQUIRE(importance.size() == 4);
  // H is 12 / (12 * 13) * (21^2 / 6 + 57^2 / 6) - 3 * 13, of two groups.
  CHECK(importance[0].value() == Approx((12.0 / 156 * (441.0 / 6 + 3249.0 / 6) - 39 - 1) / 10));
  CHECK(importance[1] == 0.0);
  CHECK_FALSE(importance[2]);  // each value has one trial
  CHECK_FALSE(importance[3]);  // or two or three
  CHECK(tune_document(tune)["importance"].size() == 2);
  tune.trials.pop_back();
  for (const auto& field : importance_of_fields(tune)) CHECK_FALSE(field);  // too few trials

  Tune failing = importance_tune({"a"}, std::vector<std::vector<std::string>>(12, {"x"}));
  for (const size_t failed : {1, 3, 5, 7, 9, 11}) {
    failing.trials[failed].values = {"y"};
    failing.trials[failed].scores.clear();
    failing.trials[failed].error = "it fails";
  }
  CHECK(importance_of_fields(failing)[0].value() == Approx((11 * 108 / 125.5 - 1) / 10));

  std::vector<std::vector<std::string>> numbers;
  for (const char* const number :
       {"1e-6", "3e-6", "1e-5", "3e-5", "1e-4", "3e-4", "1e-3", "3e-3", "0.01", "0.03", "0.1", "3"})
    numbers.push_back({number});
  // Three groups of four.
  CHECK(importance_of_fields(importance_tune({"a"}, numbers))[0].value() ==
        Approx((11 * 128.0 / 143 - 2) / 9));
}

TEST_CASE("the page of a tune draws each trial with a result across the axes") {
  const Tune tune = halved_tune();
  const std::string picture = tune_coordinates(tune);
  const auto lines_in = [](const std::string& svg) {
    size_t lines = 0;
    for (size_t at = 0; (at = svg.find("class=\"line", at)) != std::string::npos; ++at) ++lines;
    return lines;
  };
  CHECK(lines_in(picture) == 6);
  CHECK_THAT(picture, ContainsSubstring("min-width:900px"));
  Tune further = tune;
  further.trials[2].scores.push_back(0.1);
  CHECK(lines_in(tune_coordinates(further)) == 6);  // of the rung that others have completed
  further.trials[4].scores.push_back(0.2);
  CHECK(lines_in(tune_coordinates(further)) == 2);  // those of the last rung, by whose metric they compare
  CHECK_THAT(picture, ContainsSubstring(">learning_rate</text>") && ContainsSubstring(">[8, 8]</text>") &&
                          ContainsSubstring("trial-003: learning_rate 0.900000, hidden [8, 8]</title>"));
  // The best is at the top of the last axis, and of the first one, where it has the highest value.
  CHECK_THAT(picture, ContainsSubstring("d=\"M70.0 44.0L450.0 214.0L830.0 44.0\"><title>trial-003"));
  const std::string page = tune_page(tune);
  CHECK_THAT(page, ContainsSubstring("Importance of the fields") && ContainsSubstring(picture));
  Tune without = tune;
  for (TuneTrial& trial : without.trials) trial.scores.clear();
  CHECK(tune_coordinates(without).empty());
}

}  // namespace
}  // namespace dtrain
