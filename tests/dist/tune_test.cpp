// Tunes and range tests from the command line to the files that they leave.
#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <map>
#include <set>

#include "catch.h"
#include "job.h"

namespace dtrain {
namespace {

namespace fs = std::filesystem;

// Learns within a few epochs, each a hundredth of a second.
constexpr const char* kLearnable = R"(name: learnable
strategy: {kind: one_device, threads_per_replica: 1}
data: {dataset: synthetic, train_examples: 400, test_examples: 100, shape: [1, 4, 4], classes: 4,
       split: {validation: 0.25}}
batch: {per_replica: 16}
model: {kind: mlp, hidden: [16]}
train: {epochs: 2, optimizer: {kind: sgd, learning_rate: 0.1}}
)";

constexpr double kTrialsSeconds = 300;  // for a dozen trials and more

Finished run_trials(const Arguments& arguments) { return run_program(arguments, {}, kTrialsSeconds); }

class TuneJob {
 public:
  explicit TuneJob(const std::string& spec = kLearnable) : job_(spec) {}

  fs::path folder() const { return job_.run_folder(); }
  fs::path trial(const std::string& number) const { return folder() / ("trial-" + number); }
  Arguments tune(const Arguments& more) const {
    return Arguments{"tune", job_.spec_file().string(), "--out", folder().string()} + more;
  }
  Arguments resume() const { return {"tune", "--resume", folder().string()}; }
  Event document() const { return Event::parse(content_of(folder() / "tune.json")); }
  Event summary(const fs::path& run) const {
    return Event::parse(content_of(run / "summary.json"))["distributed"]["run_end"];
  }
  const Job& job() const { return job_; }

 private:
  Job job_;
};

// The events of a run, of one kind.
std::vector<Event> events_of(const fs::path& run, const std::string& kind) {
  std::vector<Event> events;
  for (const std::string& line : lines_of(content_of(run / "metrics.jsonl"))) {
    const Event event = Event::parse(line);
    if (event["event"] == kind) events.push_back(event);
  }
  return events;
}

TEST_CASE("a tune trains every combination and names the best by the validation part") {
  const TuneJob tuned;
  const Finished run = run_trials(tuned.tune({"--try", "train.optimizer.learning_rate=1e-4,0.1", "--try",
                                              "model.hidden=[8],[16,8]", "--trials-at-once", "2"}));
  INFO(run.errors);
  REQUIRE(run.exit_code == 0);
  const Event document = tuned.document();
  CHECK(document["part"] == "validation");
  CHECK(document["metric"] == "accuracy");
  REQUIRE(document["trials"].size() == 4);
  double best = 0;
  for (const Event& trial : document["trials"]) {
    const fs::path folder = tuned.folder() / trial["directory"].get<std::string>();
    const Event end = tuned.summary(folder);
    CHECK(trial["status"] == "trained");
    CHECK(trial["epochs"] == 2);
    CHECK(trial["accuracy"] == end["validation"]["accuracy"]);
    CHECK(trial["evaluations"].size() == 2);
    best = std::max(best, trial["accuracy"].get<double>());
  }
  CHECK(document["trials"][3]["values"]["train.optimizer.learning_rate"] == "0.1");
  CHECK_THAT(content_of(tuned.trial("004") / "spec.yaml"), ContainsSubstring("hidden: [16, 8]"));
  const std::string winner = document["best"];
  CHECK(tuned.summary(tuned.folder() / winner)["validation"]["accuracy"] == best);
  CHECK_THAT(run.output, ContainsSubstring("# the best, " + winner) && !ContainsSubstring("NOTE"));
  CHECK(run_program({"compare", tuned.trial("001").string(), tuned.trial("002").string()}).exit_code == 0);
  const fs::path page = tuned.job().folder() / "page.html";
  CHECK(run_program({"report", tuned.folder().string(), "--out", page.string()}).exit_code == 0);
  CHECK_THAT(content_of(page), ContainsSubstring("tune of learnable"));
  CHECK(tuned.job().is_gone(0));

  const Finished again = run_trials(tuned.tune({"--try", "train.epochs=1"}));
  CHECK(again.exit_code == 2);
  CHECK_THAT(again.errors, ContainsSubstring("has a tune; dtrain tune --resume"));
}

TEST_CASE("cross-validation trains every fold with every seed, and compares their means") {
  const TuneJob tuned;
  std::string table = "x,y,who,kind\n";
  for (int i = 0; i < 121; ++i)
    table +=
        fmt::format("{},{},p{},{}\n", i * 37 % 101, i * 53 % 89, i % 11, i * 37 % 101 < 50 ? "low" : "high");
  const std::string path = tuned.job().folder() / "table.csv";
  write_file(path, table);
  const Arguments of_table = Job::set({"data.dataset=csv", "data.path=" + path, "data.target=kind",
                                       "data.split.test=0.1", "data.split.group=who"}) +
                             Arguments{"--unset", "data.train_examples", "--unset", "data.test_examples",
                                       "--unset", "data.shape",          "--unset", "data.classes"};
  const Finished run = run_trials(tuned.tune(
      Arguments{"--folds", "3", "--seeds", "2", "--try", "train.optimizer.learning_rate=1e-5,0.1"} +
      of_table));
  INFO(run.errors);
  REQUIRE(run.exit_code == 0);
  const Event document = tuned.document();
  REQUIRE(document["trials"].size() == 12);
  REQUIRE(document["combinations"].size() == 2);
  std::map<std::string, std::vector<double>> singles;  // by the learning rate, from the runs themselves
  std::map<int64_t, int64_t> validated;                // examples, by fold
  std::set<std::string> kinds;
  for (const Event& trial : document["trials"]) {
    const fs::path folder = tuned.folder() / trial["directory"].get<std::string>();
    const Event& values = trial["values"];
    singles[values["train.optimizer.learning_rate"]].push_back(
        tuned.summary(folder)["validation"]["accuracy"].get<double>());
    const int64_t fold = std::stoll(values["data.split.fold"].get<std::string>());
    validated[fold] = events_of(folder, "run_start")[0]["validation_examples"].get<int64_t>();
    kinds.insert(values["data.split.fold"].get<std::string>() + " " + values["seed"].get<std::string>());
  }
  CHECK(kinds == std::set<std::string>{"1 42", "1 43", "2 42", "2 43", "3 42", "3 43"});
  CHECK(validated == std::map<int64_t, int64_t>{{1, 44}, {2, 33}, {3, 33}});  // of ten groups of eleven
  double last = 1;
  for (const Event& combination : document["combinations"]) {
    const std::vector<double> values = singles[combination["values"]["train.optimizer.learning_rate"]];
    CHECK(combination["scores"].get<std::vector<double>>() == values);
    double sum = 0, squares = 0;
    for (const double value : values) sum += value;
    for (const double value : values) squares += (value - sum / 6) * (value - sum / 6);
    CHECK(combination["mean"].get<double>() == Approx(sum / 6));
    CHECK(combination["deviation"].get<double>() == Approx(std::sqrt(squares / 5)));
    CHECK(sum / 6 <= last);
    last = sum / 6;
    CHECK_THAT(run.output, ContainsSubstring(fmt::format("{:.4f}", sum / 6)) &&
                               ContainsSubstring(fmt::format("{:.4f}", std::sqrt(squares / 5))));
  }
  // A trial's folder says what it was trained on.
  const Finished again =
      run_program({"eval", tuned.trial("004").string(), "--split", "validation", "--json"});
  INFO(again.errors);
  REQUIRE(again.exit_code == 0);
  CHECK(Event::parse(again.output)["accuracy"] == document["trials"][3]["accuracy"]);
  const fs::path page = tuned.job().folder() / "page.html";
  CHECK(run_program({"report", tuned.folder().string(), "--out", page.string()}).exit_code == 0);
}

TEST_CASE("the best of a halved tune is what the whole training would have been, schedule and all") {
  const TuneJob tuned;
  const Finished run = run_trials(
      tuned.tune(Arguments{"--try", "train.optimizer.learning_rate=0.2,1e-5,0.1,1e-6", "--halving", "2"} +
                 Job::set({"train.epochs=4", "train.schedule.kind=cosine"})));
  INFO(run.errors);
  REQUIRE(run.exit_code == 0);
  const Event document = tuned.document();
  CHECK(document["rung_epochs"] == Event({1, 2, 4}));
  std::vector<int64_t> epochs;
  for (const Event& trial : document["trials"]) epochs.push_back(trial["epochs"]);
  std::sort(epochs.begin(), epochs.end());
  CHECK(epochs == std::vector<int64_t>{1, 1, 2, 4});
  const fs::path winner = tuned.folder() / document["best"].get<std::string>();
  std::vector<int64_t> trained;
  for (const Event& event : events_of(winner, "epoch")) trained.push_back(event["epoch"]);
  CHECK(trained == std::vector<int64_t>{1, 2, 3, 4});  // none twice

  const std::string spec = (tuned.folder() / "specs" / (winner.filename().string() + ".yaml")).string();
  const fs::path whole = tuned.job().folder() / "whole";
  REQUIRE(run_program({"run", spec, "--run-dir", whole.string(), "--quiet"}).exit_code == 0);
  CHECK(tuned.summary(whole)["validation"] == tuned.summary(winner)["validation"]);
  CHECK(events_of(whole, "epoch").back()["learning_rate"] ==
        events_of(winner, "epoch").back()["learning_rate"]);
}

TEST_CASE("asynchronous halving trains the best so far further before all others have begun") {
  const TuneJob tuned;
  const Finished run = run_trials(
      tuned.tune(Arguments{"--try", "train.optimizer.learning_rate=1e-6,0.2,1e-5,0.1,1e-4,0.3,1e-7,1e-8",
                           "--halving", "2", "--asynchronous", "--trials-at-once", "2"} +
                 Job::set({"train.epochs=4"})));
  INFO(run.errors);
  REQUIRE(run.exit_code == 0);
  const Event document = tuned.document();
  CHECK(document["rung_epochs"] == Event({1, 2, 4}));
  size_t begun = 0, longer = 0;
  for (const Event& trial : document["trials"]) {
    CHECK(trial["status"] != "unfinished");
    begun += trial["scores"].empty() ? 0 : 1;
    longer += trial["scores"].size() > 1 ? 1 : 0;
    CHECK(trial["rung"].get<size_t>() + 1 == trial["scores"].size());  // what it began, it has completed
  }
  CHECK(begun == 8);
  CHECK(longer >= 4);
  CHECK(tuned.document()["trials"][0]["scores"].size() < 3);
  const fs::path winner = tuned.folder() / document["best"].get<std::string>();
  CHECK(events_of(winner, "epoch").size() == 4);  // none twice
  // Someone went on before the last one had begun.
  CHECK(run.errors.find("after 2 epochs") < run.errors.find("trial-008, "));
}

TEST_CASE("asynchronous halving trains one to the end though some fail") {
  const TuneJob tuned;
  const Finished run = run_trials(
      tuned.tune(Arguments{"--try", "train.optimizer.learning_rate=1e6,0.1,0.01,0.001", "--halving", "4",
                           "--asynchronous"} +
                 Job::set({"train.epochs=4", "model.hidden=[16,16,16]", "model.activation=gelu"})));
  INFO(run.errors);
  REQUIRE(run.exit_code == 0);
  CHECK(tuned.document()["trials"][0]["status"] == "failed");
  CHECK(tuned.document()["trials"][1]["status"] == "trained");
  // Also if it fails that was sent on: as if it had.
  Event document = tuned.document();
  document["trials"][1]["error"] = "it fails";
  document["trials"][1]["exit_code"] = 6;
  document["trials"][1]["scores"].erase(1);
  write_file(tuned.folder() / "tune.json", document.dump());
  REQUIRE(run_trials(tuned.resume()).exit_code == 0);
  int trained = 0;
  const Event after = tuned.document();
  for (const Event& trial : after["trials"]) trained += trial["status"] == "trained" ? 1 : 0;
  CHECK(trained == 1);
}

TEST_CASE("what TPE proposes is trained with all that the file says, whatever it applies to") {
  std::string spec = kLearnable;
  const std::string optimizer = "{kind: sgd, learning_rate: 0.1}";
  spec.replace(spec.find(optimizer), optimizer.size(), "{learning_rate: 0.1, momentum: 0.8}");
  const TuneJob tuned(spec);
  const Finished run = run_trials(tuned.tune(
      {"--tpe", "11", "--try", "train.optimizer.kind=sgd", "--try", "seed=int(1,100)", "--quiet"}));
  INFO(run.errors);
  REQUIRE(run.exit_code == 0);
  for (const std::string number : {"001", "011"})
    CHECK_THAT(content_of(tuned.trial(number) / "spec.yaml"), ContainsSubstring("momentum: 0.8"));
}

TEST_CASE("a tune by TPE keeps the plug-ins of the command line, and stops when its spec does not fit") {
  const TuneJob tuned;
  const std::string library = fmt::format("{}/libkinds.so", DTRAIN_PLUGINS);
  const Finished run =
      run_program(Arguments{"--plugin", library} +
                  tuned.tune(Arguments{"--tpe", "10", "--try", "train.optimizer.learning_rate=log(1e-4,1)"} +
                             Job::set({"train.loss.kind=focal", "train.epochs=1"})));
  INFO(run.errors);
  REQUIRE(run.exit_code == 0);
  const auto with_one_more = [&] {
    Event document = tuned.document();
    document["combinations_to_try"] = document["trials"].size() + 1;
    write_file(tuned.folder() / "tune.json", document.dump());
    return run_trials(tuned.resume());
  };
  const Finished resumed = with_one_more();
  INFO(resumed.errors);
  CHECK(resumed.exit_code == 0);
  CHECK(tuned.document()["trials"][10]["status"] == "trained");

  const fs::path base = tuned.folder() / "specs" / "base.yaml";
  const std::string spec = content_of(base);
  write_file(base, spec + "nonsense: 1\n");
  const Finished stopped = with_one_more();
  CHECK(stopped.exit_code == 2);
  CHECK_THAT(stopped.errors, ContainsSubstring("nonsense: unknown field"));
  CHECK(tuned.document()["trials"][11]["status"] == "unfinished");
  write_file(base, spec);
  CHECK(run_trials(tuned.resume()).exit_code == 0);
  CHECK(tuned.document()["trials"][11]["status"] == "trained");
}

TEST_CASE("a tune by TPE says that it has tried all there is") {
  const TuneJob tuned;
  const Finished run = run_trials(tuned.tune({"--tpe", "12", "--try", "model.hidden=[8],[4]"}));
  CHECK(run.exit_code == 0);
  CHECK_THAT(run.errors,
             ContainsSubstring("no other combination is left to try; the tune ends with 2 combinations"));
}

TEST_CASE("a trial that diverges is a row with its reason, and a tune of such trials fails") {
  const TuneJob tuned;
  const Arguments fragile =
      Job::set({"model.hidden=[16,16,16]", "model.activation=gelu", "data.split.validation=none"});
  const Finished run =
      run_trials(tuned.tune(Arguments{"--try", "train.optimizer.learning_rate=1e6,1e-3"} + fragile));
  INFO(run.errors);
  CHECK(run.exit_code == 0);
  const Event document = tuned.document();
  CHECK(document["trials"][0]["status"] == "failed");
  CHECK(document["trials"][0]["exit_code"] == 6);
  CHECK_THAT(document["trials"][0]["error"].get<std::string>(), ContainsSubstring("training diverged"));
  CHECK(document["best"] == "trial-002");
  CHECK_THAT(run.output, ContainsSubstring("failed, exit code 6: ") &&
                             ContainsSubstring("NOTE: the test examples chose"));
  const Finished all = run_program(Arguments{"tune", tuned.job().spec_file().string(), "--out",
                                             (tuned.job().folder() / "all").string(), "--try",
                                             "train.optimizer.learning_rate=1e6", "--quiet"} +
                                   fragile);
  CHECK(all.exit_code == 6);
  CHECK(all.errors.empty());
  CHECK_THAT(all.output, ContainsSubstring("# no trial has a result"));
}

TEST_CASE("a full disk stops a tune, which goes on when there is room") {
  const TuneJob tuned;
  ProgramOptions small_disk;
  small_disk.before_exec = [] {
    const rlimit both{300'000, 300'000};  // less than the first trial's checkpoint
    ::setrlimit(RLIMIT_FSIZE, &both);
  };
  const Finished full = run_program(tuned.tune({"--try", "model.hidden=[8192],[8]"}), small_disk);
  INFO(full.errors);
  CHECK(full.exit_code == 9);
  CHECK_THAT(full.errors, ContainsSubstring("File too large") &&
                              ContainsSubstring("tune --resume " + tuned.folder().string()));
  CHECK(tuned.document()["trials"][0]["exit_code"] == 9);
  CHECK(tuned.document()["trials"][1]["status"] == "unfinished");
  const Finished resumed = run_trials(tuned.resume());
  INFO(resumed.errors);
  CHECK(resumed.exit_code == 0);
  for (const size_t trial : {0, 1}) CHECK(tuned.document()["trials"][trial]["status"] == "trained");
}

// Three trials of some thousand steps.
Arguments long_trials() {
  return Arguments{"--try", "train.optimizer.learning_rate=0.1,0.01,0.001"} +
         Job::set({"train.epochs=200", "evaluate.every_epochs=100", "checkpoint.every_epochs=5"});
}

void require_one_training_each(const TuneJob& tuned) {
  for (const std::string number : {"001", "002", "003"}) {
    CHECK(events_of(tuned.trial(number), "epoch").size() == 200);
    CHECK(tuned.summary(tuned.trial(number))["status"] == "completed");
  }
}

TEST_CASE("a tune that was stopped goes on where its trials were") {
  const TuneJob tuned;
  Program program(tuned.tune(long_trials()));
  REQUIRE(eventually(kSoon, [&] { return fs::exists(tuned.trial("001") / "checkpoints"); }));
  program.send(SIGINT);
  const Finished stopped = program.wait();
  INFO(stopped.errors);
  REQUIRE(stopped.exit_code == 75);
  CHECK_THAT(stopped.errors,
             ContainsSubstring("dtrain tune --resume " + tuned.folder().string() + " continues it"));
  CHECK(tuned.job().is_gone());
  CHECK_FALSE(fs::exists(tuned.trial("003")));
  const Finished resumed = run_trials(tuned.resume());
  INFO(resumed.errors);
  CHECK(resumed.exit_code == 0);
  require_one_training_each(tuned);
  const Event document = tuned.document();
  CHECK(document["trials"].size() > 1);
  for (const Event& trial : document["trials"]) CHECK(trial["status"] == "trained");
}

TEST_CASE("a tune that was killed leaves nothing running, and repeats no trial that has ended") {
  const TuneJob tuned;
  Program program(tuned.tune(long_trials()));
  REQUIRE(eventually(kSoon, [&] { return fs::exists(tuned.trial("002") / "checkpoints"); }));
  program.send(SIGKILL);
  program.wait();
  CHECK(tuned.job().is_gone());
  const std::string first = content_of(tuned.trial("001") / "metrics.jsonl");
  const Finished resumed = run_trials(tuned.resume());
  INFO(resumed.errors);
  CHECK(resumed.exit_code == 0);
  CHECK(content_of(tuned.trial("001") / "metrics.jsonl") == first);
  require_one_training_each(tuned);
  const Finished nothing_left = run_trials(tuned.resume() + Arguments{"--json"});
  CHECK(nothing_left.exit_code == 0);
  CHECK(nothing_left.errors.empty());
  CHECK(Event::parse(nothing_left.output)["trials"] == tuned.document()["trials"]);
}

TEST_CASE("a tune by TPE that was killed proposes what it would have, from its folder alone") {
  const Arguments options = {"--tpe",  "13",
                             "--seed", "3",
                             "--try",  "train.optimizer.learning_rate=log(1e-4,1)",
                             "--try",  "model.hidden=[8],[16,8]"};
  const auto trials_of = [](const TuneJob& tuned) {
    std::vector<std::pair<Event, Event>> trials;
    const Event document = tuned.document();
    for (const Event& trial : document["trials"]) trials.emplace_back(trial["values"], trial["scores"]);
    return trials;
  };
  const TuneJob whole, killed;
  const Finished run = run_trials(whole.tune(options));
  INFO(run.errors);
  REQUIRE(run.exit_code == 0);
  CHECK_THAT(run.output, ContainsSubstring("search by TPE of 13 trials"));
  CHECK(trials_of(whole).size() == 13);

  Program program(killed.tune(options));
  REQUIRE(eventually(kTrialsSeconds, [&] { return fs::exists(killed.trial("011") / "metrics.jsonl"); }));
  program.send(SIGKILL);
  program.wait();
  CHECK(killed.job().is_gone());
  CHECK(trials_of(killed).size() < 13);
  fs::remove(killed.job().spec_file());
  const Finished resumed = run_trials(killed.resume());
  INFO(resumed.errors);
  CHECK(resumed.exit_code == 0);
  CHECK(trials_of(killed) == trials_of(whole));
}

TEST_CASE("each combination that TPE proposes is trained on every fold") {
  const TuneJob tuned;
  const Finished run =
      run_trials(tuned.tune(Arguments{"--tpe", "12", "--folds", "2", "--trials-at-once", "2", "--try",
                                      "batch.global=int(8,40)", "--unset", "batch.per_replica"} +
                            Job::set({"train.epochs=1"})));
  INFO(run.errors);
  REQUIRE(run.exit_code == 0);
  const Event document = tuned.document();
  CHECK(document["combinations"].size() == 12);
  REQUIRE(document["trials"].size() == 24);
  for (size_t i = 0; i < 24; i += 2) {
    const Event &one = document["trials"][i]["values"], &other = document["trials"][i + 1]["values"];
    CHECK(one["batch.global"] == other["batch.global"]);
    CHECK(one["data.split.fold"] == "1");
    CHECK(other["data.split.fold"] == "2");
  }
}

TEST_CASE("two tunes do not work in one folder") {
  const TuneJob tuned;
  Program program(tuned.tune(Arguments{"--try", "train.optimizer.learning_rate=0.1"} + kEndless));
  REQUIRE(eventually(kSoon, [&] { return fs::exists(tuned.trial("001")); }));
  const Finished other = run_trials(tuned.resume());
  CHECK(other.exit_code == 2);
  CHECK_THAT(other.errors, ContainsSubstring("another dtrain tune works in this folder"));
  program.send(SIGTERM);
  CHECK(program.wait().exit_code == 75);
}

TEST_CASE("a range test trains from the first weights, with a rate that grows from step to step") {
  const Job job(kLearnable);
  ProgramOptions here;
  here.working_folder = job.folder().string();
  const fs::path page = job.folder() / "page.html";
  const Finished run = run_program({"find-lr", job.spec_file().string(), "--from", "1e-4", "--to", "1000",
                                    "--steps", "141", "--json", "--out", page.string()},
                                   here);
  INFO(run.errors);
  REQUIRE(run.exit_code == 0);
  const Event document = Event::parse(run.output);
  CHECK_THAT(content_of(page), ContainsSubstring("learning rates of learnable"));
  const auto& points = document["points"];
  REQUIRE(points.size() > 20);
  const fs::path folder = *fs::directory_iterator(job.folder() / "runs");
  const std::vector<Event> steps = events_of(folder / "run", "step");
  REQUIRE(steps.size() >= points.size());
  for (size_t i = 0; i < points.size(); ++i) {
    const double rate = 1e-4 * std::pow(10, static_cast<double>(i) / 20);
    CHECK(points[i]["learning_rate"].get<double>() == Approx(rate));
    CHECK(steps[i]["learning_rate"].get<double>() == Approx(rate));
    CHECK(points[i]["loss"] == steps[i]["loss"]);
  }
  // A step's loss is that before its update, so the first one is that of any training of the job.
  REQUIRE(run_program(job.run({"--quiet", "--set", "metrics.every_steps=1"})).exit_code == 0);
  CHECK(events_of(job.run_folder(), "step").front()["loss"] == points[0]["loss"]);
  CHECK(document["learning_rate"] > 1e-3);
  CHECK(document["learning_rate"] < 3);
  CHECK(job.is_gone(0));
}

TEST_CASE("a range test whose page cannot be written tells its result all the same") {
  const Job job(kLearnable);
  ProgramOptions here;
  here.working_folder = job.folder().string();
  const Finished run = run_program(
      {"find-lr", job.spec_file().string(), "--steps", "20", "--json", "--out", "/proc/page.html"}, here);
  CHECK(run.exit_code == 2);
  CHECK_THAT(run.errors, ContainsSubstring("/proc/page.html: cannot create"));
  CHECK_FALSE(Event::parse(run.output)["points"].empty());
}

TEST_CASE("a range test of a job that cannot train fails as the job does") {
  const Job job(kLearnable);
  ProgramOptions here;
  here.working_folder = job.folder().string();
  const Finished run = run_program(
      Arguments{"find-lr", job.spec_file().string()} + Job::set({"model.weights=" + job.folder().string()}),
      here);
  CHECK(run.exit_code == 7);
  CHECK(run.output.empty());
}

}  // namespace
}  // namespace dtrain
