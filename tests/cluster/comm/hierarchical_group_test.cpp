// Ranks of several hosts, which are threads: what is a host is only a matter of who shares memory with whom.
#include "comm/process_group.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <atomic>

#include "catch.h"
#include "comm/group_threads.h"
#include "core/error.h"

namespace dtrain {
namespace {

constexpr std::chrono::seconds kTimeout{20};

TEST_CASE("over hosts all_reduce_sum gives every rank the sum") {
  const auto [hosts, size] = GENERATE(table<int, int>({{2, 4}, {3, 6}, {2, 6}}));
  std::atomic<int> right = 0;
  with_ranks(
      "auto", size,
      [&, size = size](ProcessGroup& group) {
        for (const int64_t count : {1, 1000, 300000}) {  // the last passes through shared memory in chunks
          at::Tensor tensor = at::full({count}, group.rank() + 1.0, at::kDouble);
          group.all_reduce_sum(tensor);
          if (at::equal(tensor, at::full({count}, size * (size + 1) / 2.0, at::kDouble))) ++right;
        }
      },
      kTimeout, hosts);
  CHECK(right == 3 * size);
}

TEST_CASE("over hosts broadcast copies the tensors of any rank") {
  const int root = GENERATE(0, 1, 2, 3, 4, 5);
  std::atomic<int> right = 0;
  with_ranks(
      "auto", 6,
      [&](ProcessGroup& group) {
        const std::vector<at::Tensor> tensors = {at::full({2, 3}, group.rank()),
                                                 at::full({4}, 10.0F * group.rank())};
        group.broadcast(tensors, root);
        if (at::equal(tensors[0], at::full({2, 3}, root)) &&
            at::equal(tensors[1], at::full({4}, 10.0F * root)))
          ++right;
      },
      kTimeout, 3);
  CHECK(right == 6);
}

TEST_CASE("over hosts a barrier returns only when everyone has come") {
  std::atomic<int> arrived = 0;
  std::atomic<int> early = 0;
  with_ranks(
      "auto", 4,
      [&](ProcessGroup& group) {
        for (int round = 1; round <= 20; ++round) {
          ++arrived;
          group.barrier();
          if (arrived < 4 * round) ++early;
          group.barrier();
        }
      },
      kTimeout, 2);
  CHECK(early == 0);
}

TEST_CASE("over hosts gradients are summed over ranks and micro-batches, over many buckets") {
  std::atomic<int> right = 0;
  const std::optional<at::ScalarType> wire_type =
      GENERATE(std::optional<at::ScalarType>(), std::optional(at::kBFloat16), std::optional(at::kHalf));
  with_ranks(
      "auto", 4,
      [&](ProcessGroup& group) {
        std::vector<at::Tensor> parameters;
        for (int i = 0; i < 6; ++i) parameters.push_back(at::ones({100}).requires_grad_());
        StepClock clock;
        const auto reducer =
            group.make_gradient_reducer(parameters, {.bucket_bytes = 512, .wire_type = wire_type}, clock);
        bool all_right = true;
        for (int step = 0; step < 4; ++step) {  // after the first, buckets are rebuilt
          reducer->zero_gradients();
          for (const double factor : {1.0, 10.0}) {
            reducer->prepare(factor == 10.0);
            at::Tensor total = at::zeros({});
            for (const at::Tensor& parameter : parameters)
              total = total + (parameter * (factor * (group.rank() + 1))).sum();
            total.backward();
          }
          std::vector<size_t> told;
          size_t lots = 0;
          reducer->finish([&](const std::vector<size_t>& numbers) {
            ++lots;
            told.insert(told.end(), numbers.begin(), numbers.end());
            // 11 x (1 + 2 + 3 + 4); small enough integers to be exact in every type
            for (const size_t number : numbers) {
              const at::Tensor& values = reducer->parts()[number].values;
              all_right = all_right && at::equal(values.grad(), at::full_like(values, 110.0F));
            }
          });
          std::sort(told.begin(), told.end());
          all_right = all_right && told == std::vector<size_t>{0, 1, 2, 3, 4, 5} && lots > 1;
          reducer->share_update();
        }
        if (all_right) ++right;
      },
      kTimeout, 2);
  CHECK(right == 4);
}

TEST_CASE("over hosts a leader that does not come is an error of its kind on every rank") {
  std::atomic<int> peer_lost = 0;
  with_ranks(
      "auto", 4,
      [&](ProcessGroup& group) {
        if (group.rank() == 2) return;
        at::Tensor tensor = at::ones({3});
        try {
          group.all_reduce_sum(tensor);
        } catch (const Error& error) {
          if (error.code() == ExitCode::kPeerLost) ++peer_lost;
        }
      },
      std::chrono::seconds(2), 2);
  CHECK(peer_lost == 3);
}

TEST_CASE("several hosts have no memory in common") {
  CHECK_THROWS_WITH(with_ranks(
                        "shared_memory", 4, [](ProcessGroup&) {}, kTimeout, 2),
                    ContainsSubstring("this job spans several"));
  std::atomic<int> refused = 0;
  with_ranks(
      "auto", 4,
      [&](ProcessGroup& group) {
        StepClock clock;
        try {
          group.make_gradient_reducer({at::ones({4}).requires_grad_()}, {.placement = Placement::kShared},
                                      clock);
        } catch (const Error&) {
          ++refused;
        }
        group.barrier();  // nobody leaves while others are still connecting
      },
      kTimeout, 2);
  CHECK(refused == 4);
}

}  // namespace
}  // namespace dtrain
