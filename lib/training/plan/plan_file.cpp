#include "plan/job_plan.h"

#include <nlohmann/json.hpp>
#include <string>

#include "core/error.h"
#include "core/files.h"
#include "core/text.h"
#include "core/version.h"
#include "job_file/print.h"
#include "plan/own_program.h"

namespace dtrain {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

constexpr int kVersionOfPlans = 3;
constexpr int64_t kMostBytes = int64_t{8} << 20;  // ample: a spec has at most 1 MiB

#define EACH_MEMBER(member) each(#member, of.member);
#define EACH_MEMBER_OF(...) NLOHMANN_JSON_EXPAND(NLOHMANN_JSON_PASTE(EACH_MEMBER, __VA_ARGS__))

// The fields of a plan in its file, in their order: `each(name, value)` reads or writes one. Most have the
// names of the members.
template <class Data, class Each>
void each_of_data(Data& of, const Each& each) {
  EACH_MEMBER_OF(name, requested, source);
  each("image_shape", of.example_shape);
  EACH_MEMBER_OF(classes, train_examples, validation_examples, test_examples, class_names, targets,
                 target_names);
  EACH_MEMBER(has_pixels);
  each("bad_examples", of.bad.count);
  each("bad_names", of.bad.names);
  EACH_MEMBER_OF(table, content, place);
}

template <class Run, class Each>
void each_of_run(Run& of, const Each& each) {
  EACH_MEMBER_OF(strategy, replicas, servers, worker_restarts, threads_per_replica);
  each("per_replica_batch", of.batch.per_replica);
  each("accumulate_steps", of.batch.accumulate_steps);
  each("global_batch", of.batch.global);
  each("drop_remainder", of.batch.drop_remainder);
  EACH_MEMBER_OF(steps_per_epoch, epochs, total_steps, evaluates);
}

template <class Job, class Each>
void each_of_job(Job& of, const Each& each) {
  EACH_MEMBER_OF(devices, plugin, device_memory, platform, fallback, communication, spans_hosts);
  each("cache", of.spec.data.resolved_cache);
}

auto writing_to(ordered_json& document) {
  return [&document](const char* name, const auto& value) { document[name] = value; };
}

auto reading_from(const json& document) {
  return [&document](const std::string& name, auto& value) {
    const bool is_newer =  // plans of earlier runs have none
        name == "bad_examples" || name == "bad_names" || name == "content" || name == "place";
    if (!is_newer || document.contains(name)) document.at(name).get_to(value);
  };
}

RunKind kind_from(const std::string& name) {
  for (const RunKind kind : {RunKind::kBaseline, RunKind::kOverhead, RunKind::kDistributed}) {
    if (name_of(kind) == name) return kind;
  }
  throw Error(ExitCode::kUsage, "there is no run named '{}'", name);
}

RunPlan run_from(const json& document, const JobPlan& job) {
  RunPlan run;
  run.kind = kind_from(document.at("run").get<std::string>());
  each_of_run(run, reading_from(document));
  run.one_process = job.spec.uses_plugin();
  run.virtual_replicas = job.spec.strategy.virtual_replicas.value_or(0);
  run.batch.parts = run.parts();
  JobSpec spec = job.spec;
  spec.strategy.devices = job.devices;  // what auto means
  run.phases = phases_of(spec, job.data, job.model, length_of(run));
  return run;
}

}  // namespace

ordered_json to_json(const JobPlan& job) {
  ordered_json data;
  each_of_data(job.data, writing_to(data));
  ordered_json document = {
      {"version", kVersionOfPlans}, {"dtrain", kVersion}, {"spec", print_spec(job.spec)}, {"data", data}};
  each_of_job(job, writing_to(document));
  ordered_json& runs = document["runs"] = ordered_json::array();
  for (const RunPlan& run : job.runs) {
    ordered_json& entry = runs.emplace_back(ordered_json::object());
    entry["run"] = run.name();
    each_of_run(run, writing_to(entry));
  }
  return document;
}

JobPlan plan_from(const json& document, const std::filesystem::path& folder) {
  try {
    if (document.at("version") != kVersionOfPlans)
      throw Error(ExitCode::kUsage, "version {}, and this is dtrain {}, which reads version {}",
                  document.at("version").dump(), kVersion, kVersionOfPlans);
    JobPlan job;
    const LoadedSpec loaded = parse_spec(document.at("spec").get<std::string>(), "spec");
    if (!loaded.ok()) throw Error(ExitCode::kUsage, loaded.problems.front().to_string());
    job.spec = loaded.spec;
    if (!folder.empty()) job.spec.model.kept_file = folder / kProgramFile;
    each_of_data(job.data, reading_from(document.at("data")));
    job.spec.data.resolved_content = job.data.content;
    job.spec.data.resolved_place = job.data.place;
    job.model = layers_of(job.spec, job.data);
    job.bytes_per_parameter = bytes_per_parameter(job.spec.model);
    each_of_job(job, reading_from(document));
    for (const json& run : document.at("runs")) job.runs.push_back(run_from(run, job));
    if (job.devices.empty() || job.runs.empty() || !job.model.problems.empty())
      throw Error(ExitCode::kUsage, "it has no devices, no runs or no model that can be built");
    return job;
  } catch (const json::exception& error) {
    throw Error(ExitCode::kUsage, "no plan of a job: {}", error.what());
  } catch (const Error& error) {
    throw Error(ExitCode::kUsage, "no plan of a job: {}", error.what());
  }
}

void write_plan(const std::filesystem::path& path, const JobPlan& job) {
  const std::string text =
      printable_json(to_json(job).dump(2, ' ', false, ordered_json::error_handler_t::replace));
  keep_program(job, path.parent_path());
  write_file_atomically(path, text + "\n");
}

JobPlan read_plan(const std::filesystem::path& path) {
  const json document =
      json::parse(read_file(path, kMostBytes, ExitCode::kUsage), nullptr, /*allow_exceptions=*/false);
  try {
    return plan_from(document, path.parent_path());
  } catch (const Error& error) {
    throw Error(ExitCode::kUsage, "{}: {}", path.string(), error.what());
  }
}

}  // namespace dtrain
