#include "plan/plan_file.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/error.h"
#include "core/files.h"
#include "core/text.h"
#include "core/version.h"
#include "spec/print.h"

namespace dtrain {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

constexpr int kVersionOfPlans = 3;
constexpr int64_t kMostBytes = int64_t{8} << 20;  // ample: a spec has at most 1 MiB

ordered_json data_to_json(const DatasetInfo& data) {
  return {{"name", data.name},
          {"requested", data.requested},
          {"source", data.source},
          {"image_shape", data.example_shape},
          {"classes", data.classes},
          {"train_examples", data.train_examples},
          {"validation_examples", data.validation_examples},
          {"test_examples", data.test_examples},
          {"class_names", data.class_names},
          {"targets", data.targets},
          {"target_names", data.target_names},
          {"has_pixels", data.has_pixels},
          {"bad_examples", data.bad.count},
          {"bad_names", data.bad.names},
          {"table", data.table}};
}

DatasetInfo data_from(const json& document) {
  DatasetInfo data;
  document.at("name").get_to(data.name);
  document.at("requested").get_to(data.requested);
  document.at("source").get_to(data.source);
  document.at("image_shape").get_to(data.example_shape);
  document.at("classes").get_to(data.classes);
  document.at("train_examples").get_to(data.train_examples);
  document.at("validation_examples").get_to(data.validation_examples);
  document.at("test_examples").get_to(data.test_examples);
  document.at("class_names").get_to(data.class_names);
  document.at("targets").get_to(data.targets);
  document.at("target_names").get_to(data.target_names);
  document.at("has_pixels").get_to(data.has_pixels);
  data.bad.count = document.value("bad_examples", int64_t{0});  // plans of earlier runs have none
  data.bad.names = document.value("bad_names", "");
  document.at("table").get_to(data.table);
  return data;
}

ordered_json run_to_json(const RunPlan& run) {
  return {{"run", run.name()},
          {"strategy", run.strategy},
          {"replicas", run.replicas},
          {"servers", run.servers},
          {"worker_restarts", run.worker_restarts},
          {"threads_per_replica", run.threads_per_replica},
          {"per_replica_batch", run.batch.per_replica},
          {"accumulate_steps", run.batch.accumulate_steps},
          {"global_batch", run.batch.global},
          {"drop_remainder", run.batch.drop_remainder},
          {"steps_per_epoch", run.steps_per_epoch},
          {"epochs", run.epochs},
          {"total_steps", run.total_steps},
          {"evaluates", run.evaluates}};
}

RunKind kind_from(const std::string& name) {
  for (const RunKind kind : {RunKind::kBaseline, RunKind::kOverhead, RunKind::kDistributed}) {
    if (name_of(kind) == name) return kind;
  }
  throw Error(ExitCode::kUsage, fmt::format("there is no run named '{}'", name));
}

RunPlan run_from(const json& document, const JobPlan& job) {
  RunPlan run;
  run.kind = kind_from(document.at("run").get<std::string>());
  document.at("strategy").get_to(run.strategy);
  run.one_process = job.spec.uses_plugin();
  document.at("replicas").get_to(run.replicas);
  document.at("servers").get_to(run.servers);
  document.at("worker_restarts").get_to(run.worker_restarts);
  document.at("threads_per_replica").get_to(run.threads_per_replica);
  document.at("per_replica_batch").get_to(run.batch.per_replica);
  document.at("accumulate_steps").get_to(run.batch.accumulate_steps);
  document.at("global_batch").get_to(run.batch.global);
  document.at("drop_remainder").get_to(run.batch.drop_remainder);
  run.batch.replicas = run.replicas;
  document.at("steps_per_epoch").get_to(run.steps_per_epoch);
  document.at("epochs").get_to(run.epochs);
  document.at("total_steps").get_to(run.total_steps);
  document.at("evaluates").get_to(run.evaluates);
  JobSpec spec = job.spec;
  spec.strategy.devices = job.devices;  // what auto means
  run.phases = phases_of(spec, job.data, job.model, length_of(run));
  return run;
}

JobPlan parse_plan(const json& document) {
  if (document.at("version") != kVersionOfPlans)
    throw Error(ExitCode::kUsage, fmt::format("version {}, and this is dtrain {}, which reads version {}",
                                              document.at("version").dump(), kVersion, kVersionOfPlans));
  JobPlan job;
  const LoadedSpec loaded = parse_spec(document.at("spec").get<std::string>(), "spec");
  if (!loaded.ok()) throw Error(ExitCode::kUsage, loaded.problems.front().to_string());
  job.spec = loaded.spec;
  job.data = data_from(document.at("data"));
  job.model = layers_of(job.spec, job.data);
  job.bytes_per_parameter = bytes_per_parameter(job.spec.model);
  document.at("devices").get_to(job.devices);
  document.at("plugin").get_to(job.plugin);
  document.at("device_memory").get_to(job.device_memory);
  document.at("platform").get_to(job.platform);
  document.at("fallback").get_to(job.fallback);
  document.at("communication").get_to(job.communication);
  document.at("spans_hosts").get_to(job.spans_hosts);
  document.at("cache").get_to(job.spec.data.resolved_cache);
  for (const json& run : document.at("runs")) job.runs.push_back(run_from(run, job));
  if (job.devices.empty() || job.runs.empty() || !job.model.problems.empty())
    throw Error(ExitCode::kUsage, "it has no devices, no runs or no model that can be built");
  return job;
}

}  // namespace

ordered_json to_json(const JobPlan& job) {
  ordered_json runs = ordered_json::array();
  for (const RunPlan& run : job.runs) runs.push_back(run_to_json(run));
  return {{"version", kVersionOfPlans},
          {"dtrain", kVersion},
          {"spec", print_spec(job.spec)},
          {"data", data_to_json(job.data)},
          {"devices", job.devices},
          {"plugin", job.plugin},
          {"device_memory", job.device_memory},
          {"platform", job.platform},
          {"fallback", job.fallback},
          {"communication", job.communication},
          {"spans_hosts", job.spans_hosts},
          {"cache", job.spec.data.resolved_cache},
          {"runs", runs}};
}

JobPlan plan_from(const json& document) {
  try {
    return parse_plan(document);
  } catch (const json::exception& error) {
    throw Error(ExitCode::kUsage, fmt::format("no plan of a job: {}", error.what()));
  } catch (const Error& error) {
    throw Error(ExitCode::kUsage, fmt::format("no plan of a job: {}", error.what()));
  }
}

void write_plan(const std::filesystem::path& path, const JobPlan& job) {
  const std::string text =
      printable_json(to_json(job).dump(2, ' ', false, ordered_json::error_handler_t::replace));
  write_file_atomically(path, text + "\n");
}

JobPlan read_plan(const std::filesystem::path& path) {
  const json document =
      json::parse(read_file(path, kMostBytes, ExitCode::kUsage), nullptr, /*allow_exceptions=*/false);
  try {
    return plan_from(document);
  } catch (const Error& error) {
    throw Error(ExitCode::kUsage, fmt::format("{}: {}", path.string(), error.what()));
  }
}

}  // namespace dtrain
