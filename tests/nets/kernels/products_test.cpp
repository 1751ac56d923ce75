// Matrix products, transposes and dense layers against float64, with every kind of instructions.
#include "kernels/products.h"

#include <ATen/Parallel.h>

#include <array>
#include <cmath>
#include <limits>

#include "catch.h"
#include "kernels/dense.h"
#include "kernels/matrices.h"
#include "kernels/panel_products.h"
#include "kernels/transpose.h"

namespace dtrain {
namespace {

constexpr double kTolerance = 1e-5;

float* data_of(at::Tensor& tensor) { return tensor.mutable_data_ptr<float>(); }
const float* data_of(const at::Tensor& tensor) { return tensor.const_data_ptr<float>(); }

TEST_CASE("products agree with float64 at odd and empty sizes, replaced and added to") {
  const OnlyUse only(GENERATE(from_range(available_instructions())));
  for (const auto& [m, n, k] : std::vector<std::tuple<int64_t, int64_t, int64_t>>{{1, 1, 1},
                                                                                  {1, 10, 128},
                                                                                  {64, 256, 784},
                                                                                  {33, 17, 401},
                                                                                  {5, 300, 7},
                                                                                  {3, 2, 0},
                                                                                  {0, 4, 4},
                                                                                  {4, 0, 4}}) {
    INFO(to_string(instructions()) << ": " << m << " x " << n << " x " << k);
    const at::Tensor a = random_matrix(m, k, 1), b = random_matrix(k, n, 2), before = random_matrix(m, n, 3);
    const at::Tensor exact = at::mm(a.to(at::kDouble), b.to(at::kDouble));
    at::Tensor product = at::full({m, n}, std::numeric_limits<float>::quiet_NaN());  // is not read
    multiply(m, n, k, data_of(a), data_of(b), data_of(product), /*adds=*/false);
    CHECK(relative_error(product, exact) < kTolerance);
    at::Tensor sum = before.clone();
    multiply(m, n, k, data_of(a), data_of(b), data_of(sum), /*adds=*/true);
    CHECK(relative_error(sum, exact + before) < kTolerance);
  }
}

at::Tensor product_of(const at::Tensor& a, const at::Tensor& b, int threads) {
  const WithThreads with_threads(threads);
  at::Tensor product = at::empty({a.size(0), b.size(1)});
  multiply(a.size(0), b.size(1), a.size(1), data_of(a), data_of(b), data_of(product), /*adds=*/false);
  return product;
}

// The same numbers, a little further on in memory.
at::Tensor shifted(const at::Tensor& matrix, int64_t by) {
  const at::Tensor memory = at::empty({matrix.numel() + by});
  return memory.narrow(0, by, matrix.numel()).view(matrix.sizes()).copy_(matrix);
}

// Among them such as are cut by rows and by columns, with rests.
const std::vector<std::array<int64_t, 3>> kSizes = {{1, 92, 450},   {2, 278, 354},   {253, 7, 208},
                                                    {64, 256, 128}, {200, 300, 500}, {128, 64, 256},
                                                    {64, 1040, 33}, {333, 65, 64},   {10, 3000, 64}};

TEST_CASE("the number of threads changes no bit of a product, nor does where its matrices lie") {
  const OnlyUse only(GENERATE(from_range(available_instructions())));
  for (const auto& [m, n, k] : kSizes) {
    INFO(to_string(instructions()) << ": " << m << " x " << n << " x " << k);
    const at::Tensor a = random_matrix(m, k, 1), b = random_matrix(k, n, 2);
    const at::Tensor alone = product_of(a, b, 1);
    CHECK(relative_error(alone, at::mm(a.to(at::kDouble), b.to(at::kDouble))) < kTolerance);
    for (const int threads : {1, 2, 3, 5}) CHECK(at::equal(product_of(a, b, threads), alone));
    for (const int64_t by : {1, 7, 12}) {
      CHECK(at::equal(product_of(shifted(a, by), shifted(b, 15 - by), 2), alone));
      const at::Tensor sum = at::ones({m, n}), elsewhere = shifted(sum, by);
      multiply(m, n, k, data_of(a), data_of(b), sum.mutable_data_ptr<float>(), /*adds=*/true);
      multiply(m, n, k, data_of(a), data_of(b), elsewhere.mutable_data_ptr<float>(), /*adds=*/true);
      CHECK(at::equal(sum, elsewhere));
    }
  }
}

TEST_CASE("the number of threads changes no bit of several products at once") {
  const OnlyUse only(GENERATE(from_range(available_instructions())));
  const int64_t count = 5, m = GENERATE(64, 7), n = GENERATE(256, 3), k = 129;
  const at::Tensor a = random_matrix(count * m, k, 1), b = random_matrix(count * k, n, 2);
  at::Tensor scratch = at::empty({m * k});
  const auto products = [&](int threads, bool transposed) {
    const WithThreads with_threads(threads);
    at::Tensor c = at::ones({count, m, n});
    if (transposed) {
      multiply_each_transposed(count, m, n, k, data_of(a), data_of(b), data_of(c), true, data_of(scratch));
    } else {
      multiply_each(count, m, n, k, data_of(a), data_of(b), data_of(c), true);
    }
    return c;
  };
  const at::Tensor b64 = b.to(at::kDouble).view({count, k, n});
  for (const bool transposed : {false, true}) {
    INFO(to_string(instructions()) << ": " << m << " x " << n << (transposed ? ", transposed" : ""));
    const at::Tensor a64 = a.to(at::kDouble);
    const at::Tensor left = transposed ? a64.view({count, k, m}).transpose(1, 2) : a64.view({count, m, k});
    const at::Tensor alone = products(1, transposed);
    CHECK(relative_error(alone, at::bmm(left, b64) + 1) < kTolerance);
    CHECK(at::equal(products(3, transposed), alone));
  }
}

TEST_CASE("the other rows of a product change no bit of a row") {
  const OnlyUse only(GENERATE(from_range(available_instructions())));
  const at::Tensor a = random_matrix(200, 500, 1), b = random_matrix(500, 300, 2);
  CHECK(at::equal(product_of(a.narrow(0, 0, 3), b, 1), product_of(a, b, 1).narrow(0, 0, 3)));
}

// The product of panels, of [m, k] and [k, n]; either may be a view of its transpose.
at::Tensor panels_of(const at::Tensor& a, const at::Tensor& b, const at::Tensor& before, bool adds,
                     int threads) {
  const WithThreads with_threads(threads);
  const auto factor = [](const at::Tensor& matrix) {
    return Factor{matrix.const_data_ptr<float>(), matrix.stride(0), matrix.stride(1)};
  };
  at::Tensor product = before.clone();
  multiply_panels(a.size(0), b.size(1), a.size(1), factor(a), factor(b), data_of(product), adds);
  return product;
}

at::Tensor random_factor(int64_t rows, int64_t columns, bool transposed, uint64_t seed) {
  return transposed ? random_matrix(columns, rows, seed).t() : random_matrix(rows, columns, seed);
}

// Every rest of a tile's rows and columns and of k, several blocks of each, and products that are computed
// the other way around.
std::vector<std::array<int64_t, 3>> sizes_of_panels() {
  std::vector<std::array<int64_t, 3>> sizes = {{200, 50, 600}, {400, 70, 33},   {7, 600, 300},  {3, 1100, 90},
                                               {90, 3, 1100},  {64, 256, 784},  {256, 784, 64}, {64, 10, 128},
                                               {10, 128, 64},  {130, 520, 257}, {1, 500, 70},   {500, 1, 70},
                                               {9, 9, 0},      {0, 5, 3},       {5, 0, 3}};
  for (int64_t i = 1; i <= 20; ++i) {
    sizes.push_back({i, 21 - i, 3 * i % 17 + 1});
    sizes.push_back({i, 16, 8});
    sizes.push_back({24, i, 9});
    sizes.push_back({13, 37, i});
  }
  return sizes;
}

TEST_CASE("panels multiply matrices and transposes of any size, with the same bits for any threads") {
  const OnlyUse only(GENERATE(from_range(available_instructions())));
  for (const auto& [m, n, k] : sizes_of_panels()) {
    const at::Tensor before = random_matrix(m, n, 3), unset = at::full_like(before, std::nan(""));
    for (const int transposed : {0, 1, 2, 3}) {
      INFO(to_string(instructions()) << ": " << m << " x " << n << " x " << k << ", " << transposed);
      const at::Tensor a = random_factor(m, k, transposed % 2 == 1, 1),
                       b = random_factor(k, n, transposed / 2 == 1, 2);
      const at::Tensor exact = at::mm(a.to(at::kDouble), b.to(at::kDouble));
      const at::Tensor product = panels_of(a, b, unset, /*adds=*/false, 1);
      const at::Tensor sum = panels_of(a, b, before, /*adds=*/true, 1);
      CHECK(relative_error(product, exact) < kTolerance);
      CHECK(relative_error(sum, exact + before) < kTolerance);
      for (const int threads : {2, 3}) {
        CHECK(at::equal(panels_of(a, b, unset, /*adds=*/false, threads), product));
        CHECK(at::equal(panels_of(a, b, before, /*adds=*/true, threads), sum));
      }
      // Copied, transposed and direct factors are summed in one order.
      CHECK(at::equal(panels_of(a.contiguous(), b.contiguous(), unset, /*adds=*/false, 1), product));
    }
  }
}

TEST_CASE("not-a-number and infinity reach every number of a product that they belong to, and no other") {
  const OnlyUse only(GENERATE(from_range(available_instructions())));
  at::Tensor a = random_matrix(20, 300, 1);
  const at::Tensor b = random_matrix(300, 40, 2).abs_();
  a[7][299] = std::numeric_limits<float>::quiet_NaN();
  a[9][0] = std::numeric_limits<float>::infinity();
  at::Tensor product = at::empty({20, 40});
  multiply(20, 40, 300, data_of(a), data_of(b), data_of(product), /*adds=*/false);
  CHECK(product[7].isnan().all().item<bool>());
  CHECK(product[9].isinf().all().item<bool>());
  CHECK(product.isfinite().sum().item<int64_t>() == 18 * 40);
}

TEST_CASE("a transpose moves every bit to its place, at odd and empty sizes, with several threads") {
  const OnlyUse only(GENERATE(from_range(available_instructions())));
  const int before = at::get_num_threads();
  at::set_num_threads(3);
  for (const auto& [rows, columns] : std::vector<std::pair<int64_t, int64_t>>{{16, 16},
                                                                              {64, 784},
                                                                              {1, 50},
                                                                              {50, 1},
                                                                              {17, 33},
                                                                              {15, 47},
                                                                              {0, 3},
                                                                              {3, 0},
                                                                              {790, 300},
                                                                              {300, 790}}) {
    INFO(to_string(instructions()) << ": " << rows << " x " << columns);
    const at::Tensor from = random_matrix(rows, columns, 1);
    at::Tensor to = at::empty({columns, rows});
    transpose(rows, columns, data_of(from), data_of(to));
    CHECK(at::equal(to, from.t()));
  }
  at::set_num_threads(before);
}

TEST_CASE("a dense layer and its gradients agree with float64, for small and large batches") {
  const OnlyUse only(GENERATE(from_range(available_instructions())));
  for (const DenseSize size : {DenseSize{64, 784, 256}, DenseSize{1, 7, 5}, DenseSize{500, 20, 10},
                               DenseSize{31, 401, 3}, DenseSize{0, 4, 3}}) {
    INFO(to_string(instructions()) << ": " << size.examples << " of " << size.inputs << " to "
                                   << size.outputs);
    const at::Tensor x = random_matrix(size.examples, size.inputs, 1),
                     w = random_matrix(size.outputs, size.inputs, 2),
                     b = random_matrix(1, size.outputs, 3)[0],
                     g = random_matrix(size.examples, size.outputs, 4);
    const at::Tensor x64 = x.to(at::kDouble), w64 = w.to(at::kDouble), g64 = g.to(at::kDouble);
    at::Tensor scratch = at::empty({dense_scratch(size)});
    at::Tensor y = at::empty_like(g), of_x = at::empty_like(x), of_w = at::zeros_like(w),
               of_b = at::zeros_like(b);
    dense_forward(size, data_of(x), data_of(w), data_of(b), data_of(y), data_of(scratch));
    CHECK(relative_error(y, at::linear(x64, w64, b.to(at::kDouble))) < kTolerance);
    dense_forward(size, data_of(x), data_of(w), nullptr, data_of(y), data_of(scratch));
    CHECK(relative_error(y, at::linear(x64, w64)) < kTolerance);
    dense_backward_input(size, data_of(g), data_of(w), data_of(of_x));
    CHECK(relative_error(of_x, at::mm(g64, w64)) < kTolerance);
    for (const bool adds : {false, true}) {
      dense_backward_weights(size, data_of(x), data_of(g), data_of(of_w), data_of(of_b), adds,
                             data_of(scratch));
      const double times = adds ? 2 : 1;
      CHECK(relative_error(of_w, at::mm(g64.t(), x64) * times) < kTolerance);
      CHECK(relative_error(of_b, g64.sum(0) * times) < kTolerance);
    }
  }
}

}  // namespace
}  // namespace dtrain
