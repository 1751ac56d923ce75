// Hosts, which are threads here, that divide the update among themselves.
#include <ATen/ATen.h>

#include <algorithm>
#include <atomic>
#include <numeric>

#include "catch.h"
#include "comm/group_threads.h"
#include "comm/process_group.h"
#include "core/error.h"

namespace dtrain {
namespace {

constexpr std::chrono::seconds kPatience{20};

std::vector<at::Tensor> parameters_of(at::ScalarType type = at::kFloat) {
  std::vector<at::Tensor> parameters;
  for (const std::vector<int64_t>& sizes :
       std::vector<std::vector<int64_t>>{{5}, {40, 7}, {1}, {3, 111}, {64}})
    parameters.push_back(at::full(sizes, 7, type).requires_grad_());
  return parameters;
}

int64_t total_of(const std::vector<at::Tensor>& tensors) {
  return std::accumulate(tensors.begin(), tensors.end(), int64_t{0},
                         [](int64_t sum, const at::Tensor& tensor) { return sum + tensor.numel(); });
}

// How gradients come to the reducer.
enum class Source { kAutograd, kPut, kPutInPlace };

// 1, 2, 3 ... times `factor`: every element has a gradient of its own.
at::Tensor gradient_like(const at::Tensor& parameter, int64_t factor) {
  return at::arange(1, parameter.numel() + 1, parameter.options().requires_grad(false))
      .remainder_(100)
      .mul_(factor)
      .view_as(parameter);
}

void bring_gradients(GradientReducer& reducer, const std::vector<at::Tensor>& parameters, Source source,
                     int64_t factor) {
  reducer.zero_gradients();
  reducer.prepare(true);
  const std::vector<at::Tensor> places = reducer.places_for_gradients();
  for (size_t i = parameters.size(); i-- > 0;) {
    const at::Tensor gradient = gradient_like(parameters[i], factor);
    if (source == Source::kAutograd)
      (parameters[i] * gradient).sum().backward();
    else
      reducer.put_gradient(i, source == Source::kPut ? gradient : places[i].copy_(gradient));
  }
}

TEST_CASE("each element is updated by one rank of all hosts, from the sum over all, and then known to all") {
  const auto [communication, hosts, size] = GENERATE(
      table<std::string, int, int>({{"auto", 2, 2}, {"auto", 2, 4}, {"auto", 3, 6}, {"gloo", 1, 3}}));
  const Source source = GENERATE(Source::kAutograd, Source::kPut, Source::kPutInPlace);
  const int64_t bucket_bytes = GENERATE(64, 1024, 1 << 20);
  std::atomic<int64_t> parts = 0, updated = 0;
  std::atomic<int> right = 0;
  with_ranks(
      communication, size,
      [&, size = size](ProcessGroup& group) {
        std::vector<at::Tensor> parameters = parameters_of();
        StepClock clock;
        const auto reducer = group.make_gradient_reducer(
            parameters, {.bucket_bytes = bucket_bytes, .shard_hosts = true}, clock);
        bool all_right = reducer->shards() == size && reducer->sums_early();
        for (const ParameterPart& part : reducer->parts()) parts += part.values.numel();
        const int64_t of_all = size * (size + 1) / 2;
        for (int step = 1; step <= 3; ++step) {
          bring_gradients(*reducer, parameters, source, group.rank() + 1);
          std::vector<size_t> told;
          reducer->finish([&](const std::vector<size_t>& numbers) {
            told.insert(told.end(), numbers.begin(), numbers.end());
            const at::NoGradGuard no_grad;
            for (const size_t number : numbers) {
              const ParameterPart& part = reducer->parts()[number];
              const at::Tensor wanted = gradient_like(parameters[part.parameter], of_all)
                                            .view(-1)
                                            .narrow(0, part.begin, part.values.numel());
              all_right = all_right && at::equal(part.values.grad(), wanted);
              at::Tensor values = part.values;
              values.add_(part.values.grad());
              updated += values.numel();
            }
          });
          std::sort(told.begin(), told.end());
          all_right = all_right && told.size() == reducer->parts().size() &&
                      std::adjacent_find(told.begin(), told.end()) == told.end();
          reducer->share_update();
          for (const at::Tensor& parameter : parameters)
            all_right = all_right && at::equal(parameter, gradient_like(parameter, of_all * step) + 7);
          group.barrier();  // the ranks of a host have one copy: nobody updates what another one looks at
        }
        if (all_right) ++right;
      },
      kPatience, hosts);
  CHECK(right == size);
  CHECK(parts == total_of(parameters_of()));
  CHECK(updated == 3 * parts);
}

TEST_CASE("what the ranks of all hosts remember of their parts is whole on rank 0") {
  const int size = GENERATE(2, 4);
  std::atomic<int> right = 0;
  with_ranks(
      "auto", size,
      [&](ProcessGroup& group) {
        const std::vector<at::Tensor> parameters = parameters_of(at::kDouble);
        StepClock clock;
        const auto reducer =
            group.make_gradient_reducer(parameters, {.bucket_bytes = 512, .shard_hosts = true}, clock);
        bool all_right = true;
        for (int64_t step = 1; step <= 3; ++step) {
          bring_gradients(*reducer, parameters, Source::kPut, step);
          reducer->finish({});
          std::vector<at::Tensor> of_parts;
          for (const ParameterPart& part : reducer->parts())
            of_parts.push_back(gradient_like(parameters[part.parameter], 3 * step)
                                   .view(-1)
                                   .narrow(0, part.begin, part.values.numel())
                                   .clone());
          reducer->share_update();
          std::vector<at::Tensor> whole;
          for (const at::Tensor& parameter : parameters)
            if (group.rank() == 0) whole.push_back(at::empty(parameter.sizes(), at::kDouble));
          for (size_t memory = 0; memory < 2; ++memory) {
            reducer->gather_parts(memory, of_parts, whole);
            for (size_t i = 0; i < whole.size(); ++i)
              all_right = all_right && at::equal(whole[i], gradient_like(parameters[i], 3 * step));
          }
          for (const at::Tensor& parameter : parameters)
            all_right = all_right && at::equal(parameter, at::full_like(parameter, 7));
        }
        if (all_right) ++right;
      },
      kPatience, 2);
  CHECK(right == size);
}

TEST_CASE("hosts send gradients in the type of the wire and sum them in their own") {
  const at::ScalarType wire = GENERATE(at::kBFloat16, at::kHalf);
  std::atomic<int> right = 0;
  with_ranks(
      "auto", 3,
      [&](ProcessGroup& group) {
        const std::vector<at::Tensor> parameters = {at::zeros({300}).requires_grad_()};
        StepClock clock;
        const auto reducer = group.make_gradient_reducer(
            parameters, {.bucket_bytes = 256, .wire_type = wire, .shard_hosts = true}, clock);
        reducer->zero_gradients();
        reducer->prepare(true);
        reducer->put_gradient(0, at::full({300}, 1 + 1.0 / 128));  // which bfloat16 can tell from 1
        reducer->finish({});
        bool all_right = !reducer->parts().empty();
        for (const ParameterPart& part : reducer->parts())  // what the sum could not be in bfloat16
          all_right = all_right && at::equal(part.values.grad(), at::full_like(part.values, 3 + 3.0 / 128));
        if (all_right) ++right;
      },
      kPatience, 3);
  CHECK(right == 3);
}

TEST_CASE("a host that is lost ends the step of the others with an error of its kind") {
  std::atomic<int> lost = 0;
  with_ranks(
      "auto", 4,
      [&](ProcessGroup& group) {
        const std::vector<at::Tensor> parameters = parameters_of();
        StepClock clock;
        const auto reducer =
            group.make_gradient_reducer(parameters, {.bucket_bytes = 512, .shard_hosts = true}, clock);
        if (group.rank() > 1) return;
        try {
          bring_gradients(*reducer, parameters, Source::kPut, 1);
          reducer->finish({});
        } catch (const Error& error) {
          if (error.code() == ExitCode::kPeerLost) ++lost;
        }
      },
      std::chrono::seconds(2), 2);
  CHECK(lost == 2);
}

TEST_CASE("parameters of other types are refused") {
  CHECK_THROWS_WITH(with_ranks(
                        "auto", 2,
                        [](ProcessGroup& group) {
                          StepClock clock;
                          group.make_gradient_reducer({at::ones({4}, at::kBFloat16).requires_grad_()},
                                                      {.shard_hosts = true}, clock);
                        },
                        kPatience, 2),
                    ContainsSubstring("all float32, or all float64"));
}

}  // namespace
}  // namespace dtrain
