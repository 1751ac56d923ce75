#include "plan/job_plan.h"

#include <fmt/format.h>

#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <tuple>

#include "catch.h"
#include "core/error.h"
#include "files.h"
#include "images/image_cache.h"
#include "job/other_replicas.h"
#include "shipped_tables.h"
#include "train/small_jobs.h"

namespace dtrain {
namespace {

using nlohmann::json;

JobPlan read_back(const JobPlan& job) {
  const TemporaryFolder folder;
  write_plan(folder / "plan.json", job);
  return read_plan(folder / "plan.json");
}

// All members: with another one this does not compile, and it has to be written to the file.
auto members_of(const std::vector<PhasePlan>& phases) {
  std::vector<std::tuple<int64_t, std::string, int64_t, int64_t, std::string, int64_t, int64_t>> all;
  for (const PhasePlan& phase : phases) {
    const auto& [index, name, first_step, steps, rate, layers, parameters, features] = phase;
    all.emplace_back(index, name, first_step, steps, rate.derivation, parameters, features.layers);
  }
  return all;
}

auto members_of(const RunPlan& run) {
  const auto& [kind, strategy, replicas, virtual_replicas, worker_restarts, servers, one_process, threads,
               batch, phases, steps_per_epoch, epochs, total_steps, evaluates] = run;
  const auto& [per_replica, parts, accumulate_steps, global, drop_remainder] = batch;
  return std::tuple(kind, strategy, replicas, virtual_replicas, worker_restarts, servers, one_process,
                    threads, per_replica, parts, accumulate_steps, global, drop_remainder, members_of(phases),
                    steps_per_epoch, epochs, total_steps, evaluates);
}

auto members_of(const DatasetInfo& data) {
  const auto& [name, requested, source, example_shape, classes, train_examples, validation_examples,
               test_examples, class_names, targets, target_names, has_pixels, table, reading, warnings,
               outside, bad, content, place, left_out] = data;
  return std::tuple(name, requested, source, example_shape, classes, train_examples, validation_examples,
                    test_examples, class_names, targets, target_names, has_pixels, table, bad.count,
                    bad.names, content, place);
}

void check_equal(const JobPlan& job, const JobPlan& other) {
  CHECK(to_json(other).dump() == to_json(job).dump());
  CHECK(members_of(other.data) == members_of(job.data));
  CHECK(other.model.parameters() == job.model.parameters());
  CHECK(other.distributed_run().phases.front().parameters == job.distributed_run().phases.front().parameters);
  REQUIRE(other.runs.size() == job.runs.size());
  for (size_t i = 0; i < job.runs.size(); ++i) {
    const RunPlan &own = job.runs[i], &read = other.runs[i];
    CHECK(members_of(read) == members_of(own));
    for (const int64_t step : {int64_t{0}, own.total_steps / 2, own.total_steps - 1})
      CHECK(read.learning_rate_at(step) == own.learning_rate_at(step));
  }
}

TEST_CASE("the plan of every shipped config reads back as it was") {
  const ShippedTables tables;
  for (const auto& entry : std::filesystem::directory_iterator(DTRAIN_SOURCE_DIR "/configs")) {
    if (entry.path().extension() != ".yaml") continue;
    INFO(entry.path());
    const std::optional<std::string> table = tables.path_for(entry.path());
    LoadedSpec loaded = load_spec(entry.path(), table ? Overrides({"data.path=" + *table}) : Overrides());
    const PlannedJob planned = plan_job(loaded, describe_dataset);
    INFO(problems_of(planned));
    REQUIRE(planned.ok());
    const JobPlan& job = planned.job;
    check_equal(job, read_back(job));
  }
}

TEST_CASE("a plan keeps what replicas must not find out anew") {
  JobPlan job = small_job({"strategy.kind=mirrored", "strategy.replicas=2", "compare.baseline=one_device",
                           "train.max_steps=9", "train.schedule.kind=cosine", "data.split.validation=0.25"});
  job.devices = {"cuda:1", "cuda:3"};
  job.communication = "nccl";
  job.plugin = "/opt/libtpu.so";
  job.device_memory = int64_t{1} << 34;
  job.platform = "tpu";
  job.fallback = "this host has no TPU";
  job.spec.strategy.threads_per_replica = 7;
  job.runs.back().threads_per_replica = 7;
  job.data.source = "/data/with \"quotes\" and ${NAME}";
  job.data.content = "0f";
  job.data.place = "/cache/sets/1";
  job.data.class_names = {"rose", "t\xc3\xbclip", ""};
  const JobPlan read = read_back(job);
  check_equal(job, read);
  CHECK(read.devices == job.devices);
  CHECK(read.plugin == job.plugin);
  CHECK(read.device_memory == job.device_memory);
  CHECK(read.platform == job.platform);
  CHECK(read.fallback == job.fallback);
  CHECK(read.data.source == job.data.source);
  CHECK(read.spec.data.resolved_content == "0f");
  CHECK(read.spec.data.resolved_place == "/cache/sets/1");
  CHECK(read.data.class_names == job.data.class_names);
  CHECK(read.spec.strategy.threads_per_replica == 7);
}

TEST_CASE("replicas find the table that the supervisor has read") {
  const TemporaryFolder folder;
  ::setenv("XDG_CACHE_HOME", (folder / "cache").c_str(), 1);
  std::string text = "a,b,y\n";
  for (int row = 0; row < 90'000; ++row) text += fmt::format("{}.123456,{},{}\n", row, row % 7, row % 3);
  const std::string path = folder.write("rows.csv", text).string();
  LoadedSpec loaded =
      parse_spec("data: {dataset: csv, target: y, split: {test: 0.2, validation: 0.1}, path: " + path +
                     "}\nbatch: {per_replica: 4}\n",
                 "spec");
  const PlannedJob planned = plan_job(loaded, find_dataset);
  INFO(problems_of(planned));
  REQUIRE(planned.ok());
  const JobPlan& job = planned.job;
  const std::vector<CachedImages> before = list_image_caches();
  REQUIRE(before.size() == 1);
  const std::string place = content_of(before[0].file);
  CHECK(load_dataset(read_back(job).spec.data, 1).info.train_examples == job.data.train_examples);
  const std::vector<CachedImages> after = list_image_caches();
  ::unsetenv("XDG_CACHE_HOME");
  REQUIRE(after.size() == 1);
  CHECK(after[0].file == before[0].file);
  CHECK(content_of(after[0].file) == place);
}

TEST_CASE("a plan of several hosts, and of those that are left, reads back") {
  LoadedSpec loaded = small_spec({"strategy.kind=multi_worker_mirrored", "hosts=[a, b, c]",
                                  "strategy.replicas=3", "restarts.min_replicas=1", "batch.per_replica=4"});
  const PlannedJob planned = plan_job(loaded, find_dataset(loaded.spec.data), {.hosts = 3});
  INFO(problems_of(planned));
  REQUIRE(planned.ok());
  const JobPlan& job = planned.job;
  check_equal(job, read_back(job));
  const JobPlan fewer = with_fewer_hosts(job, {"a", "c"}, 3);
  REQUIRE(fewer.distributed_run().batch.accumulate_steps == 2);
  check_equal(fewer, read_back(fewer));
}

std::string refusal(const json& document) {
  try {
    plan_from(document);
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::kUsage);
    return error.what();
  }
  return "none";
}

TEST_CASE("what is no plan is refused, whatever is missing") {
  const json good = json::parse(to_json(small_job()).dump());
  REQUIRE(refusal(good) == "none");
  CHECK_THAT(refusal(json()), ContainsSubstring("no plan of a job"));
  for (const auto& [key, value] : good.items()) {
    INFO(key);
    json without = good;
    without.erase(key);
    json other = good;
    other[key] = json::array({json::object()});
    if (key != "dtrain") CHECK(refusal(without) != "none");
    if (key != "dtrain") CHECK(refusal(other) != "none");
  }
  for (const auto& [key, value] : good["runs"][0].items()) {
    INFO(key);
    json without = good;
    without["runs"][0].erase(key);
    CHECK(refusal(without) != "none");
  }
  json newer = good;
  newer["version"] = 4;
  CHECK_THAT(refusal(newer), ContainsSubstring("version 4, and this is dtrain"));
  json spoiled = good;
  spoiled["spec"] = "batch: {per_replica: none}";
  CHECK_THAT(refusal(spoiled), ContainsSubstring("batch.per_replica"));
  json runs = good;
  runs["runs"] = json::array();
  CHECK(refusal(runs) != "none");
}

}  // namespace
}  // namespace dtrain
