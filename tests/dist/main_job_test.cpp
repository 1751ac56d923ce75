// The main job from the command line to the files that it leaves.
#include <unistd.h>

#include <cmath>
#include <fstream>
#include <set>
#include <utility>

#include "catch.h"
#include "core/text.h"
#include "host/cores.h"
#include "job.h"
#include "job_file/load.h"
#include "job_file/print.h"

namespace dtrain {
namespace {

namespace fs = std::filesystem;

const Arguments kBaseline = Job::set({"compare.baseline=one_device"});

std::set<std::string> names_in(const fs::path& folder) {
  std::set<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) names.insert(entry.path().filename());
  return names;
}

// "run_start baseline", "step baseline 5", ...
std::vector<std::string> order_of(const std::vector<Event>& events) {
  std::vector<std::string> order;
  for (const Event& event : events) {
    std::vector<std::string> words = {event.at("event"), event.at("run")};
    if (event.at("event") == "step") words.push_back(event.at("step").dump());
    order.push_back(join(words, " "));
  }
  return order;
}

// Without what depends on the machine and the moment.
std::vector<Event> repeatable(std::vector<Event> events) {
  static const std::set<std::string> timed = {"folder",
                                              "path",
                                              "stall_ms",
                                              "time",
                                              "phases_ms",
                                              "seconds",
                                              "examples_per_second",
                                              "step_ms",
                                              "seconds_per_epoch",
                                              "speedup",
                                              "scaling_efficiency",
                                              "overhead",
                                              "overhead_uncertainty",
                                              "verdict"};
  for (Event& event : events) {
    for (const std::string& name : timed) event.erase(name);
    for (const char* part : {"baseline", "distributed"}) {
      if (!event.contains(part)) continue;
      for (const std::string& name : timed) event[part].erase(name);
    }
  }
  return events;
}

void check_events(const Job& job) {
  CHECK(order_of(job.events()) ==
        std::vector<std::string>{
            "run_start baseline",     "step baseline 5",     "step baseline 10",      "step baseline 15",
            "step baseline 20",       "step baseline 25",    "epoch baseline",        "eval baseline",
            "step baseline 30",       "step baseline 35",    "step baseline 40",      "step baseline 45",
            "step baseline 50",       "epoch baseline",      "eval baseline",         "run_end baseline",
            "run_start distributed",  "step distributed 5",  "step distributed 10",   "step distributed 13",
            "epoch distributed",      "eval distributed",    "step distributed 15",   "step distributed 20",
            "step distributed 25",    "step distributed 26", "epoch distributed",     "eval distributed",
            "checkpoint distributed", "run_end distributed", "comparison distributed"});
  for (const Event& eval : job.events("eval")) CHECK(eval.at("examples") == 100);
  for (const Event& epoch : job.events("epoch")) CHECK(epoch.at("examples") == 400);
  for (const Event& end : job.events("run_end")) CHECK(end.at("status") == "completed");
  const Event comparison = job.event("comparison", "distributed");
  for (const char* part : {"baseline", "distributed"}) {
    const Event end = job.event("run_end", part);
    CHECK(comparison.at(part).at("loss") == end.at("loss"));
    CHECK(comparison.at(part).at("examples_per_second") == end.at("examples_per_second"));
  }
  for (const char* number : {"speedup", "scaling_efficiency", "overhead", "overhead_uncertainty"})
    CHECK(std::isfinite(comparison.at(number).get<double>()));
}

void check_files(const Job& job) {
  const fs::path folder = job.run_folder();
  CHECK(names_in(folder) == std::set<std::string>{"checkpoints", "examples.safetensors", "logs",
                                                  "metrics.jsonl", "plan.json", "spec.yaml", "summary.json"});
  CHECK(names_in(folder / "logs") == std::set<std::string>{"baseline-rank0.log", "overhead-rank0.log",
                                                           "distributed-rank0.log", "distributed-rank1.log"});
  for (const auto& log : fs::directory_iterator(folder / "logs")) {
    const std::string text = content_of(log.path());
    CHECK(text.find("warning") == std::string::npos);
    CHECK(text.find("error") == std::string::npos);
  }
  const LoadedSpec spec = load_spec(folder / "spec.yaml");
  CHECK(spec.ok());
  CHECK(spec.spec.strategy.replicas == 2);
  CHECK(print_spec(spec.spec) == content_of(folder / "spec.yaml"));
  const Event plan = Event::parse(content_of(folder / "plan.json"));
  CHECK(plan.at("spec") == content_of(folder / "spec.yaml"));
  CHECK(plan.at("runs").back().at("total_steps") == job.event("run_start", "distributed").at("total_steps"));

  const Event summary = Event::parse(content_of(folder / "summary.json"));
  CHECK(summary.size() == 3);
  for (const char* part : {"baseline", "distributed"}) {
    CHECK(summary.at(part).at("run_start") == job.event("run_start", part));
    CHECK(summary.at(part).at("run_end") == job.event("run_end", part));
  }
  CHECK(summary.at("comparison") == job.event("comparison", "distributed"));
}

// Lines without escape codes, the table with its verdict, and what to do next.
void check_output(const Job& job, const std::string& output) {
  CHECK(output.find_first_of("\x1b\r") == std::string::npos);
  CHECK_THAT(output, ContainsSubstring("BEGIN baseline\n"));
  CHECK_THAT(output, ContainsSubstring("END distributed: completed, 26 steps in "));
  const size_t table = output.find("\ncomparison: small, dataset synthetic\n");
  REQUIRE(table != std::string::npos);
  CHECK_THAT(output.substr(table), ContainsSubstring("\nscaling efficiency "));
  CHECK_THAT(output, ContainsSubstring(
                         "\n" + job.event("comparison", "distributed").at("verdict").get<std::string>() +
                         "\n\nThe run is in " + job.run_folder().string() + ". Next:\n"));
}

TEST_CASE(
    "a job with a baseline trains both, compares them and leaves its folder; --json prints the metrics") {
  const Job job;
  const Finished run = run_program(job.run(kBaseline + Arguments{"--json"}));
  INFO(run.output << run.errors);
  CHECK(run.exit_code == 0);
  CHECK(run.errors.empty());
  check_events(job);
  check_files(job);
  CHECK(run.output == content_of(job.run_folder() / "metrics.jsonl"));
  for (const std::string& line : lines_of(run.output)) CHECK(Event::parse(line).at("event") != "progress");
}

TEST_CASE("--quiet prints the comparison only") {
  const Job job;
  const Finished run = run_program(job.run(kBaseline + Arguments{"--quiet"}));
  CHECK(run.exit_code == 0);
  CHECK(run.errors.empty());
  const size_t warnings = available_cores() > 1 ? 0 : 1;  // that the replicas share one
  CHECK(lines_of(run.output).at(warnings) == "comparison: small, dataset synthetic");
  CHECK(job.events("run_end").size() == 2);
}

TEST_CASE("the same seed gives the same numbers, another seed others") {
  const Job first, second, other;
  for (const Job* job : {&first, &second}) {
    const Finished run = run_program(job->run(kBaseline));
    REQUIRE(run.exit_code == 0);
    CHECK(run.errors.empty());
    check_output(*job, run.output);
  }
  REQUIRE(run_program(other.run(Job::set({"seed=43"}))).exit_code == 0);
  const auto events = repeatable(first.events()), again = repeatable(second.events());
  REQUIRE(events.size() == again.size());
  for (size_t i = 0; i < events.size(); ++i) CHECK(event_text(events[i]) == event_text(again[i]));
  CHECK(first.event("run_end", "distributed").at("loss") != other.event("run_end", "distributed").at("loss"));
}

TEST_CASE("one replica alone is a job too") {
  const Job job;
  CHECK(run_program(job.run(Job::set({"strategy.kind=one_device", "strategy.replicas=auto"}))).exit_code ==
        0);
  CHECK(job.event("run_start", "distributed").at("replicas") == 1);
  CHECK(job.event("run_end", "distributed").at("status") == "completed");
}

TEST_CASE("a program that is replaced while it runs goes on as it was") {
  const Job job;
  const fs::path copy = job.folder() / "dtrain";
  fs::copy_file(DTRAIN_PROGRAM, copy);
  // Where a program that was built looks for LibTorch.
  const fs::path libraries = fs::path(DTRAIN_PROGRAM).parent_path() / "libtorch";
  if (fs::exists(libraries)) fs::create_directory_symlink(libraries, job.folder() / "libtorch");
  Program program(job.run(kBaseline), {}, copy.string());
  job.wait_for_replica(0, "baseline");
  fs::remove(copy);
  std::ofstream(copy) << "#!/bin/false\n";
  const Finished run = program.wait();
  INFO(run.errors);
  CHECK(run.exit_code == 0);
  CHECK(job.events("comparison").size() == 1);
}

TEST_CASE("several jobs at once do not collide") {
  constexpr size_t kCount = 4;
  const Job folder;
  // In one working folder, at the same second: the made-up names of their run folders differ.
  std::vector<std::unique_ptr<Program>> programs;
  for (size_t i = 0; i < kCount; ++i) {
    ProgramOptions options;
    options.working_folder = folder.folder().string();
    programs.push_back(std::make_unique<Program>(Arguments{"run", "job.yaml"}, options));
  }
  for (const auto& program : programs) {
    const Finished run = program->wait(60);
    CHECK(run.exit_code == 0);
    CHECK(run.errors.empty());
  }
  std::set<std::string> losses;
  const std::set<std::string> runs = names_in(folder.folder() / "runs");
  CHECK(runs.size() == kCount);
  for (const std::string& run : runs) {
    const Event end = Event::parse(last_line(content_of(folder.folder() / "runs" / run / "metrics.jsonl")));
    CHECK(end.at("event") == "run_end");
    losses.insert(end.at("loss").dump());
  }
  CHECK(losses.size() == 1);
}

TEST_CASE(
    "DTRAIN_INSTRUCTIONS reaches the replicas, and what it cannot be is refused before anything starts") {
  const Job job;
  const auto with = [](const std::string& value) {
    ProgramOptions options;
    options.environment["DTRAIN_INSTRUCTIONS"] = value;
    return options;
  };
  const Finished run = run_program(job.run(), with("portable"));
  INFO(run.errors);
  REQUIRE(run.exit_code == 0);
  CHECK(job.event("run_start", "distributed").at("products") == "panels");
  for (const std::string command : {"doctor", "configs"}) {
    const Finished wrong = run_program({command}, with("avx3"));
    CHECK(wrong.exit_code == 2);
    CHECK(
        wrong.errors ==
        "dtrain: the environment has DTRAIN_INSTRUCTIONS=avx3; it can be portable, avx2 or avx512, or unset "
        "for the widest that the processor has\n");
  }
  CHECK(run_program({"--version"}, with("avx3")).exit_code == 0);
}

TEST_CASE("a job measures the gradient noise scale of each epoch when asked, and changes no bit") {
  const Job job, plain;
  const Arguments asked = Job::set({"metrics.noise_scale=true", "data.train_examples=4000"});
  const Finished done = run_program(job.run(asked));
  REQUIRE(done.exit_code == 0);
  REQUIRE(run_program(plain.run(Job::set({"data.train_examples=4000"}))).exit_code == 0);
  const std::vector<Event> epochs = job.events("epoch"), others = plain.events("epoch");
  REQUIRE(epochs.size() == 2);
  for (size_t i = 0; i < 2; ++i) {
    CHECK(epochs[i].at("noise_scale").get<double>() > 1);
    CHECK(epochs[i].at("loss") == others[i].at("loss"));
    CHECK_FALSE(others[i].contains("noise_scale"));
  }
  const double last = job.event("run_end", "distributed").at("noise_scale");
  CHECK(last == epochs[1].at("noise_scale"));
  CHECK(done.output.find("gradient noise scale about ") != std::string::npos);

  // Parts of one replica's batch do as well, and two replicas measure the same of them.
  const Job alone, together, single;
  const Arguments parts = asked + Job::set({"strategy.virtual_replicas=4", "batch.per_replica=8"});
  REQUIRE(run_program(alone.run(parts + Job::set({"strategy.replicas=1"}))).exit_code == 0);
  REQUIRE(run_program(together.run(parts)).exit_code == 0);
  for (size_t i = 0; i < 2; ++i)
    CHECK(alone.events("epoch")[i].at("noise_scale").get<double>() ==
          Approx(together.events("epoch")[i].at("noise_scale").get<double>()).epsilon(1e-5));
  const Finished refused = run_program(single.run(asked + Job::set({"strategy.replicas=1"})));
  CHECK(refused.exit_code == 2);
  CHECK(refused.errors.find("set strategy.virtual_replicas, such as 4") != std::string::npos);
}

// The cores that a process may use, as "0-1,4".
std::string cores_of(pid_t process) {
  std::ifstream file("/proc/" + std::to_string(process) + "/status");
  const std::string name = "Cpus_allowed_list:\t";
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with(name)) return line.substr(name.size());
  }
  return "";
}

TEST_CASE("variables that bind OpenMP's threads do not put all replicas on one core") {
  const std::string all = cores_of(::getpid());
  const Job job;
  ProgramOptions options;
  const auto [name, value] =
      GENERATE(std::pair("OMP_PROC_BIND", "true"), std::pair("OMP_PROC_BIND", "spread"),
               std::pair("OMP_PLACES", "{0}"), std::pair("GOMP_CPU_AFFINITY", "0"));
  options.environment[name] = value;
  const Program program(job.run(kEndless), options);
  job.wait_for_step();
  CHECK(cores_of(program.process()) == all);
  const std::string first = cores_of(job.wait_for_replica(0).process),
                    second = cores_of(job.wait_for_replica(1).process);
  CHECK((first != second || first == all));  // each its own, or all where others have taken some
}

}  // namespace
}  // namespace dtrain
