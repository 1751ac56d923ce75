#include <fmt/format.h>
#include <unistd.h>

#include <iostream>

#include "commands/commands.h"
#include "commands/compile_ahead.h"
#include "commands/shared.h"
#include "core/addresses.h"
#include "core/files.h"
#include "core/terminal.h"
#include "core/text.h"
#include "data/dataset.h"
#include "diagnostics/layer_speed.h"
#include "display/rate_plot.h"
#include "display/table_layout.h"
#include "experiments/first_steps.h"
#include "experiments/forecast.h"
#include "job_file/print.h"
#include "metrics/event.h"
#include "plan/memory_estimate.h"
#include "plan/planned_step.h"
#include "spec/schedule_kinds.h"

namespace dtrain {
namespace {

Event memory_json(const MemoryEstimate& memory, int64_t batch) {
  return {{"program", memory.program},         {"data", memory.data},
          {"parameters", memory.parameters},   {"gradients", memory.gradients},
          {"optimizer", memory.optimizer},     {"checkpoint", memory.checkpoint},
          {"per_example", memory.per_example}, {"evaluation", memory.evaluation()},
          {"total", memory.with_batch(batch)}};
}

Event phase_json(const JobPlan& job, const RunPlan& run, const PhasePlan& phase) {
  Event trained = Event::array();
  for (size_t i = 0; i < job.model.layers.size(); ++i) {
    if (phase.layers.each[i] && job.model.layers[i].parameters > 0)
      trained.push_back(job.model.layers[i].name);
  }
  const PlannedStep step = planned_step(job, run, phase);
  return {{"name", phase.name},
          {"first_step", phase.first_step},
          {"steps", phase.steps},
          {"learning_rate", phase.learning_rate.scaled},
          {"learning_rate_derivation", phase.learning_rate.derivation},
          {"trained_layers", trained},
          {"trained_parameters", phase.parameters},
          {"bytes_per_all_reduce", job.bytes_per_all_reduce(phase)},
          {"feature_layers", phase.features.layers},
          {"feature_bytes", phase.features.bytes},
          {"feature_reason", phase.features.reason},
          {"feature_file", name_of(phase.features.file)},
          {"execution", step.execution},
          {"execution_reason", step.reason}};
}

Event run_json(const JobPlan& job, const RunPlan& run) {
  const LearningRate& learning_rate = run.phases.front().learning_rate;
  Event phases = Event::array();
  for (const PhasePlan& phase : run.phases) {
    if (!phase.name.empty()) phases.push_back(phase_json(job, run, phase));
  }
  const auto largest = largest_batch_here(job, run);
  return {
      {"run", run.name()},
      {"strategy", run.strategy},
      {"replicas", run.replicas},
      {"servers", run.servers},
      {"threads_per_replica", run.threads_per_replica},
      {"per_replica_batch", run.batch.per_replica},
      {"accumulate_steps", run.batch.accumulate_steps},
      {"global_batch", run.batch.global},
      {"learning_rate", learning_rate.scaled},
      {"learning_rate_derivation", learning_rate.derivation},
      {"warmup_steps", learning_rate.warmup_steps},
      {"phases", phases},
      {"steps_per_epoch", run.steps_per_epoch},
      {"epochs", run.epochs},
      {"last_step_examples", run.batch.step_range(run.steps_per_epoch - 1, job.data.train_examples).size()},
      {"total_steps", run.total_steps},
      {"largest_batch", largest ? Event(*largest) : Event()},
      {"memory_bytes_per_replica", memory_json(estimate_memory(job, run), run.batch.per_replica)}};
}

bool skips_bad_examples(const DataSpec& spec) {
  return is_picture_dataset(spec.dataset) && spec.on_bad_example == "skip";
}

Event data_json(const DatasetInfo& data, const DataSpec& spec) {
  Event json = {{"dataset", data.name},    {"requested", data.requested},
                {"source", data.source},   {"image_shape", data.example_shape},
                {"classes", data.classes}, {"train_examples", data.train_examples}};
  if (data.targets > 0) json["targets"] = data.targets;
  if (data.has_validation()) json["validation_examples"] = data.validation_examples;
  json["test_examples"] = data.test_examples;
  if (!data.reading.empty()) json["reading"] = data.reading;
  if (const int64_t bytes = prepared_bytes(data, spec); bytes > 0) json["cache_bytes"] = bytes;
  if (skips_bad_examples(spec)) {
    const bool known = data.bad.known && !data.source.empty();
    json["bad_examples"] = known ? Event(data.bad.count) : Event();
  }
  return json;
}

Event plan_json(const JobPlan& job) {
  Event layers = Event::array();
  for (const PlacedLayer& layer : job.model.layers) {
    layers.push_back({{"name", layer.name},
                      {"kind", layer.spec.kind},
                      {"output_shape", layer.output_shape},
                      {"parameters", layer.parameters}});
  }
  Event runs = Event::array();
  for (const RunPlan& run : job.runs) runs.push_back(run_json(job, run));
  const PlannedStep step = planned_step(job, job.distributed_run());
  return {{"name", job.spec.name},
          {"spec", print_spec(job.spec)},
          {"data", data_json(job.data, job.spec.data)},
          {"layers", layers},
          {"parameters", job.model.parameters()},
          {"strategy_fallback", job.fallback.empty() ? Event() : Event(job.fallback)},
          {"execution", step.execution},
          {"execution_reason", step.reason},
          {"bytes_per_all_reduce", job.bytes_per_all_reduce(job.distributed_run().phases.front())},
          {"runs", runs}};
}

Event speed_json(const ModelSpeed& speed) {
  Event layers = Event::array();
  for (const LayerSpeed& layer : speed.layers) {
    layers.push_back({{"name", layer.name},
                      {"operations", layer.operations},
                      {"forward_seconds", layer.forward_seconds},
                      {"backward_seconds", layer.backward_seconds}});
  }
  return {{"execution", speed.execution},
          {"examples", speed.examples},
          {"threads", speed.threads},
          {"peak_operations_per_second", speed.peak},
          {"layers", layers}};
}

void print_line(const std::string& label, const std::string& value) {
  std::cout << wrapped(fmt::format("  {:<24}{}", label, value), width_limit(STDOUT_FILENO), 26) << '\n';
}

// Prints approximately how much memory a replica needs, and for what.
void print_memory(const JobPlan& job, const RunPlan& run) {
  const MemoryEstimate memory = estimate_memory(job, run);
  // What a program keeps for its backward pass is not known.
  const bool is_program = job.spec.model.is_program();
  std::string batch =
      is_program ? "and what the model keeps of a batch"
                 : fmt::format("{} x {} a batch", run.batch.per_replica, human_bytes(memory.per_example));
  if (memory.evaluated > 0)
    batch += fmt::format(" {} {} x {} an evaluation", memory.keeps_both ? "and" : "or", memory.evaluated,
                         human_bytes(memory.per_evaluated));
  print_line("memory per replica",
             fmt::format("about {} = {} program, {} data, {} parameters, {} gradients, {} optimizer, {} "
                         "checkpoints, {}",
                         human_bytes(is_program ? memory.fixed() : memory.with_batch(run.batch.per_replica)),
                         human_bytes(memory.program), human_bytes(memory.data),
                         human_bytes(memory.parameters), human_bytes(memory.gradients),
                         human_bytes(memory.optimizer), human_bytes(memory.checkpoint), batch));
  if (const auto largest = largest_batch_here(job, run))
    print_line("largest batch here",
               fmt::format("{} per replica, with all replicas on this host", with_separators(*largest)));
}

// What the frozen layers at the beginning make of the examples, in a phase that has some.
void print_features(const FeaturePlan& features) {
  if (features.layers > 0)
    print_line("features", fmt::format("{} numbers an example, {} in memory, computed once by the first {}",
                                       with_separators(features.numbers), human_bytes(features.bytes),
                                       counted(features.layers, "layer")));
  const std::string if_slow =
      features.file == FeatureFile::kIfSlow ? ", if computing them takes over a second" : "";
  if (features.file == FeatureFile::kAlways || !if_slow.empty())
    print_line("features on disk", "kept for later runs (dtrain cache)" + if_slow);
  if (!features.no_file.empty()) print_line("features on disk", "not kept: " + features.no_file);
  if (!features.reason.empty()) print_line("features", "computed in every step: " + features.reason);
}

void print_all_reduce(const JobPlan& job, const RunPlan& run, const PhasePlan& phase) {
  if (run.replicas > 1 && !run.is_asynchronous())
    print_line("bytes per all-reduce", human_bytes(job.bytes_per_all_reduce(phase)));
  const StrategySpec& strategy = job.spec.strategy;
  if (run.traits().spans_hosts && strategy.local_steps.every)
    print_line("outer update", fmt::format("after every {} of each host, compress: {}",
                                           counted(*strategy.local_steps.every, "step"), strategy.compress));
}

void print_phase(const JobPlan& job, const RunPlan& run, const PhasePlan& phase) {
  if (!phase.name.empty()) {
    std::cout << " " << phase_title(run.phases, phase) << "\n";
    print_line("steps", fmt::format("{} from step {}", with_separators(phase.steps),
                                    with_separators(phase.first_step + 1)));
    print_line("trains", fmt::format("{} of {} parameters", with_separators(phase.parameters),
                                     with_separators(job.model.parameters())));
    print_features(phase.features);
    if (run.phases.size() > 1) print_line("step", planned_step(job, run, phase).text());
  }
  print_line("learning rate", phase.learning_rate.derivation);
  if (!phase.name.empty()) print_all_reduce(job, run, phase);
}

void print_run(const JobPlan& job, const RunPlan& run) {
  const BatchPlan& batch = run.batch;
  std::cout << fmt::format("\n{} run: {}, {} x {}\n", run.name(), run.strategy,
                           counted(run.replicas, "replica"), counted(run.threads_per_replica, "thread"));
  const bool is_virtual = run.virtual_replicas > 0;
  print_line("global batch", fmt::format("{} = {} per replica x {} x {}", batch.global, batch.per_replica,
                                         counted(batch.parts, is_virtual ? "virtual replica" : "replica"),
                                         counted(batch.accumulate_steps, "accumulation step")));
  if (!job.fallback.empty())
    print_line("fallback", run.strategy + " takes the place of tpu: " + printable(job.fallback, 1000));
  for (const PhasePlan& phase : run.phases) print_phase(job, run, phase);
  const int64_t last = batch.step_range(run.steps_per_epoch - 1, job.data.train_examples).size();
  print_line("steps per epoch",
             fmt::format("{}{}", with_separators(run.steps_per_epoch),
                         last == batch.global ? "" : ", the last with " + counted(last, "example")));
  print_line("steps in all",
             fmt::format("{} in {}", with_separators(run.total_steps), counted(run.epochs, "epoch")));
  if (run.traits().trains) print_memory(job, run);
  if (run.is_asynchronous()) {
    print_line("servers", with_separators(run.servers));
    const std::string bytes = human_bytes(job.bytes_per_all_reduce(run.phases.front()));
    print_line("bytes per step",
               fmt::format("{} of variables received, {} of gradients sent, each worker", bytes, bytes));
  }
  if (run.phases.front().name.empty()) print_all_reduce(job, run, run.phases.front());
}

TableRows layer_rows(const LayerPlan& model) {
  TableRows rows = {{"layer (kind)", "output", "parameters"}};
  for (const PlacedLayer& layer : model.layers) {
    const bool is_within_program = layer.output_shape.empty();
    rows.push_back({fmt::format("{} ({})", layer.name, layer.spec.kind),
                    is_within_program ? "" : to_string(layer.output_shape),
                    with_separators(layer.parameters)});
  }
  return rows;
}

// "flip {probability: 0.1}, rotate {degrees: 15}"
std::string augmentation_text(const JobSpec& spec) {
  std::vector<std::string> operations;
  for (Event operation : to_json(*find_field(job_fields(), "data.augment"), spec)) {
    const std::string kind = operation.at("kind").get<std::string>();
    operation.erase("kind");
    operations.push_back(operation.empty() ? kind : kind + " " + yaml_text(operation));
  }
  return join(operations);
}

void print_plan(const JobPlan& job) {
  const DatasetInfo& data = job.data;
  std::cout << "data\n";
  print_line("dataset", data.is_fallback()
                            ? fmt::format("{} (fallback: {} was not found)", data.name, data.requested)
                            : data.name);
  print_line("source", !data.source.empty() ? printable(data.source)
                       : is_picture_dataset(data.name)
                           ? "not found; the numbers of examples and classes are guesses"
                           : "not found; published numbers are shown");
  const bool split = data.has_validation();
  print_line("examples",
             fmt::format("{} to train on, {}{} to {}", with_separators(data.train_examples),
                         split ? with_separators(data.validation_examples) + " to validate on, " : "",
                         with_separators(data.test_examples), split ? "test at the end" : "evaluate"));
  if (skips_bad_examples(job.spec.data) && !data.source.empty())
    print_line("bad pictures",
               data.bad.known ? fmt::format("{} left out", with_separators(data.bad.count))
                              : "not known: none was read yet, and all are counted; dtrain run reads them");
  if (const int64_t bytes = prepared_bytes(data, job.spec.data); bytes > 0)
    print_line("cache", fmt::format("{} of decoded pictures {}", human_bytes(bytes),
                                    job.spec.data.cache_in_use() == "memory" ? "in memory, of each host"
                                                                             : "on the disk"));
  else if (is_picture_dataset(data.name))
    print_line("cache", fmt::format("none: pictures are {}decoded whenever a batch needs them",
                                    job.spec.data.stream ? "fetched and " : ""));
  if (!data.reading.empty()) print_line("table", printable(data.reading, 2000));
  print_line("input",
             fmt::format("{} {}, {}", to_string(data.example_shape), data.has_pixels ? "uint8" : "numbers",
                         data.targets > 0 ? counted(data.targets, "number") + " to predict"
                                          : fmt::format("{} classes", data.classes)));
  if (!job.spec.data.augment.empty()) print_line("augmentation", augmentation_text(job.spec));
  std::cout << "\nmodel\n" << lay_out(layer_rows(job.model), {.width = width_limit(STDOUT_FILENO)}) << '\n';
  const int64_t parameters = job.model.parameters(), statistics = job.model.buffers();
  print_line("size", fmt::format("{} trainable parameters and {} kept statistics, {}",
                                 with_separators(parameters), with_separators(statistics),
                                 human_bytes((parameters + statistics) * job.bytes_per_parameter)));
  print_line("step", planned_step(job, job.distributed_run()).text());
  for (const RunPlan& run : job.runs) print_run(job, run);
  std::cout << "\nevery field, resolved\n" << print_spec(job.spec);
}

// A layer's row; `peak` is 0 where nothing can be compared with it.
TableRow speed_row(const LayerSpeed& layer, double peak) {
  TableRow row = {fmt::format("{:.32}", layer.name), fmt::format("{:.3f}", layer.forward_seconds * 1e3),
                  fmt::format("{:.3f}", layer.backward_seconds * 1e3)};
  if (layer.operations > 0 && layer.seconds() > 0) {
    const double reached = layer.operations / layer.seconds();
    row.insert(row.end(),
               {fmt::format("{:.3f}", layer.operations / 1e9), fmt::format("{:.1f}", reached / 1e9),
                fmt::format("{:.0f} %", reached / peak * 100)});
  }
  return row;
}

void print_speed(const ModelSpeed& speed) {
  const int width = width_limit(STDOUT_FILENO);
  const std::string title = fmt::format(
      "layers, measured: {}, {} on {}; matrix products reach {:.0f} GFLOP/s there", speed.execution,
      counted(speed.examples, "example"), counted(speed.threads, "thread"), speed.peak / 1e9);
  TableRows rows = {{"layer", "forward ms", "back ms", "GFLOP", "GFLOP/s", "of these"}};
  LayerSpeed all{.name = "all"};
  for (const LayerSpeed& layer : speed.layers) {
    rows.push_back(speed_row(layer, speed.peak));
    all.operations += layer.operations;
    all.forward_seconds += layer.forward_seconds;
    all.backward_seconds += layer.backward_seconds;
  }
  rows.push_back(speed_row(all, speed.peak));
  std::cout << '\n'
            << wrapped(title, width, 2) << '\n'
            << lay_out(rows, {.narrowest = 10, .first = 32, .between = 1, .width = width});
}

// Draws the learning rate of the distributed run to `file`, or to the terminal if that is empty.
void plot_learning_rate(const JobPlan& job, const std::string& file) {
  const RunPlan& run = job.distributed_run();
  if (run.total_steps == 0) throw Error(ExitCode::kUsage, "train.max_steps is 0: no learning rate to draw");
  const std::string& kind = run.phases.front().learning_rate.curve.spec().kind;
  const bool watches = schedule_uses(kind, "metric");
  const LearningRateCurve curve{
      .title = fmt::format("{}: learning rate of the {} run{}", job.spec.name, run.name(),
                           watches ? ", as long as evaluations get better" : ""),
      .at = [&run](int64_t step) { return run.learning_rate_at(step); },
      .steps = run.total_steps,
      .steps_per_epoch = run.steps_per_epoch,
      .logarithmic = !watches && (schedule_uses(kind, "values") || schedule_uses(kind, "factor"))};
  if (file.empty()) {
    std::cout << learning_rate_plot(curve) << run.phases.front().learning_rate.derivation << '\n';
  } else {
    write_output(file, learning_rate_chart(curve));
    std::cout << printable(file, 1000) << '\n';
  }
}

// Writes what a device with a compiler of its own would compute into `folder`, which it makes.
void write_programs(const JobPlan& job, const std::filesystem::path& folder) {
  const auto files = device_program_files(job);
  std::error_code told_by_the_writer;
  std::filesystem::create_directories(folder, told_by_the_writer);
  for (const auto& [name, text] : files) {
    write_file_atomically(folder / name, text);
    std::cout << printable((folder / name).string(), 1000) << '\n';
  }
}

}  // namespace

ExitCode plan_command(const PlanOptions& options) {
  LoadedSpec loaded = load_spec(options.spec.spec, options.spec.overrides);
  report_notes(loaded.notes);
  if (options.compile_for) expect_topology(loaded.spec, *options.compile_for);
  const std::string path = loaded.spec.data.path.value_or("");
  const auto look = is_address(path) ? find_dataset : describe_dataset;  // a guess would tell little of it
  PlannedJob planned = plan_job(loaded, look);
  const JobPlan& job = planned.job;
  if (planned.ok() && job.spec.batch.per_replica == kLargestThatFits) {
    std::cerr
        << "dtrain: batch.per_replica: auto is measured when a run begins; this plan has what fits by the "
           "estimate of its memory\n";
    loaded.spec.batch.per_replica = estimated_fit(job);
    planned = plan_job(loaded, look);
  }
  if (!planned.ok()) return report_problems(planned.problems);
  report_warnings(plan_warnings(job));
  if (options.compile_for) {
    compile_ahead(job, *options.compile_for, options.json);
  } else if (options.stablehlo) {
    write_programs(job, *options.stablehlo);
  } else if (!options.at_hosts.empty()) {
    const Event document = forecast_cluster(loaded, job, options.at_hosts, options.link, options.from);
    std::cout << (options.json ? event_text(document, 2) + "\n"
                               : forecast_table(document, width_limit(STDOUT_FILENO)));
  } else if (options.plot_learning_rate) {
    plot_learning_rate(job, *options.plot_learning_rate);
  } else if (options.json) {
    Event document = plan_json(job);
    document["warnings"] = plan_warnings(job);
    if (options.explain) document["measured"] = speed_json(measure_layers(job));
    std::cout << event_text(document, 2) << '\n';
  } else {
    report_notes(obstacles(job));
    print_plan(job);
    if (options.explain) print_speed(measure_layers(job));
  }
  return ExitCode::kDone;
}

}  // namespace dtrain
