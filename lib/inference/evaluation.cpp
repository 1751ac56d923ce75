#include "inference/evaluation.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <numeric>

#include "core/error.h"
#include "data/batches.h"
#include "models/variables.h"
#include "objective/objective.h"
#include "train/assembly.h"

namespace dtrain {
namespace {

int64_t sum_of(const std::vector<int64_t>& counts) {
  return std::accumulate(counts.begin(), counts.end(), int64_t{0});
}

// The size of EvaluationSums::counts.
int64_t count_of_counts(int64_t classes) {
  return 2 * classes + (classes <= kMostConfusedClasses ? classes * classes : 0);
}

// Adds one batch to `counts`. Targets and predictions are int64 [n].
void count(const at::Tensor& targets, const at::Tensor& predictions, int64_t classes, at::Tensor& counts) {
  counts.narrow(0, 0, classes).add_(at::bincount(targets, {}, classes));
  const at::Tensor right = targets.masked_select(predictions.eq(targets));
  counts.narrow(0, classes, classes).add_(at::bincount(right, {}, classes));
  if (classes > kMostConfusedClasses) return;
  const int64_t cells = classes * classes;
  counts.narrow(0, 2 * classes, cells).add_(at::bincount(targets * classes + predictions, {}, cells));
}

}  // namespace

int64_t Evaluation::examples() const { return sum_of(examples_of); }

int64_t Evaluation::correct() const { return sum_of(correct_of); }

double Evaluation::accuracy() const {
  return static_cast<double>(correct()) / static_cast<double>(examples());
}

std::optional<double> Evaluation::accuracy_of(size_t label) const {
  if (examples_of[label] == 0) return std::nullopt;
  return static_cast<double>(correct_of[label]) / static_cast<double>(examples_of[label]);
}

Evaluation evaluation_from(const EvaluationSums& sums, int64_t classes) {
  Evaluation result;
  auto count = sums.counts.begin();
  const auto take = [&] {
    const auto begin = count;
    count += classes;
    return std::vector<int64_t>(begin, count);
  };
  result.examples_of = take();
  result.correct_of = take();
  while (count != sums.counts.end()) result.confusion.push_back(take());
  result.loss = sums.loss / static_cast<double>(result.examples());
  return result;
}

JobPlan job_of_checkpoint(const std::filesystem::path& checkpoint, const Overrides& overrides,
                          DatasetInfo (*look)(const DataSpec&), LoadedSpec& loaded) {
  loaded = parse_spec(read_manifest(checkpoint).state.spec, "the checkpoint's spec", overrides);
  JobPlan job = plan_job(loaded, look);
  if (loaded.ok()) require_model_of(job, checkpoint);
  return job;
}

std::shared_ptr<Model> trained_model(const JobPlan& job, const NamedTensors& variables) {
  const auto model = initial_model(job);
  write_variables(*model, variables);
  model->eval();
  return model;
}

at::Tensor finite_logits(Model& model, const at::Tensor& inputs) {
  at::Tensor logits = model.forward(inputs).to(at::kDouble);
  if (at::isfinite(logits).all().item<bool>()) return logits;
  std::string why = "they are too large for an example";
  for (const auto& [name, tensor] : named_variables(model)) {
    if (!at::isfinite(tensor).all().item<bool>()) why = fmt::format("'{}' has values that are not", name);
  }
  throw Error(
      ExitCode::kCheckpoint,
      fmt::format(
          "what the checkpoint's model computes are no finite numbers: {}; its training diverged, use "
          "an earlier checkpoint",
          why));
}

ExampleSourcePtr load_examples(const JobPlan& job, const std::string& part) {
  DataSpec data = job.spec.data;
  if (part == "test") {  // the training examples need not be read
    data.train_examples = 1;
    data.split.validation = std::nullopt;
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
                              ProcessGroup& group) {
  const at::NoGradGuard no_grad;
  std::vector<at::Tensor> variables;
  for (const auto& [name, tensor] : named_variables(model)) variables.push_back(tensor.detach());
  group.broadcast(variables, /*root=*/0);

  RunPlan run = job.runs.back();
  run.replicas = group.size();
  run.servers = 0;
  ShareLoader loader(examples, evaluation_options(job, run, group.rank()));
  loader.start_epoch(0);
  const int64_t classes = job.data.classes;
  const auto objective = make_objective(job.spec.train);
  at::Tensor loss = at::zeros({1}, at::kDouble);
  at::Tensor counts = at::zeros({count_of_counts(classes)}, at::kLong);
  while (const std::optional<Share> share = loader.next()) {
    for (const MicroBatch& micro_batch : share->micro_batches) {
      const Batch batch = micro_batch.assemble();
      // In double precision, so that the sum does not depend on how the examples were shared.
      const at::Tensor logits = finite_logits(model, batch.inputs);
      loss += objective->evaluation_loss(logits, batch.targets);
      count(batch.targets, logits.argmax(1), classes, counts);
    }
  }
  group.all_reduce_sum(loss);
  group.all_reduce_sum(counts);

  const int64_t* first = counts.const_data_ptr<int64_t>();
  EvaluationSums sums{loss.item<double>(), {first, first + counts.numel()}};
  const int64_t evaluated = counts.narrow(0, 0, classes).sum().item<int64_t>();
  if (evaluated != examples->size())
    throw Error(ExitCode::kBug, fmt::format("evaluated {} examples of {}", evaluated, examples->size()));
  return sums;
}

}  // namespace dtrain
