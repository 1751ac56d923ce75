// What dtrain tune and find-lr refuse before they start anything.
#include "catch.h"
#include "command_line.h"
#include "files.h"

namespace dtrain {
namespace {

constexpr const char* kTuned = R"(name: tuned
data: {dataset: synthetic, train_examples: 40, test_examples: 10, shape: [1, 4, 4], classes: 3}
batch: {per_replica: 4}
model: {kind: mlp, hidden: [5]}
train: {epochs: 4, optimizer: {kind: sgd}}
)";

class TunedJob {
 public:
  TunedJob() : spec_(folder_.write("job.yaml", kTuned)) {}

  // Runs the command; it must not begin.
  std::string refused(std::vector<std::string> arguments) const {
    Surroundings here;
    here.folder = folder_.path();
    const Outcome outcome = dtrain_command(arguments, here);
    INFO(outcome.errors);
    CHECK(outcome.exit_code == 2);
    CHECK(outcome.output.empty());
    CHECK_FALSE(outcome.started_processes);
    CHECK_FALSE(std::filesystem::exists(folder_ / "runs"));
    return outcome.errors;
  }
  std::string refused_tune(const std::vector<std::string>& more) const {
    std::vector<std::string> arguments = {"tune", spec_};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return refused(arguments);
  }
  const TemporaryFolder& folder() const { return folder_; }

 private:
  TemporaryFolder folder_;
  std::string spec_;
};

TEST_CASE("all that is wrong with the values that are tried is said at once") {
  const TunedJob job;
  const std::string errors =
      job.refused_tune({"--try", "train.optimizer.learning_rat=0.1,0.2", "--try",
                        "batch.per_replica=4,0,four", "--try", "model.hidden=[8],[-1]"});
  CHECK_THAT(errors,
             ContainsSubstring("--try: train.optimizer.learning_rat: unknown field; did you mean "
                               "'train.optimizer.learning_rate'?") &&
                 ContainsSubstring("--try: batch.per_replica: expected an integer or auto, got 'four'") &&
                 ContainsSubstring("--try: model.hidden[0]") && ContainsSubstring("4 problems"));
}

TEST_CASE("values of kinds that do not fit the rest of the spec are problems before anything starts") {
  const TunedJob job;
  CHECK_THAT(job.refused_tune({"--try", "batch.global=4,6", "--set", "strategy.kind=mirrored", "--set",
                               "strategy.replicas=4"}),
             ContainsSubstring("batch.global: 6 is not a multiple of 4"));
  CHECK_THAT(job.refused_tune({"--try", "data.train_examples=40,-1"}), ContainsSubstring("train_examples"));
}

TEST_CASE("what a tune does not take") {
  const TunedJob job;
  const std::string rates = "train.optimizer.learning_rate=0.1,0.2";
  CHECK_THAT(job.refused_tune({}), ContainsSubstring("--try"));
  CHECK_THAT(job.refused_tune({"--try", rates, "--try", rates}), ContainsSubstring("is tried twice"));
  CHECK_THAT(job.refused_tune({"--try", rates, "--set", "train.optimizer.learning_rate=1"}),
             ContainsSubstring("is set too"));
  CHECK_THAT(job.refused_tune({"--try", "train.optimizer.learning_rate=log(1e-3,1)"}),
             ContainsSubstring("add --random N"));
  CHECK_THAT(job.refused_tune({"--try", rates, "--random", "1001"}), ContainsSubstring("--random"));
  CHECK_THAT(job.refused_tune({"--try", rates, "--seed", "3"}), ContainsSubstring("--random or --tpe"));
  CHECK_THAT(job.refused_tune({"--try", rates, "--random", "3", "--tpe", "3"}), ContainsSubstring("--tpe"));
  CHECK_THAT(job.refused_tune({"--tpe", "3"}), ContainsSubstring("--try"));
  CHECK_THAT(job.refused_tune({"--try", rates, "--tpe", "3", "--halving", "2"}),
             ContainsSubstring("use --random with --halving"));
  CHECK_THAT(job.refused_tune({"--try", rates, "--metric", "beauty"}), ContainsSubstring("--metric"));
  CHECK_THAT(job.refused_tune({"--try", rates, "--metric", "auc"}),
             ContainsSubstring("--metric: cross_entropy has no auc"));
  CHECK_THAT(job.refused_tune({"--try", rates, "--halving", "1"}), ContainsSubstring("--halving"));
  CHECK_THAT(job.refused_tune({"--try", rates, "--asynchronous"}), ContainsSubstring("--halving"));
  CHECK_THAT(job.refused_tune({"--try", rates, "--halving", "5"}), ContainsSubstring("too few epochs"));
  CHECK_THAT(job.refused_tune({"--try", "train.epochs=4,8", "--halving", "2"}),
             ContainsSubstring("--halving divides train.epochs"));
  CHECK_THAT(job.refused_tune({"--folds", "3", "--halving", "2"}), ContainsSubstring("leave out --halving"));
  CHECK_THAT(job.refused_tune({"--folds", "1"}), ContainsSubstring("--folds"));
  CHECK_THAT(job.refused_tune({"--folds", "3", "--random", "2"}), ContainsSubstring("--try"));
  CHECK_THAT(
      job.refused_tune({"--folds", "41"}),
      ContainsSubstring("--folds: data.split.folds: is more than") && ContainsSubstring("use fewer folds"));
  CHECK_THAT(job.refused_tune({"--folds", "30", "--seeds", "40"}),
             ContainsSubstring("1 combination with its folds and seeds are 1,200 trials"));
  CHECK_THAT(job.refused_tune({"--folds", "3", "--try", "data.split.validation=0.1,0.2"}),
             ContainsSubstring("leave it out of --try"));
  CHECK_THAT(job.refused_tune({"--seeds", "3", "--try", "seed=1,2"}), ContainsSubstring("--seeds sets"));
  CHECK_THAT(job.refused_tune({"--try", rates, "--set", "data.test_examples=0"}),
             ContainsSubstring("test_examples"));
  CHECK_THAT(job.refused({"tune", "-", "--try", rates}), ContainsSubstring("name a file, not -"));
  CHECK_THAT(job.refused({"tune", "--try", rates}), ContainsSubstring("SPEC"));
}

TEST_CASE("losses are tried on a table as each of them reads its target") {
  const TunedJob job;
  std::string rows = "x,y\n";
  for (int row = 0; row < 40; ++row) rows += std::to_string(row) + "," + std::to_string(row % 2) + "\n";
  const std::string table = job.folder().write("rows.csv", rows);
  const std::string spec =
      job.folder().write("losses.yaml", "data: {dataset: csv, path: " + table +
                                            ", target: y, split: {test: 0.25}}\n"
                                            "strategy: {kind: mirrored, replicas: 2}\n"
                                            "model: {kind: mlp, hidden: [5]}\ntrain: {epochs: 1}\n");
  CHECK_THAT(job.refused({"tune", spec, "--metric", "loss", "--try",
                          "train.loss.kind=binary_cross_entropy,mean_squared_error", "--try",
                          "batch.global=4,5"}),  // or it would begin
             ContainsSubstring("5 is not a multiple of 2") && !ContainsSubstring("mean_squared_error"));
}

TEST_CASE("a tune writes only into a folder of its own, and goes on only in that of a tune") {
  const TunedJob job;
  const std::string folder = job.folder() / "mine";
  std::filesystem::create_directory(folder);
  const std::string mine = job.folder().write("mine/file", "mine");
  const std::string rates = "train.optimizer.learning_rate=0.1,0.2";
  CHECK_THAT(job.refused_tune({"--try", rates, "--out", folder}),
             ContainsSubstring("is not an empty folder; choose another with --out"));
  CHECK_THAT(job.refused({"tune", "--resume", folder}), ContainsSubstring("it has no tune.json"));
  CHECK_THAT(job.refused({"tune", "--resume", job.folder() / "mina"}), ContainsSubstring("did you mean"));
  CHECK_THAT(job.refused({"tune", "--resume", folder, "--halving", "3"}),
             ContainsSubstring("with the options that it began with; leave out the other"));
  CHECK_THAT(job.refused({"tune", "--resume", folder, "--folds", "3"}),
             ContainsSubstring("with the options that it began with; leave out the other"));
  CHECK_THAT(job.refused({"tune", "--resume", folder, "--try", rates}), ContainsSubstring("--resume"));
  CHECK_THAT(job.refused({"tune", "--resume", folder, "--tpe", "30"}), ContainsSubstring("--resume"));
  CHECK_THAT(job.refused({"tune", "--resume", folder, "--seed", "3"}),
             ContainsSubstring("--resume excludes --seed"));
  CHECK_THAT(job.refused({"tune", "--resume", folder, "--asynchronous"}),
             ContainsSubstring("--resume excludes --asynchronous"));
  CHECK(content_of(mine) == "mine");
}

TEST_CASE("what a range test does not take") {
  const TunedJob job;
  const std::string spec = job.folder() / "job.yaml";
  CHECK_THAT(job.refused({"find-lr", spec, "--from", "1", "--to", "1"}),
             ContainsSubstring("is not below --to"));
  CHECK_THAT(job.refused({"find-lr", spec, "--from", "0"}), ContainsSubstring("--from"));
  for (const char* steps : {"9", "5001"})
    CHECK_THAT(job.refused({"find-lr", spec, "--steps", steps}), ContainsSubstring("--steps"));
  CHECK_THAT(job.refused({"find-lr", spec, "--set", "train.epoch=1"}), ContainsSubstring("'train.epochs'"));
  CHECK_THAT(job.refused({"find-lr", spec, "--set", "train.optimizer.kind=muon", "--set",
                          "train.optimizer.learning_rate=0.02"}),
             ContainsSubstring("find-lr tests one rate") &&
                 ContainsSubstring("--try train.optimizer.learning_rate=0.01,0.02,0.04"));
  CHECK_THAT(job.refused({"find-lr", spec, "--out", job.folder() / "missing" / "page.html"}),
             ContainsSubstring("missing: there is no such folder"));
  job.folder().write("page.html", "mine");
  CHECK_THAT(job.refused({"find-lr", spec, "--out", job.folder() / "page.html"}),
             ContainsSubstring("--overwrite"));
}

}  // namespace
}  // namespace dtrain
