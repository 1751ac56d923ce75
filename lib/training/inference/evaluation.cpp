#include "inference/evaluation.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <tuple>
#include <utility>

#include "callbacks/kept_examples.h"
#include "core/addresses.h"
#include "core/error.h"
#include "core/patterns.h"
#include "core/range.h"
#include "core/text.h"
#include "csv/csv_cell.h"
#include "data/table_dataset.h"
#include "loader/batches.h"
#include "loader/pixel_statistics.h"
#include "metrics/event.h"
#include "models/variables.h"
#include "objective/metric_sums.h"
#include "objective/objective.h"
#include "tables/plain_column.h"
#include "train/assembly.h"

namespace dtrain {
namespace {

at::Tensor predicted_classes(const at::Tensor& logits) {
  return logits.size(1) > 1 ? logits.argmax(1) : logits.squeeze(1).gt(0).to(at::kLong);
}

std::vector<WrongExample> named(std::vector<WrongExample> mistakes, const ExampleSource& examples) {
  if (mistakes.empty()) return mistakes;
  std::vector<int64_t> indices;
  for (const WrongExample& one : mistakes) indices.push_back(one.index);
  std::vector<ExampleName> names = examples.names_of(indices);
  for (size_t i = 0; i < mistakes.size(); ++i) mistakes[i].name = std::move(names[i]);
  return mistakes;
}

std::vector<std::string> cells_of(const JobPlan& job, const std::vector<ExampleName>& names,
                                  const std::string& column) {
  const TableFiles files = table_files(with_files_here(job.spec.data));
  std::map<std::string, std::vector<std::string>> cells;  // by file
  std::vector<std::string> groups;
  for (const ExampleName& name : names) {
    const bool of_test = files.test && files.test->name.filename() == name.file;
    const auto [own, is_new] = cells.try_emplace(name.file);
    if (is_new)
      own->second =
          read_cells(of_test ? *files.test : files.train, column, {table_format_of(job.data).separator});
    const std::string& cell = own->second.at(static_cast<size_t>(name.row - 1));
    groups.push_back(is_missing_cell(cell, job.spec.data.missing_values) ? "(missing)" : cell);
  }
  return groups;
}

// Whether the inputs of arrays are unsigned bytes; nullopt: an earlier version did not note it.
std::optional<bool> has_bytes(const DatasetInfo& info) {
  if (info.classes > 0) return info.has_pixels;
  const Event saved = Event::parse(info.table, nullptr, /*allow_exceptions=*/false);
  const std::string format = text_at(saved, "format").value_or("");
  return format.empty() ? std::nullopt : std::optional(format == kOfBytes);
}

// What the pattern finds in a file's name: its first parentheses, or else all.
std::vector<std::string> groups_in(const std::vector<ExampleName>& names, const std::string& by) {
  std::vector<std::string> groups;
  try {
    const Pattern pattern(by == "folder" ? "^(?:(.*)/)?" : by);
    for (const ExampleName& name : names) {
      const auto found = pattern.search(name.file);
      if (!found)
        throw Error(ExitCode::kData, "{}: --by finds no group in its name; use another pattern, or `folder`",
                    printable(name.file, 1000));
      groups.push_back(found->at(found->size() > 1 ? 1 : 0).text);
    }
  } catch (const Error&) {
    throw;
  } catch (const std::exception& error) {
    throw Error(ExitCode::kUsage, "--by {}: no regular expression: {}; or say `folder`", printable(by),
                error.what());
  }
  return groups;
}

}  // namespace

ExampleGroups groups_of(const JobPlan& job, const ExampleSource& examples, const std::string& by) {
  const std::vector<ExampleName> names = examples.names_of(consecutive<int64_t>(0, examples.size()));
  if (names.front().file.empty())
    throw Error(ExitCode::kUsage,
                "--by needs a table or pictures in files, and {} has examples without names", job.data.name);
  const std::vector<std::string> own =
      has_columns(job.data.name) ? cells_of(job, names, by) : groups_in(names, by);
  ExampleGroups groups;
  for (size_t i = 0; i < own.size(); ++i) groups[own[i]].push_back(static_cast<int64_t>(i));
  if (groups.size() > kMostGroups)
    throw Error(ExitCode::kUsage, "--by: there are {} groups, more than {}; use another column or pattern",
                groups.size(), kMostGroups);
  return groups;
}

std::vector<GroupMetrics> metrics_by_group(const ExampleResults& results, const ExampleGroups& groups) {
  std::vector<GroupMetrics> all;
  for (const auto& [name, own] : groups) {
    const at::Tensor rows = at::tensor(own, at::kLong);
    ExampleResults some = results;
    for (at::Tensor* numbers : {&some.losses, &some.targets, &some.outputs})
      *numbers = numbers->index_select(0, rows);
    const Draws draws = draws_of(some, std::ssize(groups));
    all.push_back({name, std::ssize(own), draws.front(), intervals_of(draws)});
  }
  return all;
}

int64_t Evaluation::correct() const {
  return std::accumulate(classes.begin(), classes.end(), int64_t{0},
                         [](int64_t sum, const ClassCounts& one) { return sum + one.correct; });
}

Evaluation evaluation_from(const EvaluationSums& sums, const JobPlan& job) {
  Evaluation result;
  const ObjectiveInfo& objective = objective_info(job.spec.train.loss.kind);
  MetricSums all;
  all.add_sums(objective, sums.sums);
  const Counts counts(sums.counts.empty() ? 0 : job.model.output_shape().at(0), sums.counts);
  result.metrics = all.metrics();
  result.outputs = all.metrics_of_outputs();
  const MetricValues of_counts = objective.values_of(counts);
  result.metrics.insert(result.metrics.end(), of_counts.begin(), of_counts.end());
  result.examples = all.examples();
  result.classes = by_class(counts);
  for (int64_t row = 0; row < counts.rows() && counts.has_scores(); ++row)
    result.areas.push_back(area_under_curve(counts, row));
  result.mean_area = mean_area_under_curve(counts);
  result.mistakes = sums.mistakes;
  for (auto row = sums.confusion.begin(); row != sums.confusion.end(); row += job.data.classes)
    result.confusion.emplace_back(row, row + job.data.classes);
  return result;
}

LoadedSpec spec_of_checkpoint(const std::filesystem::path& checkpoint, const Overrides& overrides) {
  const TrainingState state = read_manifest(checkpoint).state;
  const std::string name = "the checkpoint's spec";
  LoadedSpec loaded = parse_spec(state.spec, name, overrides);
  loaded.spec.data.saved_table = state.table;
  const bool names_data = std::any_of(overrides.set.begin(), overrides.set.end(),
                                      [](const std::string& set) { return set.starts_with("data.path="); });
  if (!names_data) loaded.spec.data.saved_content = state.content;
  const auto file = loaded.positions.find("model.file");  // one of an override is not the run's
  if (file != loaded.positions.end() && file->second.file == name)
    loaded.spec.model.kept_file = checkpoint / kProgramFile;
  if (measures_pixels(loaded.spec.data))
    loaded.refuse("data.image",
                  "a trained model keeps the numbers that were measured for it; leave out `measured`");
  // Without a plugin: on the processor, or on a GPU as dtrain's own steps do. What the user says of devices
  // holds.
  if (loaded.spec.uses_plugin()) {
    const auto names_devices = [](const std::string& set) { return set.starts_with("strategy.devices="); };
    const bool named = std::ranges::any_of(overrides.set, names_devices);
    StrategySpec plain;
    if (named) plain.devices = loaded.spec.strategy.devices;
    loaded.spec.strategy = plain;
    loaded.spec.train.step = "auto";
  }
  return loaded;
}

void require_bytes_as_trained(const std::string& path, bool are_bytes, const DatasetInfo& trained) {
  if (has_bytes(trained).value_or(are_bytes) == are_bytes) return;
  const char *const bytes = "unsigned bytes", *const others = "numbers of another type";
  throw Error(ExitCode::kData, "{}: has {}, and the model was trained on {}; save them as in training",
              printable(path, 1000), are_bytes ? bytes : others, are_bytes ? others : bytes);
}

PlannedJob job_of_checkpoint(const std::filesystem::path& checkpoint, const LoadedSpec& spec,
                             DatasetInfo (*look)(const DataSpec&)) {
  PlannedJob planned = plan_job(spec, look);
  if (!planned.ok()) return planned;
  require_model_of(planned.job, checkpoint);
  const DatasetInfo& data = planned.job.data;
  if (data.name != "arrays" || spec.spec.data.saved_table.empty()) return planned;
  if (const std::optional<bool> are_bytes = has_bytes(data))
    require_bytes_as_trained(data.source, *are_bytes, saved_table_dataset(spec.spec.data));
  return planned;
}

std::shared_ptr<Model> trained_model(const JobPlan& job, const NamedTensors& variables) {
  const auto model = initial_model(job);
  write_variables(*model, variables);
  model->eval();
  return model;
}

at::Tensor finite_outputs(const JobSpec& job, Model& model, const at::Tensor& inputs) {
  at::Tensor outputs =
      evaluated_outputs(*make_objective(job.train), job.evaluate, inputs,
                        [&](const at::Tensor& some) { return model.forward(some).to(at::kDouble); });
  if (at::isfinite(outputs).all().item<bool>()) return outputs;
  std::string why = "they are too large for an example";
  for (const auto& [name, tensor] : named_variables(model)) {
    if (!at::isfinite(tensor).all().item<bool>()) why = fmt::format("'{}' has values that are not", name);
  }
  throw Error(ExitCode::kCheckpoint,
              "what the checkpoint's model computes are no finite numbers: {}; its training diverged, use an "
              "earlier checkpoint",
              why);
}

DatasetInfo find_dataset_of_run(const DataSpec& spec) {
  try {
    return find_dataset(spec);
  } catch (const Error& error) {
    std::error_code code;
    if (error.code() != ExitCode::kData || !spec.path || is_address(*spec.path) ||
        std::filesystem::status(*spec.path, code).type() != std::filesystem::file_type::not_found)
      throw;
    throw Error(ExitCode::kData, "{}; if the run's data were moved, say where they are now: --data PATH",
                error.what());
  }
}

std::string doubt_about_examples(const JobPlan& job, const TrainingState& state, const std::string& part) {
  const DatasetInfo& data = job.data;
  if (data.is_fallback() && data.name != state.dataset)
    return fmt::format(
        "dataset {0} was not found; this evaluates the fallback {1}, and its numbers are not those of {0}",
        data.requested, data.name);
  const DataSpec& spec = job.spec.data;
  const SplitSpec& split = spec.split;
  // Each picture is drawn by its name, whatever others there are.
  const bool by_number = !is_picture_dataset(data.name) || split.stratify || split.group;
  if (!by_number || (part == "test" ? !split.test : part != "validation")) return "";
  int64_t then = 0, now = 0;  // a limit says nothing about the examples of which it takes the first
  if (!spec.train_examples) {
    then += state.train_examples + state.validation_examples;
    now += data.train_examples + data.validation_examples;
  }
  if (split.test && !spec.test_examples && !spec.saved_table.empty()) {
    then += saved_table_dataset(spec).test_examples;
    now += data.test_examples;
  }
  if (then == now || (split.time && then < now)) return "";  // later rows
  return fmt::format(
      "data.split makes other parts here than in training, of {} instead of {}: the model may have been "
      "trained on some of these {} examples, and look too good (docs/evaluation.md)",
      counted(now, "example"), with_separators(then), part);
}

ExampleSourcePtr load_examples(const JobPlan& job, const std::string& part) {
  DataSpec data = job.spec.data;
  if (part == "test" && job.data.table.empty()) {  // the training examples need not be read
    data.train_examples = 1;
    data.split.validation = std::nullopt;
    data.split.folds = std::nullopt;
    data.split.fold = 1;
  }
  if (part == "validation" && !job.data.has_validation())
    throw Error(ExitCode::kUsage,
                "the job has no validation part: its spec has no data.split; use --split test or train");
  const Dataset dataset = load_dataset(data, static_cast<uint64_t>(job.spec.seed));
  const ExampleSourcePtr& examples = part == "test"         ? dataset.test
                                     : part == "validation" ? dataset.validation
                                                            : dataset.train;
  if (examples->size() == 0) throw Error(ExitCode::kData, "there are no test examples to evaluate");
  return examples;
}

EvaluationSums evaluate_model(const JobPlan& job, Model& model, const ExampleSourcePtr& examples,
                              ProcessGroup& group, size_t most_mistakes, bool keeps_rows) {
  const at::NoGradGuard no_grad;
  std::vector<at::Tensor> variables;
  for (const auto& [name, tensor] : named_variables(model)) variables.push_back(tensor.detach());
  group.broadcast(variables, /*root=*/0);

  RunPlan run = job.distributed_run();
  run.replicas = group.size();
  run.virtual_replicas = 0;
  run.servers = 0;
  ShareLoader loader(examples, evaluation_options(job, run, group.rank()));
  loader.start_epoch(0);
  const int64_t classes = job.data.classes;
  const auto objective = make_objective(job.spec.train);
  MetricSums sums(objective->info(), model.outputs());
  at::Tensor confusion = at::zeros({classes <= kMostConfusedClasses ? classes * classes : 0}, at::kLong);
  WorstMistakes worst(most_mistakes);
  std::vector<int64_t> all_indices;
  keeps_rows = keeps_rows && why_not_kept(job, examples->size()).empty();
  while (const std::optional<Share> share = loader.next()) {
    std::span<const int64_t> indices = share->indices;
    all_indices.insert(all_indices.end(), indices.begin(), indices.end());
    for (const MicroBatch& micro_batch : share->micro_batches) {
      const Batch batch = micro_batch.assemble();
      // In double precision, so that the sum does not depend on how the examples were shared.
      const at::Tensor outputs = finite_outputs(job.spec, model, batch.inputs);
      sums.add_evaluated(*objective, outputs, batch.targets, keeps_rows);
      if (confusion.numel() > 0)
        confusion +=
            at::bincount(batch.targets * classes + predicted_classes(outputs), {}, confusion.numel());
      if (most_mistakes > 0)
        worst.add_batch(batch.targets, objective->predictions(outputs, /*classes=*/true), indices);
      indices = indices.subspan(static_cast<size_t>(batch.size()));
    }
  }
  group.all_reduce_sum(sums.values());
  if (sums.counts().defined()) group.all_reduce_sum(sums.counts());
  if (confusion.numel() > 0) group.all_reduce_sum(confusion);
  at::Tensor rows = at::empty({0}, at::kFloat);
  if (keeps_rows) {
    rows = placed_rows(sums.take_rows(), all_indices, examples->size());
    group.all_reduce_sum(rows);
  }

  if (sums.examples() != examples->size())
    throw Error(ExitCode::kBug, "evaluated {} examples of {}", sums.examples(), examples->size());
  const double* first_sum = sums.values().const_data_ptr<double>();
  const int64_t* first = confusion.const_data_ptr<int64_t>();
  return {{first_sum, first_sum + sums.values().numel()},
          sums.counted().values(),
          {first, first + confusion.numel()},
          named(worst.take(), *examples),
          {rows.const_data_ptr<float>(), rows.const_data_ptr<float>() + rows.numel()}};
}

void WorstMistakes::add(WrongExample example) {
  if (most_ == 0) return;
  found_.push_back(std::move(example));
  if (found_.size() >= 2 * most_) keep_worst();  // a constant time each
}

void WorstMistakes::add_batch(const at::Tensor& targets, const at::Tensor& probabilities,
                              std::span<const int64_t> indices) {
  const at::Tensor predicted = probabilities.argmax(1);
  const auto label_of = targets.accessor<int64_t, 1>(), prediction_of = predicted.accessor<int64_t, 1>();
  const auto probability = probabilities.accessor<double, 2>();
  for (int64_t row = 0; row < targets.size(0); ++row) {
    const int64_t label = label_of[row], prediction = prediction_of[row];
    if (label == prediction) continue;
    add({.index = indices[static_cast<size_t>(row)],
         .label = label,
         .prediction = prediction,
         .probability = probability[row][prediction],
         .of_label = probability[row][label]});
  }
}

std::vector<WrongExample> WorstMistakes::take() {
  keep_worst();
  return std::exchange(found_, {});
}

void WorstMistakes::keep_worst() {
  std::ranges::sort(found_, [](const WrongExample& a, const WrongExample& b) {
    return std::tie(a.of_label, a.index) < std::tie(b.of_label, b.index);
  });
  if (found_.size() > most_) found_.resize(most_);
}

}  // namespace dtrain
