// dtrain plan --at-hosts: from a run that has measured, and what it refuses.
#include <nlohmann/json.hpp>

#include "catch.h"
#include "command_line.h"
#include "files.h"

namespace dtrain {
namespace {

using Json = nlohmann::json;

// 17 x 5 + 6 x 3 parameters; 20 steps of 4 examples in 2 epochs.
const char* const kSpec = R"(name: small
strategy: {kind: mirrored, replicas: 1, threads_per_replica: 1}
data: {dataset: synthetic, train_examples: 40, test_examples: 8, shape: [1, 4, 4], classes: 3}
batch: {per_replica: 4}
model: {kind: mlp, hidden: [5]}
train: {epochs: 2}
metrics: {every_steps: 1}
)";

// A run of it, whose steps take 4 ms.
std::string write_run(const TemporaryFolder& folder, const std::string& end, const std::string& start = "") {
  std::filesystem::create_directories(folder / "run/logs");
  folder.write("run/spec.yaml", kSpec);
  std::string events =
      R"({"event": "run_start", "run": "distributed", "replicas": 1, "global_batch": 4, "parameters": 103, )"
      "\"skipped_steps\": 2" +
      start + "}\n";
  for (int step = 1; step <= 20; ++step)
    events +=
        R"({"event": "step", "run": "distributed", "step_ms": 4.0, "step": )" + std::to_string(step) + "}\n";
  folder.write("run/metrics.jsonl", events + end);
  return folder / "run";
}

const std::string kEnd =
    R"({"event": "run_end", "run": "distributed", "status": "completed", "phases_ms": {"data_wait": 0.5, )"
    R"("compute": 3.0, "communicate": 0.0, "update": 0.5, "wait_for_peers": 0.0}})"
    "\n";

TEST_CASE("plan --at-hosts forecasts from a run's times, as JSON") {
  const TemporaryFolder folder;
  const std::string spec = folder.write("job.yaml", kSpec), run = write_run(folder, kEnd);
  const Outcome outcome =
      dtrain_command({"plan", spec, "--at-hosts", "1,4", "--link", "100gbit,1ms", "--from", run, "--json"});
  INFO(outcome.errors);
  REQUIRE(outcome.exit_code == 0);
  const Json document = Json::parse(outcome.output);
  CHECK(document.at("measured").at("step_seconds").get<double>() == Approx(4e-3));
  CHECK(document.at("measured").at("durations") == 18);
  const Json& rows = document.at("forecast");
  REQUIRE(rows.size() == 8);
  CHECK(rows[0].at("efficiency").get<double>() == Approx(1));
  CHECK(rows[0].at("examples_per_second").get<double>() == Approx(1000));
  CHECK(rows[0].at("job_seconds").get<double>() == Approx(20 * 4e-3));
  const Json& four = rows[4];
  CHECK(four.at("exchange") == "synchronous");
  CHECK(four.at("global_batch") == 16);
  CHECK(four.at("steps") == 6);         // 3 in an epoch
  CHECK(four.at("bytes_sent") == 618);  // 2 x 3 / 4 x 103 x 4
  CHECK(four.at("bottleneck") == "network latency");
  CHECK(four.at("step_seconds").at("latency").get<double>() > 6e-3);  // six round trips
  CHECK(rows[5].at("bytes_sent") == 309);
  for (const Json& row : rows) {
    const double expected = row.at("examples_per_second");
    CHECK(row.at("examples_per_second_low") <= expected * (1 + 1e-9));
    CHECK(row.at("examples_per_second_high") >= expected * (1 - 1e-9));
  }
}

TEST_CASE("plan --at-hosts shows a table and a chart") {
  const TemporaryFolder folder;
  const std::string spec = folder.write("job.yaml", kSpec), run = write_run(folder, kEnd);
  const Outcome outcome =
      dtrain_command({"plan", spec, "--at-hosts", "1,10,100", "--link", "1gbit,50us", "--from", run});
  INFO(outcome.errors);
  CHECK(outcome.exit_code == 0);
  CHECK_THAT(outcome.output,
             ContainsSubstring("one of them takes 4.000 ms a step (data_wait 0.500, compute 3.000,"));
  CHECK_THAT(outcome.output, ContainsSubstring("\n  10     local steps"));
  CHECK_THAT(outcome.output, ContainsSubstring("\n      100 |l") || ContainsSubstring("\n      100 |s"));
  CHECK_THAT(outcome.output, ContainsSubstring("there are fewer examples than the most hosts would need"));
}

TEST_CASE("plan --at-hosts keeps a global batch, and says where it cannot be divided") {
  const TemporaryFolder folder;
  const std::string spec = folder.write("job.yaml", kSpec), run = write_run(folder, kEnd);
  const std::vector<std::string> global = {
      "plan",   spec, "--unset", "batch.per_replica", "--set", "batch.global=4", "--link", "1gbit,50us",
      "--from", run,  "--json",  "--at-hosts"};
  const auto with = [&](const std::string& hosts) {
    auto arguments = global;
    arguments.push_back(hosts);
    return dtrain_command(arguments);
  };
  const Outcome outcome = with("4");
  INFO(outcome.errors);
  REQUIRE(outcome.exit_code == 0);
  const Json row = Json::parse(outcome.output).at("forecast")[0];
  CHECK(row.at("global_batch") == 4);
  CHECK(row.at("steps") == 20);
  CHECK(row.at("step_seconds").at("compute").get<double>() == Approx(3e-3 / 4));
  const Outcome odd = with("2,3");
  CHECK(odd.exit_code == 2);
  CHECK_THAT(odd.errors, ContainsSubstring("--at-hosts: with 3 hosts: batch.global: "));
}

TEST_CASE("plan --at-hosts refuses what it does not cover, and says what to do") {
  const TemporaryFolder folder;
  const std::string spec = folder.write("job.yaml", kSpec), run = write_run(folder, kEnd);
  const auto refused = [&](const std::vector<std::string>& more, const std::string& why) {
    std::vector<std::string> arguments = {"plan", spec};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const Outcome outcome = dtrain_command(arguments);
    INFO(outcome.errors);
    CHECK(outcome.exit_code == 2);
    CHECK_THAT(outcome.errors, ContainsSubstring(why));
    CHECK(outcome.output.empty());
    CHECK(!outcome.started_processes);
  };
  const auto asked = [&](const std::string& hosts, const std::string& link,
                         const std::vector<std::string>& more = {}) {
    std::vector<std::string> all = {"--at-hosts", hosts, "--link", link, "--from", run};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  };
  refused({"--at-hosts", "1,2"}, "--link");
  refused({"--link", "1gbit,50us"}, "--at-hosts");
  refused({"--from", run}, "--at-hosts");
  refused({"--calibrate"}, "--at-hosts");
  refused(asked("1,2", "1gbit,50us", {"--calibrate"}), "--calibrate");
  refused(asked("1,2", "1gbit,50us", {"--explain"}), "--explain");
  refused(asked("2,1", "1gbit,50us"), "each above the one before, such as 1,2,4,8");
  refused(asked("2,2", "1gbit,50us"), "each above the one before");
  refused(asked("0,2", "1gbit,50us"), "--at-hosts");
  refused(asked("1,100001", "1gbit,50us"), "--at-hosts");
  refused(asked("two", "1gbit,50us"), "--at-hosts");
  refused(asked("1,2", "0gbit,50us"), "write a bandwidth above 0");
  refused(asked("1,2", "1gb,50us"), "such as 25gbit,50us");
  refused(asked("1,2", "1gbit,-1us"), "a round trip (us or ms)");
  const auto job = [&](const std::string& set, const std::string& why) {
    refused(asked("1,2", "1gbit,50us", {"--set", set}), why);
  };
  refused(
      asked("1,2", "1gbit,50us", {"--set", "strategy.kind=parameter_server", "--set", "strategy.workers=2"}),
      "--set strategy.kind=multi_worker_mirrored");
  job("strategy.kind=one_device", "the forecast covers mirrored and multi_worker_mirrored");
  job("strategy.virtual_replicas=2", "--unset strategy.virtual_replicas");
  job("batch.per_replica=8", "is no run of this job on one host, but of 1 replica, 4 examples a step");
  refused(asked("1,2", "1gbit,50us",
                {"--set", "hosts=[a,b]", "--set", "strategy.kind=multi_worker_mirrored", "--set",
                 "strategy.replicas=2"}),
          "--unset hosts");
  write_run(folder, kEnd, R"(, "spans_hosts": true)");  // by a launcher: the spec has no hosts
  refused(asked("1,2", "1gbit,50us"), "is no run of this job on one host");
  write_run(folder, "");
  refused(asked("1,2", "1gbit,50us"), "since the run has not ended; use --calibrate");
  refused({"--at-hosts", "1,2", "--link", "1gbit,50us", "--from", folder / "none"}, "none");
}

}  // namespace
}  // namespace dtrain
