#include "train/evaluation.h"

#include <ATen/ATen.h>
#include <ATen/Context.h>
#include <ATen/Parallel.h>

#include <numeric>

#include "core/error.h"
#include "data/batches.h"
#include "launch/cores.h"
#include "models/model.h"
#include "strategy/variables.h"
#include "train/assembly.h"

namespace dtrain {

int64_t Evaluation::correct() const {
  int64_t sum = 0;
  for (size_t label = 0; label < confusion.size(); ++label) sum += confusion[label][label];
  return sum;
}

int64_t Evaluation::examples_of(size_t label) const {
  return std::accumulate(confusion[label].begin(), confusion[label].end(), int64_t{0});
}

double Evaluation::accuracy() const { return static_cast<double>(correct()) / static_cast<double>(examples); }

JobPlan job_of_checkpoint(const TrainingState& state, const std::vector<std::string>& overrides,
                          DatasetInfo (*look)(const DataSpec&), LoadedSpec& loaded) {
  loaded = parse_spec(state.spec, "the checkpoint's spec", overrides);
  return plan_job(loaded, look);
}

Evaluation evaluate_model(const JobPlan& job, const NamedTensors& variables) {
  at::set_num_threads(available_cores());
  at::globalContext().setFlushDenormal(true);  // as in training
  const at::NoGradGuard no_grad;
  const Dataset dataset = load_dataset(job.spec.data, static_cast<uint64_t>(job.spec.seed));
  if (dataset.test.size() == 0) throw Error(ExitCode::kData, "there are no test examples to evaluate");
  const auto model = build_model(job.model, dtype_from_name(job.spec.model.dtype), /*seed=*/0);
  write_variables(*model, variables);
  model->eval();
  RunPlan alone = job.runs.back();
  alone.replicas = 1;
  ShareLoader loader(dataset.test, test_options(job, alone, /*rank=*/0));
  loader.start_epoch(0);

  const int64_t classes = dataset.info.classes;
  at::Tensor loss = at::zeros({}, at::kDouble);
  at::Tensor counts = at::zeros({classes * classes}, at::kLong);
  while (const std::optional<Share> share = loader.next()) {
    for (const Batch& batch : share->micro_batches) {
      const at::Tensor logits = model->forward(batch.inputs);
      loss += at::cross_entropy_loss(logits, batch.targets, /*weight=*/{}, at::Reduction::Sum);
      counts += at::bincount(batch.targets * classes + logits.argmax(1), {}, classes * classes);
    }
  }
  Evaluation result;
  result.examples = counts.sum().item<int64_t>();
  result.loss = loss.item<double>() / static_cast<double>(result.examples);
  const int64_t* count = counts.const_data_ptr<int64_t>();
  for (int64_t label = 0; label < classes; ++label, count += classes)
    result.confusion.emplace_back(count, count + classes);
  return result;
}

}  // namespace dtrain
