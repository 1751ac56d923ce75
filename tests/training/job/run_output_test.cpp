#include "job/run_output.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "callbacks/callbacks.h"
#include "catch.h"
#include "files.h"
#include "job/other_replicas.h"
#include "job_file/print.h"
#include "train/small_jobs.h"

namespace {

std::vector<std::string>* synced = nullptr;  // the names of files whose content is on the disk, if wanted

int sync_with(int64_t call, int file) {
  if (synced != nullptr) {
    const std::string name =
        std::filesystem::read_symlink("/proc/self/fd/" + std::to_string(file)).filename();
    synced->push_back(name.substr(0, name.find(".tmp")));  // of what it replaces
  }
  return static_cast<int>(::syscall(call, file));
}

}  // namespace

// In the place of libc's, in this program.
extern "C" int fdatasync(int file) {  // NOLINT(readability-inconsistent-declaration-parameter-name)
  return sync_with(SYS_fdatasync, file);
}
extern "C" int fsync(int file) {  // NOLINT(readability-inconsistent-declaration-parameter-name)
  return sync_with(SYS_fsync, file);
}

namespace dtrain {
namespace {

std::vector<Event> metrics_in(const std::filesystem::path& folder) {
  std::ifstream file(folder / "metrics.jsonl");
  std::vector<Event> events;
  for (std::string line; std::getline(file, line);) events.push_back(Event::parse(line));
  return events;
}

Event summary_in(const std::filesystem::path& folder) {
  return Event::parse(content_of(folder / "summary.json"));
}

OutputOptions into(const std::filesystem::path& folder) {
  OutputOptions options;
  options.directory.directory = folder;
  return options;
}

JobPlan compared_job() {
  return small_job({"strategy.kind=mirrored", "strategy.replicas=2", "compare.baseline=one_device"});
}

// A run of `run` that went well, with this speed.
void report_run(RunOutput& output, const RunPlan& run, double examples_per_second) {
  auto start = begin_event<RunStartEvent>(run.name());
  start.name = "small";
  start.strategy = run.strategy;
  start.dataset = "synthetic";
  start.replicas = run.replicas;
  start.global_batch = run.batch.global;
  output.on_event(encode(start));
  auto end = begin_event<RunEndEvent>(run.name());
  end.status = "completed";
  end.exit_code = 0;
  end.speed.examples_per_second = examples_per_second;
  output.on_event(encode(end));
}

TEST_CASE("a job's folder holds the resolved spec from the start, which reads back as the same job") {
  const TemporaryFolder folder;
  const JobPlan job = small_job({"strategy.kind=mirrored", "strategy.replicas=auto"});
  std::ostringstream out;
  const RunOutput output(job, into(folder / "run"), out);
  CHECK(output.directory().path() == folder / "run");
  CHECK(content_of(folder / "run/spec.yaml") == print_spec(job.spec));
  LoadedSpec again = load_spec(folder / "run/spec.yaml");
  const PlannedJob planned = plan_job(again, job.data);
  INFO(problems_of(planned));
  REQUIRE(planned.ok());
  const JobPlan& same = planned.job;
  CHECK(same.distributed_run().replicas == job.distributed_run().replicas);
  CHECK(print_spec(same.spec) == print_spec(job.spec));
}

TEST_CASE("finish compares the runs and writes the summary") {
  const TemporaryFolder folder;
  const JobPlan job = compared_job();
  std::ostringstream out;
  RunOutput output(job, into(folder / "run"), out);
  report_run(output, job.runs[0], 1000);
  auto measured = begin_event<OverheadEvent>("overhead");
  measured.overhead = 0.125;
  output.on_event(encode(measured));
  report_run(output, job.runs[2], 1800);
  output.finish(job);

  std::vector<std::string> kinds;
  for (const Event& event : metrics_in(folder / "run")) kinds.push_back(event["event"]);
  CHECK(kinds == std::vector<std::string>{"run_start", "run_end", "run_start", "run_end", "comparison"});
  const Event summary = summary_in(folder / "run");
  CHECK(summary["comparison"]["speedup"] == Approx(1.8));
  CHECK(summary["comparison"]["scaling_efficiency"] == Approx(0.9));
  CHECK(summary["comparison"]["overhead"] == Approx(0.125));
  CHECK(summary["baseline"]["run_end"]["status"] == "completed");
  CHECK(summary["distributed"]["run_end"]["status"] == "completed");
  CHECK_THAT(out.str(), ContainsSubstring("1.8"));
}

TEST_CASE("while a run goes on the machine is looked at, once a while") {
  const TemporaryFolder folder;
  const JobPlan job = small_job();
  OutputOptions options = into(folder / "run");
  options.machine_seconds = 0.02;
  std::ostringstream out;
  RunOutput output(job, options, out);
  output.on_event(encode(begin_event<RunStartEvent>("distributed")));
  const double end = steady_seconds() + 0.5;
  const auto has_looked = [&] { return metrics_in(folder / "run").size() > 2; };
  while (steady_seconds() < end || (!has_looked() && steady_seconds() < end + 30)) output.on_tick();
  const std::vector<Event> events = metrics_in(folder / "run");
  CHECK(events.size() > 2);
  CHECK(events.size() < 30);
  CHECK(events.back().at("event") == "machine");
  CHECK(events.back().at("run") == "distributed");
  CHECK(events.back().at("processors").get<double>() > 0);  // this very loop
  CHECK(events.back().at("memory_bytes").get<int64_t>() > 0);
  CHECK(events.back().at("seconds").get<double>() > 0.02);
}

TEST_CASE("the machine is looked at before the first event of a run, too") {
  const TemporaryFolder folder;
  const JobPlan job = compared_job();
  OutputOptions options = into(folder / "run");
  options.machine_seconds = 0.02;
  std::ostringstream out;
  RunOutput output(job, options, out);
  const double end = steady_seconds() + 30;
  for (size_t run = 0; run < job.runs.size(); ++run) {
    output.begin(job, job.runs[run]);
    while (metrics_in(folder / "run").size() <= run && steady_seconds() < end) output.on_tick();
  }
  const std::vector<Event> events = metrics_in(folder / "run");
  REQUIRE(events.size() == 3);
  CHECK(events[0].at("run") == "baseline");
  CHECK(events[1].at("run") == "distributed");  // while the overhead is measured
  CHECK(events[2].at("run") == "distributed");
}

TEST_CASE("before the overhead is measured the terminal is told, and the file is not") {
  const TemporaryFolder folder;
  const JobPlan job = compared_job();
  std::ostringstream out;
  RunOutput output(job, into(folder / "run"), out);
  for (const RunPlan& run : job.runs) output.begin(job, run);
  CHECK_THAT(out.str(), ContainsSubstring("measuring what the strategy adds to a step") &&
                            ContainsSubstring(": 200 steps with it and as many without"));
  CHECK(metrics_in(folder / "run").empty());
}

TEST_CASE("the results are on the disk when a job ends, and no line of them waits for it before") {
  const TemporaryFolder folder;
  const JobPlan job = small_job();
  std::ostringstream out;
  std::vector<std::string> files;
  synced = &files;
  {
    RunOutput output(job, into(folder / "run"), out);
    const auto history = make_csv_history({job, job.distributed_run(), output.directory().path(), output});
    report_run(output, job.runs[0], 1000);
    CHECK(files == std::vector<std::string>{"spec.yaml"});
    output.finish(job);
    CHECK(files == std::vector<std::string>{"spec.yaml", "metrics.jsonl", "summary.json"});
  }
  synced = nullptr;
  CHECK(files == std::vector<std::string>{"spec.yaml", "metrics.jsonl", "summary.json", "history.csv"});
}

// The run in `run`, which has saved a checkpoint of step 5.
ResumePoint resume_of(const std::filesystem::path& run, const JobPlan& job) {
  ResumePoint from;
  from.run = run;
  from.checkpoint = run / "checkpoints" / "step-000000005";
  from.state.step = 5;
  from.state.spec = print_spec(job.spec);
  std::filesystem::create_directories(from.checkpoint);
  return from;
}

TEST_CASE("what a resumed run begins with is on the disk before it replaces what was there") {
  const TemporaryFolder folder;
  const JobPlan job = small_job();
  std::ostringstream out;
  report_run(*std::make_unique<RunOutput>(job, into(folder / "run"), out), job.runs[0], 1000);
  const ResumePoint from = resume_of(folder / "run", job);
  std::vector<std::string> files;
  synced = &files;
  const RunOutput output(job, into(folder / "run"), out, &from);
  synced = nullptr;
  CHECK(files == std::vector<std::string>{"spec.yaml", "metrics.jsonl.rewound"});
}

TEST_CASE("a run that goes on has no summary until it ends again") {
  const TemporaryFolder folder;
  const JobPlan job = small_job();
  std::ostringstream out;
  {
    RunOutput output(job, into(folder / "run"), out);
    report_run(output, job.runs[0], 1000);
    output.finish(job);
  }
  const ResumePoint from = resume_of(folder / "run", job);
  RunOutput output(job, into(folder / "run"), out, &from);
  CHECK_FALSE(std::filesystem::exists(folder / "run/summary.json"));
  output.fail(job.runs[0], ExitCode::kStopped, "stopped by SIGINT");
  CHECK(summary_in(folder / "run")["distributed"]["run_end"]["status"] == "stopped");
}

TEST_CASE("without a baseline nothing is compared") {
  const TemporaryFolder folder;
  const JobPlan job = small_job();
  std::ostringstream out;
  RunOutput output(job, into(folder / "run"), out);
  report_run(output, job.runs[0], 1000);
  output.finish(job);
  CHECK_FALSE(summary_in(folder / "run").contains("comparison"));
  CHECK(metrics_in(folder / "run").size() == 2);
}

TEST_CASE("that the weights of the best epoch were not saved is said at the end, with what saves them") {
  const auto shown = [](const std::vector<std::string>& overrides, bool saved) {
    const TemporaryFolder folder;
    const JobPlan job = small_job(overrides);
    std::ostringstream out;
    RunOutput output(job, into(folder / "run"), out);
    for (const int64_t epoch : {1, 2}) {
      auto evaluation = begin_event<EvalEvent>("distributed");
      evaluation.epoch = epoch;
      evaluation.step = 5 * epoch;
      evaluation.metrics = {{"loss", 0.1 * static_cast<double>(epoch)}};
      output.on_event(encode(evaluation));
    }
    if (saved) std::filesystem::create_directories(folder / "run/checkpoints/step-000000005");
    auto end = begin_event<RunEndEvent>("distributed");
    end.status = "completed";
    output.on_event(encode(end));
    return out.str();
  };
  const std::string note =
      "\n  its weights were not saved; checkpoint: {best: {metric: loss}} saves the best ones\n";
  CHECK_THAT(shown({}, false), ContainsSubstring("best epoch by loss: 1") && ContainsSubstring(note));
  CHECK_THAT(shown({}, true), ContainsSubstring("best epoch by loss: 1") && !ContainsSubstring(note));
  CHECK_THAT(shown({"checkpoint.best.metric=loss"}, false), !ContainsSubstring(note));
  CHECK_THAT(shown({"checkpoint.final=false"}, false), !ContainsSubstring(note));  // nothing is to be saved
}

TEST_CASE("a failure ends the run that was under way and is in the summary") {
  const TemporaryFolder folder;
  const JobPlan job = compared_job();
  std::ostringstream out;
  RunOutput output(job, into(folder / "run"), out);
  report_run(output, job.runs[0], 1000);
  output.on_event(encode(begin_event<RunStartEvent>("distributed")));
  output.fail(job.runs[2], ExitCode::kPeerLost, "rank 1 was killed");

  const Event end = metrics_in(folder / "run").back();
  CHECK(end["event"] == "run_end");
  CHECK(end["run"] == "distributed");
  CHECK(end["status"] == "failed");
  CHECK(end["exit_code"] == 4);
  CHECK(end["error"] == "rank 1 was killed");
  const Event summary = summary_in(folder / "run");
  CHECK(summary["baseline"]["run_end"]["status"] == "completed");
  CHECK(summary["distributed"]["run_end"]["status"] == "failed");
  CHECK_FALSE(summary.contains("comparison"));
}

TEST_CASE("a job that failed before its first step says so, too") {
  const TemporaryFolder folder;
  const JobPlan job = small_job();
  std::ostringstream out;
  RunOutput output(job, into(folder / "run"), out);
  output.fail(job.runs[0], ExitCode::kStopped, "stopped by SIGINT");
  CHECK(summary_in(folder / "run")["distributed"]["run_end"]["status"] == "stopped");
  CHECK(metrics_in(folder / "run").at(0)["exit_code"] == 75);
}

TEST_CASE("a failure while the overhead is measured is one of the distributed run") {
  const TemporaryFolder folder;
  const JobPlan job = compared_job();
  std::ostringstream out;
  RunOutput output(job, into(folder / "run"), out);
  REQUIRE(job.runs[1].kind == RunKind::kOverhead);
  output.fail(job.runs[1], ExitCode::kMemory, "out of memory");
  CHECK(metrics_in(folder / "run").back()["run"] == "distributed");
}

TEST_CASE("an output that nobody reads is told of once, and the metrics go on") {
  const TemporaryFolder folder;
  const JobPlan job = small_job();
  std::ostringstream out;
  OutputOptions options = into(folder / "run");
  std::vector<std::string> said;
  options.say = [&](const std::string& line) { said.push_back(line); };
  RunOutput output(job, options, out);
  out.setstate(std::ios::badbit);
  report_run(output, job.runs[0], 1000);
  output.finish(job);
  REQUIRE(said.size() == 1);
  CHECK_THAT(said[0], ContainsSubstring("standard output cannot be written") &&
                          ContainsSubstring((folder / "run/metrics.jsonl").string()));
  const std::vector<Event> events = metrics_in(folder / "run");
  REQUIRE(events.size() == 3);
  CHECK(events[1]["event"] == "warning");
  CHECK(events[1]["text"] == said[0]);
  CHECK(summary_in(folder / "run")["distributed"]["run_end"]["status"] == "completed");
}

TEST_CASE("what is removed from the folder while the job runs is written again, with a warning") {
  const TemporaryFolder folder;
  const JobPlan job = small_job();
  std::ostringstream out;
  RunOutput output(job, into(folder / "run"), out);
  output.on_event(encode(begin_event<RunStartEvent>("distributed")));
  std::filesystem::remove_all(folder / "run");
  report_run(output, job.runs[0], 1000);
  output.finish(job);
  CHECK(content_of(folder / "run/spec.yaml") == print_spec(job.spec));
  CHECK(std::filesystem::is_directory(folder / "run/logs"));
  CHECK(summary_in(folder / "run")["distributed"]["run_end"]["status"] == "completed");
  std::vector<std::string> kinds;
  for (const Event& event : metrics_in(folder / "run")) kinds.push_back(event["event"]);
  CHECK(kinds == std::vector<std::string>{"run_start", "warning", "run_start", "run_end"});
  CHECK_THAT(out.str(),
             ContainsSubstring("WARNING: " + (folder / "run").string() + ", or some of it, was removed"));
}

TEST_CASE("what a killed supervisor has said of its replicas is not true of the next job in its folder") {
  const TemporaryFolder folder;
  const JobPlan job = small_job();
  std::ostringstream out;
  OutputOptions options = into(folder / "run");
  report_run(*std::make_unique<RunOutput>(job, options, out), job.runs[0], 1000);
  folder.write("run/replicas.now", "2");
  folder.write("run/replicas.request", "3");
  CHECK_THROWS_WITH(resize(folder / "run", 2), ContainsSubstring("no dtrain trains this job on one host"));
  options.directory.overwrite = true;
  const RunOutput next(job, options, out);
  CHECK_THROWS_WITH(resize(folder / "run", 2), ContainsSubstring("no dtrain trains this job on one host"));
  for (const char* const name : {"replicas.now", "replicas.request"})
    CHECK_FALSE(std::filesystem::exists(folder / "run" / name));
}

TEST_CASE("a run that goes back to a checkpoint which the user has named has no later ones any more") {
  const bool named = GENERATE(true, false);  // or the last one is damaged
  const TemporaryFolder folder;
  const JobPlan job = small_job();
  std::ostringstream out;
  report_run(*std::make_unique<RunOutput>(job, into(folder / "run"), out), job.runs[0], 1000);
  for (const int64_t step : {1, 2, 3})
    std::filesystem::create_directories(folder / "run/checkpoints" / checkpoint_name(step));
  ResumePoint from;
  from.run = folder / "run";
  from.checkpoint = folder / "run/checkpoints" / checkpoint_name(2);
  from.state.step = 2;
  from.state.spec = print_spec(job.spec);
  if (!named) from.warnings = {"it is damaged"};
  const RunOutput output(job, OutputOptions(), out, &from);
  CHECK(list_checkpoints(folder / "run/checkpoints").back().step == (named ? 2 : 3));
}

TEST_CASE("a restart from the checkpoint of another run begins the files of callbacks anew") {
  const TemporaryFolder folder;
  const JobPlan job = small_job();
  std::ostringstream out;
  RunOutput output(job, into(folder / "run"), out);
  std::ofstream(folder / "run/history.csv") << "epoch\n";
  const FailedAttempt failed = {ExitCode::kPeerLost, "lost", "lost", 7, 5};
  for (const std::string run : {"run", "other"}) {
    ResumePoint from;
    from.checkpoint = folder / run / "checkpoints" / "step-000000005";
    from.state.step = 5;
    std::filesystem::create_directories(from.checkpoint);
    output.restart(failed, /*wait_seconds=*/0, &from);
    CHECK(std::filesystem::exists(folder / "run/history.csv") == (run == "run"));
  }
}

TEST_CASE("a name that a terminal would obey is shown without") {
  const TemporaryFolder folder;
  const JobPlan job = small_job();
  std::ostringstream out;
  RunOutput output(job, into(folder / "r\x1b[2J\u202e"), out);
  report_run(output, job.runs[0], 1000);
  output.finish(job);
  CHECK(out.str().find('\x1b') == std::string::npos);
  CHECK(out.str().find("\u202e") == std::string::npos);
  CHECK_THAT(
      out.str(),
      ContainsSubstring("The run is in " + folder.path().string() + "/r\\x1b[2J\\xe2\\x80\\xae. Next:") &&
          ContainsSubstring("dtrain report $'" + folder.path().string() + "/r\\x1b[2J\\xe2\\x80\\xae'"));
}

TEST_CASE("a folder that holds something else is refused before anything is written") {
  const TemporaryFolder folder;
  std::filesystem::create_directory(folder / "run");
  std::ofstream(folder / "run/thesis.txt") << "precious";
  const JobPlan job = small_job();
  std::ostringstream out;
  CHECK_THROWS_AS(RunOutput(job, into(folder / "run"), out), Error);
  CHECK_FALSE(std::filesystem::exists(folder / "run/spec.yaml"));
  CHECK(content_of(folder / "run/thesis.txt") == "precious");
}

}  // namespace
}  // namespace dtrain
