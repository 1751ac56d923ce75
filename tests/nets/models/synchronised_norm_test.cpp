#include "models/batch_statistics.h"

#include <ATen/ATen.h>

#include <cmath>

#include "models/tensors.h"

namespace dtrain {
namespace {

// The table of a replica whose only peer is a fixed batch, seen from the first of the two.
at::Tensor with_peer(const at::Tensor& own, const at::Tensor& peer) { return at::stack({own, peer}); }

TEST_CASE("alone it is batch_norm, gradients and all") {
  const std::vector<int64_t> sizes = GENERATE(std::vector<int64_t>{7, 3}, std::vector<int64_t>{4, 3, 5, 2});
  const at::Tensor input = noise(sizes).mul_(3).add_(100);  // far from zero
  const at::Tensor weight = noise({3}, 1), bias = noise({3}, 2), factors = noise(sizes, 3);
  const auto run = [&](bool synchronised) {
    std::vector<at::Tensor> inputs;
    for (const at::Tensor& tensor : {input, weight, bias}) inputs.push_back(tensor.clone().requires_grad_());
    BatchStatistics statistics;
    const at::Tensor output =
        synchronised ? synchronised_norm(
                           inputs[0], inputs[1], inputs[2], 1e-3,
                           [](const at::Tensor& own) { return own.unsqueeze(0); }, statistics)
                     : at::batch_norm(inputs[0], inputs[1], inputs[2], {}, {}, true, 0, 1e-3, false);
    (output * factors).sum().backward();
    return std::vector<at::Tensor>{output.detach(), inputs[0].grad(), inputs[1].grad(), inputs[2].grad()};
  };
  const auto expected = run(false), actual = run(true);
  for (size_t i = 0; i < expected.size(); ++i) CHECK(difference(actual[i], expected[i]) < 1e-11);
}

TEST_CASE("statistics are weighted by the examples of each replica") {
  const at::Tensor mine = tensor({1, 2, 3}, {3, 1});
  const at::Tensor theirs = tensor({1, 10, 0}, {3});  // one example: count, mean, squared deviations
  BatchStatistics statistics;
  const at::Tensor output = synchronised_norm(
      mine, tensor({2}, {1}), tensor({5}, {1}), 0.5,
      [&](const at::Tensor& own) { return with_peer(own, theirs); }, statistics);
  CHECK(statistics.mean.item<double>() == Approx(4).epsilon(1e-15));  // of 1, 2, 3, 10
  CHECK(statistics.variance.item<double>() == Approx(12.5).epsilon(1e-15));
  CHECK(output[0][0].item<double>() == Approx((1 - 4) / std::sqrt(13.0) * 2 + 5).epsilon(1e-15));
}

TEST_CASE("a replica without examples learns the others' statistics and has gradients of zero") {
  const at::Tensor mine = at::empty({0, 1}, at::kDouble).requires_grad_();
  const at::Tensor weight = tensor({2}, {1}).requires_grad_(), bias = tensor({5}, {1}).requires_grad_();
  BatchStatistics statistics;
  const auto gather = [](const at::Tensor& own) {
    return with_peer(own, own.numel() == 3 ? tensor({4, 3, 8}, {3}) : tensor({0.5, 0.25}, {2}));
  };
  synchronised_norm(mine, weight, bias, 0.5, gather, statistics).sum().backward();
  CHECK(statistics.mean.item<double>() == 3);
  CHECK(statistics.variance.item<double>() == 2);
  CHECK(mine.grad().sizes() == mine.sizes());
  CHECK(weight.grad().item<double>() == 0);
  CHECK(bias.grad().item<double>() == 0);
}

TEST_CASE("replicas without any example have statistics of nothing, which are finite, and no gradients") {
  const at::Tensor mine = at::empty({0, 2}, at::kDouble).requires_grad_();
  const at::Tensor weight = tensor({2, 2}, {2}).requires_grad_(), bias = tensor({5, 5}, {2});
  const auto gather = [](const at::Tensor& own) { return with_peer(own, at::zeros_like(own)); };
  BatchStatistics statistics;
  synchronised_norm(mine, weight, bias, 0.5, gather, statistics).sum().backward();
  CHECK(statistics.count.item<double>() == 0);
  CHECK(at::equal(statistics.mean, at::zeros({2}, at::kDouble)));
  CHECK(at::equal(statistics.variance, at::zeros({2}, at::kDouble)));
  CHECK(at::equal(weight.grad(), at::zeros({2}, at::kDouble)));
  std::vector<float> means = {7, 7}, squares = {7, 7};
  CHECK(join_statistics(gather, 2, 0, means.data(), squares.data()) == 0);
  CHECK(means == std::vector<float>{0, 0});
  CHECK(squares == std::vector<float>{0, 0});
}

TEST_CASE("joined statistics of plain numbers are those of all numbers, as near as float32 comes") {
  const at::Tensor all = noise({40, 3}).add_(1000).to(at::kFloat);  // far from zero
  const std::vector<int64_t> sizes =
      GENERATE(std::vector<int64_t>{40}, std::vector<int64_t>{25, 15}, std::vector<int64_t>{1, 0, 39});
  std::vector<at::Tensor> rows, means, squares;
  for (const at::Tensor& part : all.split_with_sizes(sizes)) {
    means.push_back(part.mean(0).contiguous());  // of no numbers: not-a-number
    squares.push_back((part - means.back()).square().sum(0));
    const at::Tensor count = at::full({1}, part.size(0), at::kDouble);
    rows.push_back(at::cat(
        {count, means.back().nan_to_num(0).to(at::kDouble), squares.back().nan_to_num(0).to(at::kDouble)}));
  }
  const at::Tensor exact = all.to(at::kDouble);
  for (size_t rank = 0; rank < sizes.size(); ++rank) {
    const auto gather = [&](const at::Tensor& own) {
      CHECK(at::equal(own, rows[rank]));
      return at::stack(rows);
    };
    CHECK(join_statistics(gather, 3, sizes[rank], means[rank].mutable_data_ptr<float>(),
                          squares[rank].mutable_data_ptr<float>()) == 40);
    CHECK(at::allclose(means[rank].to(at::kDouble), exact.mean(0), 1e-7, 0));
    CHECK(at::allclose(squares[rank].to(at::kDouble), exact.var(0, /*unbiased=*/false), 1e-3, 0));
  }
}

TEST_CASE("joined sums are those of all replicas") {
  std::vector<float> sums = {0.5F, -3, 7};
  join_sums([](const at::Tensor& own) { return with_peer(own, tensor({1, 2, 3}, {3})); }, 3, sums.data());
  CHECK(sums == std::vector<float>{1.5F, -1, 10});
}

}  // namespace
}  // namespace dtrain
