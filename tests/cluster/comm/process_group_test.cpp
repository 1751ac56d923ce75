#include "comm/process_group.h"

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>

#include <atomic>

#include "catch.h"
#include "comm/group_threads.h"
#include "core/error.h"

namespace dtrain {
namespace {

TEST_CASE("all_reduce_sum gives every rank the sum") {
  const std::string communication = GENERATE("gloo", "shared_memory");
  const int size = GENERATE(2, 3, 4);
  std::atomic<int> right = 0;
  with_ranks(communication, size, [&](ProcessGroup& group) {
    at::Tensor tensor = at::full({5}, group.rank() + 1.0, at::kDouble);
    group.all_reduce_sum(tensor);
    if (at::equal(tensor, at::full({5}, size * (size + 1) / 2.0, at::kDouble))) ++right;
  });
  CHECK(right == size);
}

TEST_CASE("broadcast copies the root's tensors, of mixed shapes") {
  const std::string communication = GENERATE("gloo", "shared_memory");
  std::atomic<int> right = 0;
  with_ranks(communication, 3, [&](ProcessGroup& group) {
    const std::vector<at::Tensor> tensors = {at::full({2, 3}, group.rank()),
                                             at::full({4}, 10.0F * group.rank())};
    group.broadcast(tensors, 1);
    if (at::equal(tensors[0], at::full({2, 3}, 1)) && at::equal(tensors[1], at::full({4}, 10.0F))) ++right;
  });
  CHECK(right == 3);
}

TEST_CASE("a barrier returns only when everyone has come") {
  const std::string communication = GENERATE("gloo", "shared_memory");
  std::atomic<int> arrived = 0;
  std::atomic<int> early = 0;
  with_ranks(communication, 3, [&](ProcessGroup& group) {
    for (int round = 1; round <= 20; ++round) {
      ++arrived;
      group.barrier();
      if (arrived < 3 * round) ++early;
      group.barrier();
    }
  });
  CHECK(early == 0);
}

TEST_CASE("a group of one does nothing and has rank 0") {
  const auto group = make_single_group();
  at::Tensor tensor = at::ones({3});
  group->all_reduce_sum(tensor);
  group->broadcast({tensor}, 0);
  group->barrier();
  CHECK(group->rank() == 0);
  CHECK(group->size() == 1);
  CHECK(at::equal(tensor, at::ones({3})));
}

TEST_CASE("a peer that does not come to a collective is an error of its kind, within the timeout") {
  const std::string communication = GENERATE("gloo", "shared_memory");
  std::atomic<int> peer_lost = 0;
  with_ranks(
      communication, 2,
      [&](ProcessGroup& group) {
        group.barrier();                // both have met
        if (group.rank() == 1) return;  // leaves: its connections close
        at::Tensor tensor = at::ones({3});
        try {
          group.all_reduce_sum(tensor);
        } catch (const Error& error) {
          if (error.code() == ExitCode::kPeerLost) ++peer_lost;
        }
      },
      std::chrono::seconds(2));  // which bounds their meeting, too
  CHECK(peer_lost == 1);
}

TEST_CASE("a peer that never appears is an error of its kind") {
  const std::string communication = GENERATE("gloo", "shared_memory");
  const auto store = c10::make_intrusive<c10d::HashStore>();
  try {
    make_group(communication, store, 0, 2, std::chrono::milliseconds(300));
    FAIL("nobody was there to meet");
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::kPeerLost);
    CHECK_THAT(std::string(error.what()), ContainsSubstring("rank 0") && ContainsSubstring("1 others"));
  }
}

at::Tensor random_tensor(const std::vector<int64_t>& shape, at::ScalarType type, int seed) {
  at::Generator generator = at::make_generator<at::CPUGeneratorImpl>(static_cast<uint64_t>(seed));
  return at::randint(0, 9, shape, generator, at::TensorOptions().dtype(at::kFloat)).to(type);
}

TEST_CASE("shared memory sums exactly over types, sizes and numbers of ranks") {
  // Small integers: exact in every type, so that the order of summation does not matter. The sizes surround
  // the chunk.
  const at::ScalarType type =
      GENERATE(at::kFloat, at::kDouble, at::kBFloat16, at::kHalf, at::kInt, at::kLong, at::kByte);
  const int size = GENERATE(2, 3, 5);
  const int64_t bytes = GENERATE(0, 1, 63, 64, 1000, (512 << 10) - 8, 512 << 10, (512 << 10) + 8, 3 << 20);
  const int64_t count = bytes / static_cast<int64_t>(at::elementSize(type));
  std::atomic<int> right = 0;
  with_ranks("shared_memory", size, [&](ProcessGroup& group) {
    at::Tensor expected = at::zeros({count}, type);
    for (int rank = 0; rank < size; ++rank) expected += random_tensor({count}, type, rank);
    at::Tensor tensor = random_tensor({count}, type, group.rank());
    group.all_reduce_sum(tensor);
    if (at::equal(tensor, expected)) ++right;
  });
  CHECK(right == size);
}

TEST_CASE("shared memory refuses what it cannot sum or send") {
  std::atomic<int> refused = 0;
  with_ranks("shared_memory", 2, [&](ProcessGroup& group) {
    at::Tensor transposed = at::zeros({4, 3}).t();
    at::Tensor complex = at::zeros({4}, at::kComplexFloat);
    for (at::Tensor* tensor : {&transposed, &complex}) {
      try {
        group.all_reduce_sum(*tensor);
      } catch (const Error& error) {
        if (error.code() == ExitCode::kBug) ++refused;
      }
    }
  });
  CHECK(refused == 4);
}

TEST_CASE("waiting is announced before it begins") {
  const std::string communication = GENERATE("gloo", "shared_memory");
  std::atomic<int> announced = 0;
  with_ranks(communication, 2, [&](ProcessGroup& group) {
    group.set_on_wait([&] { ++announced; });
    at::Tensor tensor = at::ones({1});
    group.all_reduce_sum(tensor);
    group.barrier();
  });
  CHECK(announced == 4);
}

TEST_CASE("over shared memory every element is updated by one rank, and all see it") {
  const Placement placement = GENERATE(Placement::kCopies, Placement::kShared);
  const int size = GENERATE(2, 3, 5);
  const std::vector<int64_t> lengths = {1, 300, 17, 64, 5};
  std::atomic<int64_t> updated = 0;
  std::atomic<int> right = 0;
  with_ranks("shared_memory", size, [&](ProcessGroup& group) {
    std::vector<at::Tensor> parameters;
    for (const int64_t length : lengths) {
      parameters.push_back(at::full({length}, 7.0, at::kDouble).requires_grad_());
    }
    StepClock clock;
    const auto reducer = group.make_gradient_reducer(parameters, {.placement = placement}, clock);
    bool all_right = true;
    for (int step = 1; step <= 3; ++step) {
      reducer->zero_gradients();
      reducer->prepare(true);
      at::Tensor objective = at::zeros({}, at::kDouble);
      for (const at::Tensor& parameter : parameters) objective = objective + parameter.sum();
      if (group.rank() > 0) objective.backward();  // rank 0 has no gradients at all
      reducer->finish({});
      for (const ParameterPart& part : reducer->parts()) {
        const at::NoGradGuard no_grad;
        updated += part.values.numel();
        at::Tensor values = part.values;
        values.sub_(part.values.grad());
      }
      reducer->share_update();
      for (const at::Tensor& parameter : parameters) {
        all_right = all_right && at::equal(parameter, at::full_like(parameter, 7.0 - step * (size - 1)));
      }
      group.barrier();  // with one copy, the next update must not begin before all have looked
    }
    if (all_right) ++right;
  });
  CHECK(right == size);
  CHECK(updated == 3 * (1 + 300 + 17 + 64 + 5));
}

TEST_CASE("gradients are summed over ranks, in the places that the reducer has for them and in others") {
  const Placement placement = GENERATE(Placement::kCopies, Placement::kShared);
  const bool in_place = GENERATE(true, false);
  std::atomic<int> right = 0;
  with_ranks("shared_memory", 3, [&](ProcessGroup& group) {
    const std::vector<at::Tensor> parameters = {at::ones({5}).requires_grad_(),
                                                at::ones({40, 7}).requires_grad_()};
    StepClock clock;
    const auto reducer = group.make_gradient_reducer(parameters, {.placement = placement}, clock);
    std::vector<at::Tensor> gradients = reducer->places_for_gradients();
    bool all_right = gradients.size() == parameters.size();
    for (size_t i = 0; all_right && i < parameters.size(); ++i) {
      all_right = gradients[i].sizes() == parameters[i].sizes();
      if (!in_place) gradients[i] = gradients[i].clone();
    }
    for (int step = 1; step <= 3; ++step) {
      reducer->zero_gradients();
      reducer->prepare(true);
      for (size_t i = parameters.size(); i-- > 0;) {
        gradients[i].fill_(step * (1 + group.rank()));
        reducer->put_gradient(i, gradients[i]);
      }
      reducer->finish({});
      for (const ParameterPart& part : reducer->parts())
        all_right = all_right && at::equal(part.values.grad(), at::full_like(part.values, 6.0F * step));
      reducer->share_update();
    }
    if (all_right) ++right;
  });
  CHECK(right == 3);
}

TEST_CASE("what the ranks have for their parts is whole on rank 0, and the steps around it stay right") {
  const auto [communication, where] =
      GENERATE(table<std::string, Placement>({{"shared_memory", Placement::kCopies},
                                              {"shared_memory", Placement::kShared},
                                              {"gloo", Placement::kCopies}}));
  const Placement placement = where;
  std::atomic<int> right = 0;
  with_ranks(communication, 3, [&](ProcessGroup& group) {
    const std::vector<at::Tensor> parameters = {at::zeros({5}).requires_grad_(),
                                                at::zeros({40, 7}).requires_grad_()};
    StepClock clock;
    const auto reducer = group.make_gradient_reducer(parameters, {.placement = placement}, clock);
    bool all_right = true;
    for (int step = 1; step <= 3; ++step) {
      reducer->zero_gradients();
      reducer->prepare(true);
      (parameters[0].sum() + parameters[1].sum()).backward();
      reducer->finish({});
      std::vector<at::Tensor> of_parts;
      for (const ParameterPart& part : reducer->parts()) {
        all_right = all_right && at::equal(part.values.grad(), at::full_like(part.values, 3.0F));
        const int64_t last = part.begin + part.values.numel();
        of_parts.push_back(at::arange(part.begin, last, at::kFloat).view_as(part.values).mul_(step));
      }
      reducer->share_update();
      std::vector<at::Tensor> whole;
      for (const at::Tensor& parameter : parameters)
        if (group.rank() == 0) whole.push_back(at::empty(parameter.sizes()));
      reducer->gather_parts(0, of_parts, whole);
      for (const at::Tensor& tensor : whole) {
        const at::Tensor wanted = at::arange(tensor.numel(), at::kFloat).view_as(tensor).mul_(step);
        all_right = all_right && at::equal(tensor, wanted);
      }
    }
    if (all_right) ++right;
  });
  CHECK(right == 3);
}

TEST_CASE("one copy of the parameters is one memory, with the values of rank 0") {
  std::atomic<int> right = 0;
  with_ranks("shared_memory", 2, [&](ProcessGroup& group) {
    const std::vector<at::Tensor> parameters = {at::full({4}, 1.0F + group.rank()).requires_grad_()};
    StepClock clock;
    const auto reducer = group.make_gradient_reducer(parameters, {.placement = Placement::kShared}, clock);
    const bool first = at::equal(parameters[0], at::ones({4}));
    group.barrier();
    if (group.rank() == 1) parameters[0].data_ptr<float>()[2] = 5;
    group.barrier();
    if (first && parameters[0].data_ptr<float>()[2] == 5) ++right;
  });
  CHECK(right == 2);
}

TEST_CASE("the gradient reducer sums over ranks and micro-batches, over many buckets") {
  const std::string communication = GENERATE("gloo", "shared_memory");
  std::atomic<int> right = 0;
  with_ranks(communication, 2, [&](ProcessGroup& group) {
    std::vector<at::Tensor> parameters;
    for (int i = 0; i < 6; ++i) parameters.push_back(at::ones({100}).requires_grad_());
    StepClock clock;
    const auto reducer = group.make_gradient_reducer(parameters, {.bucket_bytes = 512}, clock);
    const auto backward = [&](double factor) {
      at::Tensor total = at::zeros({});
      for (const at::Tensor& parameter : parameters) total = total + (parameter * factor).sum();
      total.backward();
    };
    bool all_right = true;
    for (int step = 0; step < 3; ++step) {  // after the first, buckets are rebuilt
      reducer->zero_gradients();
      reducer->prepare(false);
      backward(1.0 + group.rank());
      reducer->prepare(true);
      backward(10.0 * (1 + group.rank()));
      std::vector<int> told(reducer->parts().size());
      reducer->finish([&](const std::vector<size_t>& numbers) {
        for (const size_t number : numbers) {
          ++told[number];
          const at::Tensor& values = reducer->parts()[number].values;
          all_right = all_right && at::equal(values.grad(), at::full_like(values, 33.0F));
        }
      });
      all_right = all_right && told == std::vector<int>(told.size(), 1);
      reducer->share_update();
    }
    if (all_right) ++right;
  });
  CHECK(right == 2);
}

}  // namespace
}  // namespace dtrain
