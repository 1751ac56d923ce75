// Sums over virtual replicas: the same bits whoever computes which of them.
#include "comm/replica_tree.h"

#include <ATen/ATen.h>

#include <atomic>
#include <future>
#include <mutex>

#include "catch.h"
#include "comm/group_threads.h"

namespace dtrain {
namespace {

constexpr int64_t kRowNumbers = 5;

// Each of its sums is rounded.
at::Tensor numbers_of(int64_t replica, int64_t count, at::ScalarType type) {
  at::Tensor numbers = at::arange(count, at::kDouble);
  return (numbers * 0.37 + static_cast<double>(replica) * 1.1).sin().div(3).to(type);
}

at::Tensor rows_of(int64_t replicas, int64_t count, at::ScalarType type) {
  std::vector<at::Tensor> rows;
  for (int64_t i = 0; i < replicas; ++i) rows.push_back(numbers_of(i, count, type));
  return at::stack(rows);
}

TEST_CASE("the tree is that of the largest powers of two") {
  using Nodes = std::vector<Range>;
  CHECK((largest_nodes({0, 8}, 8) == Nodes{{0, 8}}));
  CHECK((largest_nodes({0, 3}, 8) == Nodes{{0, 2}, {2, 3}}));
  CHECK((largest_nodes({3, 6}, 8) == Nodes{{3, 4}, {4, 6}}));
  CHECK((largest_nodes({1, 7}, 8) == Nodes{{1, 2}, {2, 4}, {4, 6}, {6, 7}}));
  CHECK((largest_nodes({4, 7}, 7) == Nodes{{4, 7}}));  // 7 = 4 + (2 + 1)
  CHECK(largest_nodes({2, 2}, 7).empty());
  const at::Tensor rows = at::tensor({1e8F, 3.0F, -1e8F, 4.0F, 5.0F}, at::kFloat).view({5, 1});
  CHECK(sum_of_rows(rows).item<float>() == ((1e8F + 3) + (-1e8F + 4)) + 5);
  CHECK(sum_of_rows(rows.narrow(0, 0, 1)).item<float>() == 1e8F);
}

TEST_CASE("what a rank adds up, one replica after the other, are the sums of its largest nodes") {
  for (int64_t count = 1; count <= 20; ++count) {
    const at::Tensor rows = rows_of(count, 3, at::kFloat);
    for (int64_t begin = 0; begin < count; ++begin) {
      for (int64_t end = begin + 1; end <= count; ++end) {
        const ReplicaAdder adder({count, {begin, end}});
        std::vector<at::Tensor> places(adder.places());
        REQUIRE(std::ssize(adder.steps()) == end - begin);
        for (int64_t i = begin; i < end; ++i) {
          const ReplicaAdder::Step& step = adder.steps()[static_cast<size_t>(i - begin)];
          at::Tensor& place = places[step.place];
          place = step.adds ? place + rows[i] : rows[i].clone();
          for (const auto& [to, from] : step.then) places[to].add_(places[from]);
        }
        std::vector<NodeSum> sums;
        for (size_t i = 0; i < adder.nodes().size(); ++i) {
          const Range node = adder.nodes()[i];
          std::vector<NodeSum> leaves;
          for (int64_t leaf = node.begin; leaf < node.end; ++leaf)
            leaves.push_back({{leaf, leaf + 1}, static_cast<const std::byte*>(rows[leaf].const_data_ptr())});
          at::Tensor expected = at::empty({3});
          sum_nodes(at::kFloat, node, leaves, static_cast<std::byte*>(expected.mutable_data_ptr()), 3);
          CHECK(at::equal(places[i], expected));
        }
      }
    }
  }
}

TEST_CASE("nodes give the bits of the rows, whichever nodes they are, also in place") {
  const int64_t count = GENERATE(1, 2, 3, 5, 8, 13);
  const at::ScalarType type = GENERATE(at::kFloat, at::kDouble);
  const int64_t numbers = 2500;  // several blocks and a rest
  const at::Tensor rows = rows_of(count, numbers, type);
  const at::Tensor expected = sum_of_rows(rows);
  for (int64_t ranks = 1; ranks <= count; ++ranks) {
    std::vector<at::Tensor> kept;
    std::vector<NodeSum> sums;
    for (int64_t rank = 0; rank < ranks; ++rank) {
      for (const Range node : largest_nodes(share_of({0, count}, rank, ranks), count)) {
        kept.push_back(at::empty({numbers}, type));
        std::vector<NodeSum> leaves;
        for (int64_t leaf = node.begin; leaf < node.end; ++leaf)
          leaves.push_back({{leaf, leaf + 1}, static_cast<const std::byte*>(rows[leaf].const_data_ptr())});
        auto* const out = static_cast<std::byte*>(kept.back().mutable_data_ptr());
        sum_nodes(type, node, leaves, out, static_cast<size_t>(numbers));
        sums.push_back({node, out});
      }
    }
    sum_nodes(type, {0, count}, sums, static_cast<std::byte*>(kept[0].mutable_data_ptr()),
              static_cast<size_t>(numbers));
    CHECK(at::equal(kept[0], expected));
  }
}

// The weights after two steps of a reducer: each subtracts the sum of the gradients.
std::vector<at::Tensor> train(const std::string& communication, int ranks, int hosts, int64_t replicas,
                              at::ScalarType type, Placement placement) {
  const std::vector<std::vector<int64_t>> shapes = {{300, 70}, {5}, {8192}, {3, 8191}};
  std::vector<at::Tensor> first;
  std::mutex mutex;
  with_ranks(
      communication, ranks,
      [&](ProcessGroup& group) {
        std::vector<at::Tensor> parameters;
        for (const auto& shape : shapes) parameters.push_back(at::ones(shape, type).requires_grad_());
        StepClock clock;
        ReducerOptions options;
        options.placement = placement;
        options.virtual_replicas = replicas;
        options.row_numbers = kRowNumbers;
        const auto reducer = group.make_gradient_reducer(parameters, options, clock);
        const Range own = share_of({0, replicas}, group.rank(), ranks);
        const std::vector<at::Tensor> places = reducer->places_for_gradients();
        for (int step = 0; step < 2; ++step) {
          for (int64_t replica = own.begin; replica < own.end; ++replica) {
            reducer->zero_gradients();
            reducer->prepare(true);
            for (size_t i = parameters.size(); i-- > 0;) {
              const at::Tensor gradient =
                  numbers_of(replica + 100 * step, parameters[i].numel(), type).view_as(parameters[i]);
              places[i].copy_(gradient);
              reducer->put_gradient(i, step == 0 ? places[i] : gradient);  // in place, and elsewhere
            }
            reducer->rows()[replica].copy_(numbers_of(replica + 100 * step, kRowNumbers, at::kDouble));
            reducer->end_replica();
          }
          reducer->finish({});
          const at::Tensor rows = rows_of(replicas + 100 * step, kRowNumbers, at::kDouble);
          if (!at::equal(reducer->rows(), rows.narrow(0, 100 * step, replicas)))
            throw std::runtime_error("rows did not arrive");
          const at::NoGradGuard no_grad;
          for (const ParameterPart& part : reducer->parts()) at::Tensor(part.values).sub_(part.values.grad());
          reducer->share_update();
        }
        const at::NoGradGuard no_grad;
        std::vector<at::Tensor> copies;
        for (const at::Tensor& parameter : parameters) copies.push_back(parameter.detach().clone());
        group.barrier();
        const std::lock_guard lock(mutex);
        if (first.empty()) first = copies;
        for (size_t i = 0; i < copies.size(); ++i) {
          if (!at::equal(first[i], copies[i])) throw std::runtime_error("the ranks differ");
        }
      },
      std::chrono::seconds(20), hosts);
  return first;
}

TEST_CASE("any number of ranks trains the same weights, in shared memory, over gloo and over hosts") {
  const int64_t replicas = GENERATE(1, 2, 7, 8);
  const at::ScalarType type = GENERATE(at::kFloat, at::kDouble);
  const std::vector<at::Tensor> alone = train("auto", 1, 1, replicas, type, Placement::kCopies);
  // Of sums in an order of their own, the last bits would differ.
  at::Tensor plain = at::ones({300, 70}, type);
  for (int step = 0; step < 2; ++step)
    plain.sub_(sum_of_rows(rows_of(replicas + 100 * step, 300 * 70, type).narrow(0, 100 * step, replicas))
                   .view({300, 70}));
  CHECK(at::equal(alone[0], plain));
  const auto require_same = [&](const std::vector<at::Tensor>& weights) {
    REQUIRE(weights.size() == alone.size());
    for (size_t i = 0; i < alone.size(); ++i) CHECK(at::equal(weights[i], alone[i]));
  };
  for (const int ranks : {2, 3, 4, 7}) {
    if (ranks > replicas) continue;
    INFO(ranks << " ranks for " << replicas);
    require_same(train("shared_memory", ranks, 1, replicas, type, Placement::kCopies));
    require_same(train("shared_memory", ranks, 1, replicas, type, Placement::kShared));
    require_same(train("gloo", ranks, 1, replicas, type, Placement::kCopies));
    require_same(train("auto", ranks, ranks, replicas, type, Placement::kCopies));
  }
  if (replicas < 6) return;
  require_same(train("auto", 4, 2, replicas, type, Placement::kCopies));
  require_same(train("auto", 6, 2, replicas, type, Placement::kCopies));
  require_same(train("auto", 6, 3, replicas, type, Placement::kCopies));
}

TEST_CASE("who comes too late for a step finds it lost, and nobody has updated anything") {
  std::atomic<int> lost = 0, gathered = 0;
  std::promise<void> given_up;
  with_ranks(
      "shared_memory", 3,
      [&](ProcessGroup& group) {
        const at::Tensor parameter = at::ones({20000}).requires_grad_();
        StepClock clock;
        const auto reducer = group.make_gradient_reducer({parameter}, {.virtual_replicas = 3}, clock);
        std::vector<at::Tensor> memory;
        for (const ParameterPart& part : reducer->parts())
          memory.push_back(at::full_like(part.values.detach(), group.rank() + 5.0));
        reducer->share_memories({memory});
        group.barrier();
        if (group.rank() == 2) given_up.get_future().wait_for(std::chrono::seconds(20));
        reducer->zero_gradients();
        reducer->prepare(true);
        reducer->put_gradient(0, at::ones({20000}));
        reducer->end_replica();
        try {
          reducer->finish({});
          return;
        } catch (const StepLost&) {
        }
        if (group.rank() == 0) {  // of all, without any of the others
          const at::Tensor whole = at::zeros({20000});
          reducer->gather_parts(0, memory, {whole});
          const auto [values, counts] = at::_unique(whole);
          gathered = static_cast<int>(values.numel());
          given_up.set_value();
        }
        if (at::equal(parameter.detach(), at::ones({20000}))) ++lost;
      },
      std::chrono::seconds(2));
  CHECK(lost == 3);
  CHECK(gathered == 3);
}

TEST_CASE("a step is lost with a peer that is missed before it, too") {
  std::atomic<int> lost = 0;
  with_ranks(
      "shared_memory", 3,
      [&](ProcessGroup& group) {
        const at::Tensor parameter = at::ones({20}).requires_grad_();
        StepClock clock;
        const auto reducer = group.make_gradient_reducer({parameter}, {.virtual_replicas = 3}, clock);
        if (group.rank() == 2) return;
        try {
          group.barrier();
        } catch (const Error& missed) {
          try {
            reducer->lose_step(missed.what());
          } catch (const StepLost&) {
            if (reducer->has_lost_step()) ++lost;
          }
        }
      },
      std::chrono::seconds(2));
  CHECK(lost == 2);
}

TEST_CASE("all ranks of a host learn that a step is lost with another host") {
  std::atomic<int> lost = 0;
  with_ranks(
      "auto", 4,
      [&](ProcessGroup& group) {
        const std::vector<at::Tensor> parameters = {at::ones({20}).requires_grad_()};
        StepClock clock;
        const auto reducer = group.make_gradient_reducer(parameters, {.virtual_replicas = 4}, clock);
        if (group.rank() >= 2) return;  // their sockets close
        reducer->zero_gradients();
        reducer->prepare(true);
        reducer->put_gradient(0, at::ones({20}));
        reducer->end_replica();
        try {
          reducer->finish({});
          return;
        } catch (const StepLost&) {
        }
        std::vector<at::Tensor> own, whole;
        for (const ParameterPart& part : reducer->parts()) own.push_back(part.values.detach() + group.rank());
        if (group.rank() == 0) whole.push_back(at::zeros({20}));
        reducer->gather_parts(0, own, whole);
        if (!at::equal(parameters[0].detach(), at::ones({20}))) return;
        ++lost;
      },
      std::chrono::seconds(20), 2);
  CHECK(lost == 2);
}

}  // namespace
}  // namespace dtrain
