#include "callbacks/weight_histograms.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <mutex>

#include "catch.h"
#include "comm/group_threads.h"
#include "train/assembly.h"
#include "train/small_jobs.h"

namespace dtrain {
namespace {

std::vector<double> finite_numbers(const at::Tensor& tensor) {
  const at::Tensor flat = tensor.detach().reshape({-1}).to(at::kDouble).contiguous();
  const double* first = flat.const_data_ptr<double>();
  return {first, first + flat.numel()};
}

void check(const Histogram& histogram, const at::Tensor& tensor) {
  std::vector<double> numbers = finite_numbers(tensor);
  CHECK(histogram.count == static_cast<double>(numbers.size()));
  CHECK(histogram.minimum == *std::min_element(numbers.begin(), numbers.end()));
  CHECK(histogram.maximum == *std::max_element(numbers.begin(), numbers.end()));
  double sum = 0, squares = 0;
  std::vector<double> buckets(histogram_limits().size());
  for (const double number : numbers) {
    sum += number;
    squares += number * number;
    ++buckets[histogram_bucket(number)];
  }
  CHECK(histogram.sum == Approx(sum).margin(1e-12));
  CHECK(histogram.sum_squares == Approx(squares).margin(1e-12));
  CHECK(histogram.buckets == buckets);
}

TEST_CASE("replicas that hold parts of a parameter make its histogram together") {
  const std::string communication = GENERATE("gloo", "shared_memory");
  const int replicas = GENERATE(2, 3);
  const JobPlan job = small_job();
  with_ranks(communication, replicas, [&](ProcessGroup& group) {
    StepClock clock;
    const auto model = initial_model(job);
    const auto reducer = group.make_gradient_reducer(model->parameters(), {}, clock);
    reducer->zero_gradients();
    reducer->prepare(/*last=*/true);
    (model->forward(at::ones({2, 1, 4, 4})).sum() * (group.rank() + 1)).backward();
    reducer->finish({});
    const auto histograms = histograms_of(*model, *reducer, group);
    const auto parameters = model->named_parameters();
    const auto alone = initial_model(job);
    (alone->forward(at::ones({2, 1, 4, 4})).sum() * (replicas * (replicas + 1) / 2)).backward();
    static std::mutex one_at_a_time;
    const std::lock_guard lock(one_at_a_time);
    REQUIRE(histograms.size() == 2 * parameters.size());
    for (size_t i = 0; i < parameters.size(); ++i) {
      CHECK(histograms[2 * i].tag == "weights/" + parameters[i].key());
      CHECK(histograms[2 * i + 1].tag == "gradients/" + parameters[i].key());
      check(histograms[2 * i].histogram, parameters[i].value());
      const at::Tensor gradient = alone->parameters()[i].grad();
      CHECK(histograms[2 * i + 1].histogram.sum == Approx(gradient.sum().item<double>()).margin(1e-4));
      CHECK(histograms[2 * i + 1].histogram.count == static_cast<double>(gradient.numel()));
    }
  });
}

TEST_CASE("what is not finite is left out") {
  const JobPlan job = small_job();
  const auto group = make_single_group();
  StepClock clock;
  const auto model = initial_model(job);
  const auto reducer = group->make_gradient_reducer(model->parameters(), {}, clock);
  for (at::Tensor& parameter : model->parameters()) {
    parameter.mutable_grad() = at::full_like(parameter, std::nan(""));
  }
  const auto histograms = histograms_of(*model, *reducer, *group);
  CHECK(histograms[1].histogram.count == 0);
  CHECK(histograms[1].histogram.maximum == 0);
  CHECK(histograms[0].histogram.count == static_cast<double>(model->parameters()[0].numel()));
}

}  // namespace
}  // namespace dtrain
