// What equivalence_test.cpp holds of replicas, of every kind of loss: on rows of numbers.
#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>

#include <numeric>

#include "catch.h"
#include "data/example_source.h"
#include "models/variables.h"
#include "strategy/replicas.h"
#include "strategy/servers.h"

namespace dtrain {
namespace {

constexpr int kLossSteps = 20;

// Rows of 5 numbers with `targets` numbers to predict of each, or with 0 one of two classes.
Dataset small_table(int64_t targets, bool answers) {
  at::Generator generator = at::make_generator<at::CPUGeneratorImpl>(7);
  const auto part = [&](int64_t rows) {
    const at::Tensor inputs = at::randn({rows, 5}, generator, at::kDouble);
    const at::Tensor weights = at::arange(5 * std::max<int64_t>(1, targets), at::kDouble).view({5, -1}).sin();
    const at::Tensor values = at::mm(inputs, weights) + 0.5;
    if (targets == 0) return make_memory_source({inputs, values.squeeze(1).gt(0).to(at::kLong)});
    return make_memory_source({inputs, answers ? values.gt(0).to(at::kDouble) : values});
  };
  Dataset dataset{{}, part(101), part(101)};
  dataset.info.example_shape = {5};
  dataset.info.classes = targets == 0 ? 2 : 0;
  dataset.info.targets = targets;
  return dataset;
}

// The last step of an epoch has 5 examples, so that shares are uneven, and one of three replicas' may be
// empty.
void require_equal_losses(const JobSpec& spec, const Dataset& dataset) {
  const auto one = train_with_threads(with_batch(spec, 24), dataset, 1, kLossSteps);
  CHECK(std::accumulate(one.losses.end() - 5, one.losses.end(), 0.0) <
        std::accumulate(one.losses.begin(), one.losses.begin() + 5, 0.0));
  for (const int replicas : {2, 3}) {
    INFO(replicas);
    const auto many = train_with_threads(with_batch(spec, 24 / replicas), dataset, replicas, kLossSteps);
    CHECK(relative_difference(one.variables, many.variables) < 1e-12);
    CHECK(many.evaluated_examples == 101);
    REQUIRE(many.evaluation_metrics.size() == one.evaluation_metrics.size());
    for (size_t i = 0; i < one.evaluation_metrics.size(); ++i) {
      INFO(one.evaluation_metrics[i].first);
      CHECK(many.evaluation_metrics[i].second == Approx(one.evaluation_metrics[i].second).epsilon(1e-12));
    }
  }
}

TEST_CASE("losses of numbers and their metrics are those of one replica, to 1e-12") {
  JobSpec spec = small_spec();
  spec.model.dtype = "float64";
  spec.train.loss.kind = GENERATE(from_range(objectives_for(Targets::kNumbers)));
  spec.train.optimizer.learning_rate = 0.03;
  const auto [communication, targets] =
      GENERATE(table<std::string, int64_t>({{"gloo", 3}, {"shared_memory", 1}}));
  spec.strategy.communication = communication;
  require_equal_losses(spec, small_table(targets, false));
}

TEST_CASE("yes or no, of one output and of several, is that of one replica, to 1e-12") {
  JobSpec spec = small_spec();
  spec.model.dtype = "float64";
  spec.train.loss.kind = "binary_cross_entropy";
  spec.train.loss.class_weights.weights = {1, 3};
  spec.strategy.communication = "shared_memory";
  require_equal_losses(spec, small_table(3, true));
  spec.train.loss.kind = "cross_entropy";
  require_equal_losses(spec, small_table(0, true));
}

TEST_CASE("a device that holds rows of numbers, or is sent them, comes to the weights of the CPU") {
  JobSpec spec = with_batch(small_spec(), 32);
  spec.model.dtype = "float64";
  spec.train.loss.kind = GENERATE("mean_squared_error", "cross_entropy");
  const bool regression = spec.train.loss.kind == "mean_squared_error";
  if (!regression) spec.train.loss.class_weights.weights = {1, 3};
  spec.train.optimizer.learning_rate = 0.01;
  const Dataset dataset = small_table(regression ? 2 : 0, false);
  const auto host = train_with_threads(spec, dataset, 2, 2 * kLossSteps);
  spec.strategy.devices = {"cuda"};
  spec.cuda.data = GENERATE("resident", "uploaded");
  const auto device = train_with_threads(spec, dataset, 2, 2 * kLossSteps);
  CHECK(relative_difference(host.variables, device.variables) < 1e-12);
  CHECK(device.evaluation_metrics == host.evaluation_metrics);
}

// Outputs whose targets are far apart, all examples in one step that moves nothing, and the same examples to
// evaluate.
struct FarApart {
  explicit FarApart(const std::string& dtype) : dataset(small_table(2, false)), spec(spec_of(1)) {
    StoredExamples examples = *dataset.train->in_memory();
    examples.targets.select(1, 1).add_(1000);
    dataset.test = dataset.train = make_memory_source(examples);
    spec.model.dtype = dtype;
    spec.train.loss.kind = "huber";
    spec.train.optimizer.learning_rate = 0;
    spec.data.shape = {5};
    spec.data.classes = 2;  // the outputs of a worker's model
    spec.batch.per_replica = 101;
    const auto model = model_of(spec);
    const at::NoGradGuard no_grad;
    const at::Tensor targets = examples.targets,
                     values = model->forward(examples.inputs.to(dtype_from_name(dtype)));
    const at::Tensor errors = (values.to(at::kDouble) - targets).square().sum(0);
    r2 = (1 - errors / (targets - targets.mean(0)).square().sum(0)).mean().item<double>();
  }

  Dataset dataset;
  JobSpec spec;
  double r2 = 0;  // as scikit-learn defines it, of the initial weights
};

TEST_CASE("r2 of several outputs is the mean of theirs in training and evaluation, by every strategy") {
  const std::string dtype = GENERATE("float64", "float32");
  FarApart job(dtype);
  CHECK(job.r2 < -100);  // of the second output, which the weights know nothing of
  const auto about = Approx(job.r2).epsilon(dtype == "float64" ? 1e-9 : 1e-4);
  Servers servers(job.spec, *model_of(job.spec), options_of(1), 2);
  const WorkerResult worker = train(job.spec, job.dataset, servers, 1).front();
  CHECK(find_metric(worker.sums.metrics(), "r2") == about);

  job.spec.strategy.kind = "mirrored";
  for (const int replicas : {1, 2, 3}) {
    for (const std::string step : {"eager", "compiled"}) {
      JobSpec spec = with_batch(job.spec, 102 / replicas);
      spec.train.step = step;
      if (step == "compiled" && dtype == "float64") continue;  // of float32 alone
      INFO(replicas << " " << step);
      const auto result = train_with_threads(spec, job.dataset, replicas, 1);
      CHECK(find_metric(result.training_metrics, "r2") == about);
      CHECK(find_metric(result.evaluation_metrics, "r2") == about);
    }
  }
  JobSpec device = with_batch(job.spec, 51);
  device.strategy.devices = {"cuda"};
  const auto recorded = train_with_threads(device, job.dataset, 2, 14);  // the later steps are recorded ones
  CHECK(find_metric(recorded.training_metrics, "r2") == about);
  CHECK(find_metric(recorded.evaluation_metrics, "r2") == about);
}

}  // namespace
}  // namespace dtrain
