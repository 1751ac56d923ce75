// Jobs that cannot be done: each says why in the words of the user, with the exit code for it.
#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

#include "catch.h"
#include "job.h"

namespace dtrain {
namespace {

namespace fs = std::filesystem;

void limit(int resource, rlim_t most) {
  const rlimit both{most, most};
  ::setrlimit(static_cast<__rlimit_resource_t>(resource), &both);
}

TEST_CASE("a loss that is not finite ends the job with advice") {
  const std::string communication = GENERATE("shared_memory", "gloo");
  const Job job;
  const Finished run = run_program(job.run(
      Job::set({"train.optimizer.learning_rate=1e6", "model.hidden=[16,16,16]", "model.activation=gelu",
                "data.standard_deviation=1e-6", "strategy.communication=" + communication})));
  CHECK(run.exit_code == 6);
  CHECK_THAT(run.errors,
             ContainsSubstring("training diverged; lower train.optimizer.learning_rate (now 1e+06)"));
  CHECK_THAT(last_line(run.errors), ContainsSubstring("log: "));
  CHECK(job.events().back().at("event") == "run_end");
  CHECK(job.events().back().at("exit_code") == 6);
  CHECK(job.is_gone(0));
}

TEST_CASE("a rate at which the loss stays finite and nothing is learnt is told, and fails a comparison") {
  const std::string kind = GENERATE("mirrored", "parameter_server");
  const Job good, job;
  const Arguments workers = Job::set({"strategy.kind=" + kind}) +
                            Job::set(kind == "mirrored" ? Arguments{} : Arguments{"strategy.workers=2"});
  REQUIRE(run_program(good.run(workers)).exit_code == 0);
  const Finished run = run_program(job.run(workers + Job::set({"train.optimizer.learning_rate=1e6"})));
  INFO(run.output << run.errors);
  REQUIRE(run.exit_code == 0);
  CHECK_THAT(run.output, ContainsSubstring("WARNING: the training loss ") &&
                             ContainsSubstring("; a lower train.optimizer.learning_rate usually helps"));
  if (kind == "parameter_server") return;  // how good a few updates of several workers are is left to chance
  CHECK_THAT(run.output,
             ContainsSubstring("memory may be corrupt, or train.optimizer.learning_rate is far too high"));
  const auto compared = [](const Job& first, const Job& second) {
    return run_program(
        {"compare", first.run_folder().string(), second.run_folder().string(), "--max-regression", "20"});
  };
  const Finished worse = compared(good, job);
  CHECK(worse.exit_code == 8);
  CHECK_THAT(worse.output + worse.errors, ContainsSubstring("test accuracy: "));  // not its speed alone
  CHECK(compared(good, good).exit_code == 0);
}

TEST_CASE("a model that does not fit into memory ends the job with advice") {
  const Job job;
  ProgramOptions options;
  options.before_exec = [] { limit(RLIMIT_AS, rlim_t{16} << 30); };
  const Finished run = run_program(job.run(Job::set({"model.hidden=[200000,200000]"})), options);
  CHECK(run.exit_code == 5);
  CHECK_THAT(run.errors,
             ContainsSubstring("out of memory: ") &&
                 ContainsSubstring("use a smaller batch.per_replica with batch.accumulate_steps"));
  CHECK(job.events().back().at("exit_code") == 5);
  CHECK(job.is_gone(0));
}

TEST_CASE("a run directory that is in use stays as it is") {
  const Job job;
  REQUIRE(run_program(job.run()).exit_code == 0);
  const std::string before = content_of(job.run_folder() / "metrics.jsonl");

  const Finished refused = run_program(job.run());
  CHECK(refused.exit_code == 2);
  CHECK_THAT(refused.errors,
             ContainsSubstring(job.run_folder().string()) && ContainsSubstring("--overwrite"));
  CHECK(refused.output.empty());
  CHECK(content_of(job.run_folder() / "metrics.jsonl") == before);

  const Finished replaced = run_program(job.run({"--overwrite", "--set", "seed=7"}));
  CHECK(replaced.exit_code == 0);
  CHECK(job.event("run_start", "distributed").at("seed") == 7);
}

TEST_CASE("a run directory in a place where nothing can be made") {
  const Job job;
  const fs::path file = job.folder() / "file";
  std::ofstream(file) << "not a folder";
  const Finished run = run_program({"run", job.spec_file().string(), "--run-dir", (file / "run").string()});
  CHECK(run.exit_code == 2);
  CHECK_THAT(run.errors, ContainsSubstring(file.string()));
  CHECK(content_of(file) == "not a folder");
}

TEST_CASE("data that is nowhere: every place is listed") {
  const Job job("batch: {per_replica: 16}\n");
  ProgramOptions options;
  options.environment = {{"DTRAIN_DATA", (job.folder() / "data").string()}};
  options.working_folder = job.folder().string();
  const Finished run = run_program(job.run(), options);
  CHECK(run.exit_code == 3);
  CHECK_THAT(run.errors, ContainsSubstring((job.folder() / "data" / "mnist").string()) &&
                             ContainsSubstring("datasets/mnist") && ContainsSubstring("data.path"));
  CHECK_FALSE(fs::exists(job.run_folder()));
}

TEST_CASE("metrics that find no room on the disk end the job") {
  const Job job;
  ProgramOptions options;
  options.before_exec = [] { limit(RLIMIT_FSIZE, 65536); };
  const Finished run = run_program(
      job.run(kEndless + Job::set({"metrics.every_steps=1", "strategy.communication=gloo"})), options);
  CHECK(run.exit_code == 9);
  CHECK_THAT(run.errors, ContainsSubstring((job.run_folder() / "metrics.jsonl").string()) &&
                             ContainsSubstring("cannot write the metrics: File too large"));
  CHECK(job.is_gone(0));
}

bool write_line(const char* file, const std::string& line) {
  const Descriptor descriptor(::open(file, O_WRONLY | O_CLOEXEC));
  return ::write(descriptor.get(), line.data(), line.size()) == std::ssize(line);
}

// A small disk of this process's own at `folder`; false where that may not be.
bool mount_disk(const std::string& folder, unsigned long flags, const std::string& users,
                const std::string& groups) {
  return ::unshare(CLONE_NEWUSER | CLONE_NEWNS) == 0 && write_line("/proc/self/setgroups", "deny") &&
         write_line("/proc/self/uid_map", users) && write_line("/proc/self/gid_map", groups) &&
         ::mount("tmpfs", folder.c_str(), "tmpfs", flags, "size=128k") == 0;
}

TEST_CASE("scripts can tell a full disk from a folder that may not be written") {
  struct Case {
    unsigned long flags;
    int exit_code;
    const char* reason;
  };
  const Case each =
      GENERATE(Case{0, 9, "No space left on device"}, Case{MS_RDONLY, 2, "Read-only file system"});
  constexpr int kNoMounts = 77;
  const Job job;
  fs::create_directory(job.run_folder());
  const std::string folder = job.run_folder().string();
  const std::string users = fmt::format("{0} {0} 1", ::geteuid()),
                    groups = fmt::format("{0} {0} 1", ::getegid());
  ProgramOptions options;
  options.before_exec = [&] {
    if (!mount_disk(folder, each.flags, users, groups)) ::_exit(kNoMounts);
  };
  const Finished run = run_program(job.run(kEndless + Job::set({"metrics.every_steps=1"})), options);
  if (run.exit_code == kNoMounts) {
    WARN("not checked: no disk can be mounted here");
    return;
  }
  CHECK(run.exit_code == each.exit_code);
  CHECK_THAT(run.errors, ContainsSubstring(folder) && ContainsSubstring(each.reason));
  CHECK(job.is_gone(0));
}

TEST_CASE("a tune without room for its files lets the trials that run come to their end") {
  constexpr double kTrialsSeconds = 300;
  const Job job;
  const fs::path tune = job.run_folder();
  Program program(Arguments{"tune", job.spec_file().string(), "--out", tune.string(), "--try",
                            "train.epochs=200,300", "--trials-at-once", "2"} +
                  Job::set({"strategy.kind=one_device", "strategy.replicas=auto"}));
  REQUIRE(eventually(kSoon, [&] { return fs::exists(tune / "trial-002" / "metrics.jsonl"); }));
  const rlimit both{4000, 4000};  // less than tune.json will have with the evaluations of a trial
  REQUIRE(::prlimit(program.process(), RLIMIT_FSIZE, &both, nullptr) == 0);  // and the trials none
  const Finished full = program.wait(kTrialsSeconds);
  INFO(full.errors);
  CHECK(full.exit_code == 9);
  CHECK_THAT(full.errors, ContainsSubstring("tune.json: ") && ContainsSubstring("File too large") &&
                              ContainsSubstring("tune --resume " + tune.string() + " continues it"));
  for (const char* trial : {"trial-001", "trial-002"})
    CHECK_THAT(content_of(tune / trial / "summary.json"), ContainsSubstring("\"status\": \"completed\""));
  const Finished resumed = run_program({"tune", "--resume", tune.string()});
  INFO(resumed.errors);
  CHECK(resumed.exit_code == 0);
  const Event document = Event::parse(content_of(tune / "tune.json"));
  CHECK(document["trials"].size() == 2);
  for (const Event& trial : document["trials"]) CHECK(trial["status"] == "trained");
}

TEST_CASE("a tune whose document cannot be written fails, and one whose table cannot does not") {
  const Job job;
  const std::string tune = job.run_folder().string();
  const Descriptor no_room(::open("/dev/full", O_WRONLY | O_CLOEXEC));
  ProgramOptions options;
  options.output = no_room.get();
  const Finished table = run_program(Arguments{"tune", job.spec_file().string(), "--out", tune, "--try",
                                               "train.optimizer.learning_rate=0.1"} +
                                         Job::set({"strategy.kind=one_device", "strategy.replicas=auto"}),
                                     options);
  INFO(table.errors);
  CHECK(table.exit_code == 0);
  const Finished document = run_program({"tune", "--resume", tune, "--json"}, options);
  CHECK(document.exit_code == 9);
  CHECK(last_line(document.errors) == "dtrain: cannot write to the standard output");
}

TEST_CASE("without a working folder every command says so, and no library ends the program") {
  const TemporaryFolder folder;
  const std::string gone = folder / "gone";
  ProgramOptions options;
  options.before_exec = [&] {
    if (::mkdir(gone.c_str(), 0700) != 0 || ::chdir(gone.c_str()) != 0 || ::rmdir(gone.c_str()) != 0)
      ::_exit(1);
  };
  for (const std::vector<std::string>& arguments :
       std::vector<std::vector<std::string>>{{"--version"}, {"doctor"}, {"run", "job.yaml"}}) {
    const Finished run = run_program(arguments, options);
    CHECK(run.exit_code == 2);
    CHECK(run.errors ==
          "dtrain: the working directory was removed, or cannot be looked up: change to another one (cd)\n");
  }
}

TEST_CASE("a host without loopback is no bug of gloo's") {
  constexpr int kNoNetworks = 77;
  const std::vector<std::string> fields =
      GENERATE(std::vector<std::string>{"strategy.communication=gloo"},
               std::vector<std::string>{"strategy.kind=parameter_server", "strategy.workers=1"});
  const Job job;
  ProgramOptions options;
  options.before_exec = [&] {  // into a network whose loopback interface is down
    if (::unshare(CLONE_NEWNET) != 0 && ::unshare(CLONE_NEWUSER | CLONE_NEWNET) != 0) ::_exit(kNoNetworks);
  };
  const Finished run = run_program(job.run(Job::set(fields)), options);
  if (run.exit_code == kNoNetworks) {
    WARN("not checked: networks cannot be separated here");
    return;
  }
  CHECK(run.exit_code == 4);
  CHECK_THAT(run.errors, ContainsSubstring("bring up its loopback interface (ip link set lo up)") &&
                             ContainsSubstring("shared_memory") && !ContainsSubstring("enforce"));
  CHECK(job.is_gone(0));
}

TEST_CASE("a spec that is wrong starts nothing") {
  const Job job("batch: {per_replica: 16}\ntrain: {epoch: 3}\n");
  const Finished run = run_program(job.run());
  CHECK(run.exit_code == 2);
  CHECK_THAT(run.errors, ContainsSubstring("job.yaml:2:9: train.epoch: unknown field; did you mean"));
  CHECK_FALSE(fs::exists(job.run_folder()));
}

}  // namespace
}  // namespace dtrain
