#include "initial_state/resume.h"
#include "job_file/print.h"

#include "job/run_output.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <chrono>
#include <fstream>
#include <vector>

#include "catch.h"
#include "checkpoint/checkpoint.h"
#include "core/error.h"
#include "files.h"
#include "ordinary_user.h"
#include "train/small_jobs.h"

namespace dtrain {
namespace {

namespace fs = std::filesystem;

fs::path save(const fs::path& run, int64_t step) {
  Checkpoint checkpoint;
  checkpoint.model = {{"weight", at::ones({3})}};
  checkpoint.state.step = checkpoint.state.epoch = step;
  checkpoint.state.train_examples = checkpoint.state.global_batch = 1;
  fs::create_directories(run);
  return save_checkpoint(checkpoint_folder(run), checkpoint);
}

void damage(const fs::path& checkpoint) { fs::resize_file(checkpoint / "model.safetensors", 20); }

template <class Body>
std::string failure_of(ExitCode code, const Body& body) {
  try {
    body();
  } catch (const Error& error) {
    CHECK(error.code() == code);
    return error.what();
  }
  FAIL_CHECK("no error was thrown");
  return "";
}

RunDirectoryOptions named(const fs::path& parent, const std::string& name) {
  RunDirectoryOptions options;
  options.parent = parent;
  options.name = name;
  return options;
}

TEST_CASE("a run, its checkpoints and one of them name the same run") {
  const TemporaryFolder folder;
  const fs::path run = folder / "mine";
  const fs::path checkpoint = save(run, 5);
  for (const fs::path& path : {run, run / "", checkpoint_folder(run), checkpoint, checkpoint / ""}) {
    INFO(path);
    CHECK(run_of_checkpoint(path) == run);
    const ResumePoint point = find_resume_point(path.string(), {});
    CHECK(point.run == run);
    CHECK(point.checkpoint == checkpoint);
    CHECK(point.state.step == 5);
    CHECK(point.warnings.empty());
  }
}

TEST_CASE("auto is the run directory, or the newest run of the name that has checkpoints") {
  const TemporaryFolder folder;
  const fs::path runs = folder / "runs";
  save(runs / "mine-20260101-000000", 1);
  save(runs / "mine-20260102-000000", 2);
  fs::create_directories(runs / "mine-20260103-000000");
  save(runs / "other-20260104-000000", 4);
  const auto old =
      fs::last_write_time(checkpoint_folder(runs / "mine-20260102-000000")) - std::chrono::hours(1);
  fs::last_write_time(checkpoint_folder(runs / "mine-20260101-000000"), old);
  CHECK(find_resume_point("auto", named(runs, "mine")).state.step == 2);
  CHECK(find_resume_point("auto", named(runs, "other")).state.step == 4);
  CHECK_THAT(failure_of(ExitCode::kCheckpoint, [&] { find_resume_point("auto", named(runs, "none")); }),
             ContainsSubstring("there is no folder none-TIME with checkpoints"));
  RunDirectoryOptions given = named(runs, "mine");
  given.directory = runs / "other-20260104-000000";
  CHECK(find_resume_point("auto", given).state.step == 4);
  given.directory = runs / "mine-20260103-000000";
  CHECK_THAT(
      failure_of(ExitCode::kCheckpoint, [&] { find_resume_point("auto", given); }),
      ContainsSubstring("there is no checkpoint; a spec with checkpoint: {every_epochs: 1} saves some"));
}

TEST_CASE("auto is the run that has saved last, wherever the folder lists it") {
  const TemporaryFolder folder;
  std::vector<fs::path> runs;
  for (int day = 1; day <= 5; ++day) {
    runs.push_back(folder / fmt::format("mine-2026010{}-000000", day));
    save(runs.back(), day);
  }
  fs::file_time_type time = fs::file_time_type::clock::now();
  for (const fs::path& newest : runs) {
    time += std::chrono::hours(1);
    fs::last_write_time(checkpoint_folder(newest), time);
    CHECK(find_resume_point("auto", named(folder.path(), "mine")).run == newest);
  }
}

TEST_CASE("auto passes over a run that this user may not read") {
  const TemporaryFolder folder;
  const fs::path own = folder / "mine-20260101-000000", of_other = folder / "mine-20260102-000000";
  save(own, 1);
  save(of_other, 2);
  fs::permissions(checkpoint_folder(of_other), fs::perms::none);
  {
    const OrdinaryUser user(folder.path());
    if (user.exists()) CHECK(find_resume_point("auto", named(folder.path(), "mine")).run == own);
  }
  fs::permissions(checkpoint_folder(of_other), fs::perms::owner_all);  // so that it can be removed
}

TEST_CASE("auto is no run of a job whose name only begins alike, and finds those of a long name") {
  const TemporaryFolder folder;
  save(folder / "base-20260101-000000-2", 1);
  for (const char* other : {"base-lr2-20260102-000000", "base-20260102-000000-old", "base-20260102",
                            "rebase-20260102-000000", "base-20260102-000000-3-20260103-000000"})
    save(folder / other, 2);
  const auto later =
      fs::last_write_time(checkpoint_folder(folder / "base-20260101-000000-2")) + std::chrono::hours(1);
  fs::last_write_time(checkpoint_folder(folder / "base-lr2-20260102-000000"), later);
  CHECK(find_resume_point("auto", named(folder.path(), "base")).run == folder / "base-20260101-000000-2");
  CHECK(find_resume_point("auto", named(folder.path(), "base-lr2")).run ==
        folder / "base-lr2-20260102-000000");
  const RunDirectoryOptions of_long_name = named(folder.path(), std::string(100, 'n'));
  const fs::path run = make_folder_of_run(of_long_name);
  save(run, 3);
  CHECK(find_resume_point("auto", of_long_name).run == run);
}

TEST_CASE("of a run a damaged checkpoint is passed over with a warning; one that was asked for is not") {
  const TemporaryFolder folder;
  const fs::path run = folder / "mine";
  const fs::path good = save(run, 1), bad = save(run, 2);
  damage(bad);
  const ResumePoint point = find_resume_point(run.string(), {});
  CHECK(point.checkpoint == good);
  REQUIRE(point.warnings.size() == 1);
  CHECK_THAT(point.warnings[0], ContainsSubstring("step-000000002 is not used"));
  CHECK_THAT(failure_of(ExitCode::kCheckpoint, [&] { find_resume_point(bad.string(), {}); }),
             ContainsSubstring("cannot be used") && ContainsSubstring("name the run: " + run.string()));
  damage(good);
  failure_of(ExitCode::kCheckpoint, [&] { find_resume_point(run.string(), {}); });
}

TEST_CASE("a run that goes on now is not resumed in its folder, but may be in another") {
  const TemporaryFolder folder;
  RunDirectoryOptions options;
  options.directory = folder / "run";
  const RunDirectory held = RunDirectory::create(options);
  save(folder / "run", 1);
  options.resumes = true;
  for (const std::string from : {"run", "run/checkpoints/step-000000001"})
    CHECK_THAT(failure_of(ExitCode::kUsage, [&] { find_resume_point((folder / from).string(), options); }),
               ContainsSubstring("another dtrain is using this run directory"));
  options.directory = folder / "new";
  CHECK(find_resume_point((folder / "run").string(), options).state.step == 1);
  CHECK(find_resume_point((folder / "run").string(), {}).state.step == 1);  // as for an evaluation
}

TrainingState state_of(const JobPlan& job) {
  TrainingState state;
  state.global_batch = job.distributed_run().batch.global;
  state.train_examples = job.data.train_examples;
  state.validation_examples = job.data.validation_examples;
  state.spec = print_spec(job.spec);
  return state;
}

TEST_CASE("what would train on other examples is refused, with the fix") {
  const JobPlan job = small_job();
  TrainingState state = state_of(job);
  CHECK_NOTHROW(require_resumable(job, state));
  const auto refusal = [&](const JobPlan& other) {
    return failure_of(ExitCode::kUsage, [&] { require_resumable(other, state); });
  };
  CHECK_THAT(refusal(small_job({"batch.per_replica=8"})), ContainsSubstring("--set batch.global=4"));
  CHECK_THAT(refusal(small_job({"data.train_examples=17"})), ContainsSubstring("18 examples"));
  CHECK_NOTHROW(require_resumable(small_job({"seed=1"}), state));  // between two epochs
  CHECK_NOTHROW(require_resumable(small_job({"train.epochs=9"}), state));
  const JobPlan shorter = small_job({"data.drop_remainder=true"});  // four steps an epoch, and not five
  CHECK_NOTHROW(require_resumable(shorter, state));                 // before the first step
  state.step = 10;
  CHECK_THAT(refusal(shorter), ContainsSubstring("--set data.drop_remainder=false"));
  const auto even = [](const std::string& drops) {
    return small_job({"data.train_examples=16", "data.drop_remainder=" + drops});
  };
  TrainingState of_even = state_of(even("false"));
  of_even.step = 8;
  CHECK_NOTHROW(require_resumable(even("true"), of_even));  // nothing is dropped
  state.dataset = job.data.name;
  CHECK_NOTHROW(require_resumable(job, state));
  state.dataset = "mnist";  // whose files are gone
  CHECK_THAT(refusal(job),
             ContainsSubstring("it was trained on mnist, and data.dataset: synthetic is synthetic here; "
                               "use --set data.dataset=mnist"));
  state.dataset.clear();  // an older checkpoint
  JobPlan elsewhere = job;
  elsewhere.data.source = "https://host/{train,test}.csv";
  elsewhere.data.content = "1";
  CHECK_NOTHROW(require_resumable(elsewhere, state));  // trained on files that were here
  state.content = "1";
  CHECK_NOTHROW(require_resumable(elsewhere, state));
  CHECK_NOTHROW(require_resumable(job, state));
  state.content = "2";
  CHECK_THAT(refusal(elsewhere), ContainsSubstring("it was trained on other files than those that are at "
                                                   "https://host/{train,test}.csv now"));
  state.content.clear();
  state.position = 4;
  CHECK_NOTHROW(require_resumable(job, state));
  CHECK_THAT(refusal(small_job({"seed=1"})), ContainsSubstring("--set seed=42"));
  CHECK_THAT(refusal(small_job({"data.shuffle=false"})), ContainsSubstring("--set data.shuffle=true"));
  CHECK_THAT(refusal(small_job({"data.sampling=balanced"})), ContainsSubstring("data.sampling=natural"));
}

TEST_CASE("a resume tells where it goes on and what has changed, and when nothing is left") {
  const JobPlan job = small_job({"train.epochs=3"});
  ResumePoint from;
  from.run = "runs/mine";
  from.state = state_of(job);
  from.state.epoch = 2;
  from.state.step = 2 * job.distributed_run().steps_per_epoch;
  const std::string beginning = fmt::format("resuming runs/mine from step {} of {}, after 2 epochs; ",
                                            from.state.step, job.distributed_run().total_steps);
  CHECK(resume_text(job, from) == beginning + "the spec is the same");
  CHECK(complete_text(job, from).empty());
  const std::vector<std::string> changed = {"train.epochs=3", "train.optimizer.learning_rate=0.5",
                                            "name=other"};
  CHECK(resume_text(small_job(changed), from) ==
        beginning + "name is \"other\", and was \"" + job.spec.name +
            "\"; train.optimizer.learning_rate is 0.5, and was 0.001");
  CHECK(complete_text(small_job({"train.epochs=2"}), from) ==
        fmt::format("runs/mine is complete: all {} steps are done; more train.epochs would continue it",
                    from.state.step));
  CHECK_THAT(complete_text(small_job({"train.epochs=1"}), from),
             ContainsSubstring("runs/mine has done") &&
                 ContainsSubstring("in 2 epochs, and this job asks for") &&
                 ContainsSubstring("nothing is left to train"));
}

TEST_CASE("another validation part is refused, with the fix, also between two epochs") {
  const auto refusal = [](const std::vector<std::string>& was, const std::vector<std::string>& is) {
    return failure_of(ExitCode::kUsage, [&] { require_resumable(small_job(is), state_of(small_job(was))); });
  };
  const std::vector<std::string> quarter = {"data.split.validation=0.25"};
  CHECK_NOTHROW(require_resumable(small_job(quarter), state_of(small_job(quarter))));
  CHECK_NOTHROW(
      require_resumable(small_job({"data.split.validation=0.25", "seed=1"}), state_of(small_job(quarter))));
  const std::string seed = refusal(quarter, {"data.split.validation=0.25", "data.split.seed=2"});
  CHECK_THAT(seed, ContainsSubstring("data.split {validation: 0.25, seed: 1}") &&
                       ContainsSubstring("data.split {validation: 0.25, seed: 2}") &&
                       ContainsSubstring("--set data.split.validation=0.25 --set data.split.seed=1"));
  // The same number of examples in each part, and still another part.
  const std::string stratified = refusal({"data.split.validation=0.25", "data.split.stratify=true"}, quarter);
  CHECK_THAT(stratified, ContainsSubstring("data.split {validation: 0.25, seed: 1, stratify: true}") &&
                             ContainsSubstring("--set data.split.stratify=true"));
  const std::vector<std::string> fold = {"data.split.folds=4", "data.split.fold=2"};
  CHECK_NOTHROW(require_resumable(small_job(fold), state_of(small_job(fold))));
  CHECK_THAT(refusal(fold, {"data.split.folds=4", "data.split.fold=3"}),
             ContainsSubstring("data.split {folds: 4, fold: 2, seed: 1}") &&
                 ContainsSubstring("--set data.split.folds=4 --set data.split.fold=2"));
  CHECK_THAT(refusal(quarter, fold), ContainsSubstring("--set data.split.folds=none"));
  CHECK_THAT(refusal(quarter, {"data.split.validation=0.24"}), ContainsSubstring("trained on"));
  CHECK_THAT(refusal(quarter, {}), ContainsSubstring("no data.split"));
  CHECK_THAT(refusal({}, quarter), ContainsSubstring("use --set data.split.validation=none"));
  CHECK_NOTHROW(require_resumable(small_job({"data.split.validation=none", "data.split.seed=2"}),
                                  state_of(small_job())));
  // 999 and 1000 examples leave 900 to train on, but not the same ones.
  CHECK_THAT(refusal({"data.split.validation=0.1", "data.train_examples=1000"},
                     {"data.split.validation=0.1", "data.train_examples=999"}),
             ContainsSubstring("900 examples and 100 for validation, and now there are 900 examples and 99"));
}

TEST_CASE("every difference is told at once, another model first") {
  const JobPlan job = small_job();
  const TrainingState state = state_of(job);
  const JobPlan other = small_job({"model.hidden=[9]", "batch.per_replica=8", "train.optimizer.kind=rmsprop",
                                   "data.train_examples=17", "model.activation=tanh"});
  const std::string model = "the checkpoint is of another model";
  failure_of(ExitCode::kCheckpoint, [&] { require_resumable(job, state, model); });  // though the spec is not
  const std::string all = failure_of(ExitCode::kUsage, [&] { require_resumable(other, state, model); });
  CHECK_THAT(all, ContainsSubstring(
                      "checkpoint: the checkpoint is of another model\n  model.hidden is [9], and was ") &&
                      ContainsSubstring("\n  model.activation is \"tanh\", and was \"relu\"") &&
                      ContainsSubstring("\n  train.optimizer.kind is \"rmsprop\", and was ") &&
                      ContainsSubstring("\n  it was trained with a global batch of 4") &&
                      ContainsSubstring("\n  it was trained on 18 examples"));
  // The same variables, but another function of them.
  CHECK_THAT(
      failure_of(ExitCode::kUsage, [&] { require_resumable(small_job({"model.activation=tanh"}), state); }),
      ContainsSubstring("model.activation is \"tanh\""));
  TrainingState of_other_loss = state;
  JobSpec spec = job.spec;
  spec.train.loss.kind = "cross_entropy";
  JobPlan with_other_loss = job;
  with_other_loss.spec.train.loss.kind = "another";
  of_other_loss.spec = print_spec(spec);
  CHECK_THAT(failure_of(ExitCode::kUsage, [&] { require_resumable(with_other_loss, of_other_loss); }),
             ContainsSubstring("train.loss.kind is \"another\", and was \"cross_entropy\""));
  CHECK_NOTHROW(
      require_resumable(small_job({"model.dropout=0.5", "train.optimizer.learning_rate=0.5"}), state));
}

TEST_CASE("what the optimizer remembers must be what it remembered") {
  const auto sgd = [](const std::string& momentum, const std::string& decay = "0") {
    return small_job(
        {"train.optimizer.kind=sgd", "train.optimizer.momentum=" + momentum, "train.ema.decay=" + decay});
  };
  const auto refusal = [](const JobPlan& now, const JobPlan& saved) {
    return failure_of(ExitCode::kUsage, [&] { require_resumable(now, state_of(saved)); });
  };
  CHECK_NOTHROW(require_resumable(sgd("0.5", "0.9"), state_of(sgd("0.9", "0.99"))));
  CHECK_THAT(refusal(sgd("0.9"), sgd("0")), ContainsSubstring("train.optimizer.momentum is 0.9, and was 0"));
  CHECK_THAT(refusal(sgd("0", "0.5"), sgd("0")), ContainsSubstring("train.ema.decay is 0.5, and was 0"));
  CHECK_NOTHROW(require_resumable(small_job({"train.schedule.kind=cosine"}), state_of(small_job())));
}

TEST_CASE("the command that goes on can be pasted into a shell") {
  CHECK(resume_command("runs/mine-20260101-000000") == "dtrain run --resume runs/mine-20260101-000000");
  CHECK(resume_command("my runs/it's") == "dtrain run --resume 'my runs/it'\\''s'");
}

}  // namespace
}  // namespace dtrain
