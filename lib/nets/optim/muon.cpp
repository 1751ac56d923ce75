#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>

#include "kernels/products.h"
#include "optim/list_optimizer.h"
#include "optim/optimizer_kinds.h"
#include "parallel/parallel_blocks.h"
#include "spec/optimizer_kinds.h"

namespace dtrain {
namespace {

// Of the polynomial that each step applies to all singular values: s <- kLinear s + kCubic s^3 + kQuintic
// s^5.
constexpr double kLinear = 3.4445, kCubic = -4.7750, kQuintic = 2.0315;
constexpr int kNewtonSteps = 5;
constexpr double kLeastNorm = 1e-7;  // is added to that of a matrix
// The polynomial takes [0, 1] to [0, 1.2026], and this interval to itself.
constexpr double kLargestSingularValue = 1.21;

// The kernels of `dense`, `attention` and convolutions. Class tokens and positional embeddings have three
// dimensions, of which no two are a matrix's.
bool is_matrix(int64_t dimensions) { return dimensions == 2 || dimensions == 4; }

double scale_of(int64_t rows, int64_t columns) {
  return std::sqrt(std::max(1.0, static_cast<double>(rows) / static_cast<double>(columns)));
}

// a b. The number of threads changes no bit: of LibTorch's products it would, so these have one thread.
at::Tensor product(const at::Tensor& a, const at::Tensor& b) {
  if (!a.is_cpu() || a.scalar_type() != at::kFloat) {
    const ComputesAlone alone;
    return a.mm(b);
  }
  const at::Tensor left = a.contiguous(), right = b.contiguous();
  at::Tensor result = at::empty({a.size(0), b.size(1)}, a.options());
  multiply(a.size(0), b.size(1), a.size(1), left.const_data_ptr<float>(), right.const_data_ptr<float>(),
           result.mutable_data_ptr<float>(), /*adds=*/false);
  return result;
}

at::Tensor norm_of(const at::Tensor& matrix) {
  const ComputesAlone alone;  // for the same reason
  return matrix.norm();
}

// The matrix with the same singular vectors, whose singular values are about 1: 0.68 to 1.21 after a few
// steps, unless they began near 0. In the type of the matrix.
at::Tensor made_orthogonal(const at::Tensor& matrix) {
  const bool tall = matrix.size(0) > matrix.size(1);
  at::Tensor wide = tall ? matrix.t() : matrix;  // the products are then those of the shorter side
  wide = wide.contiguous() / (norm_of(matrix) + kLeastNorm);
  for (int step = 0; step < kNewtonSteps; ++step) {
    const at::Tensor gram = product(wide, wide.t());
    const at::Tensor factor = product(gram, gram).mul_(kQuintic).add_(gram, kCubic);
    wide = product(factor, wide).add_(wide, kLinear);
  }
  return tall ? wide.t() : wide;
}

Value lowered_orthogonal(const Value& matrix) {
  TextBuilder& builder = *matrix.builder;
  const bool tall = matrix.size(0) > matrix.size(1);
  Value wide = tall ? builder.transpose(matrix, {1, 0}) : matrix;
  wide = wide / (builder.apply("sqrt", builder.sum(wide * wide, {0, 1})) + kLeastNorm);
  for (int step = 0; step < kNewtonSteps; ++step) {
    const Value gram = builder.product(wide, 1, wide, 1);
    const Value square = builder.product(gram, 1, gram, 0) * kQuintic;
    const Value factor = gram * kCubic + square;
    const Value turned = builder.product(factor, 1, wide, 0);
    wide = wide * kLinear + turned;
  }
  return tall ? builder.transpose(wide, {1, 0}) : wide;
}

// adamw's, of the parameters that are no matrices.
OptimizerSpec spec_of_rest(const OptimizerSpec& spec) {
  const auto& own = spec.own.get<MuonFields>();
  OptimizerSpec rest = spec;
  rest.kind = "adamw";
  rest.learning_rate = own.adam_learning_rate;
  rest.own = AdamFields{own.beta1, own.beta2, own.epsilon};
  return rest;
}

// The rate of that one for each unit of this one's.
double rate_of_rest(const OptimizerSpec& spec) {
  return spec.own.get<MuonFields>().adam_learning_rate / spec.learning_rate;
}

// Muon (Jordan 2024, https://kellerjordan.github.io/posts/muon/) of matrices, a convolution's kernel as one
// of [out, in * height * width]: m <- momentum m + (1 - momentum) g; u = m, or with Nesterov's momentum
// (1 - momentum) g + momentum m; p <- p - lr (scale orthogonal(u) + weight_decay p), where scale is
// sqrt(max(1, rows / columns)), as in torch.optim.Muon ("original"), which computes the products in bfloat16
// and divides by the norm where that is above kLeastNorm. This has the type of the parameters, and adds it.
class Muon : public ListOptimizer {
 public:
  Muon(const OptimizerSpec& spec, const std::vector<at::Tensor>& matrices)
      : ListOptimizer(spec, matrices, {kAverage}), own_(spec.own.get<MuonFields>()) {}

  // One by one, so that what is as large as a parameter is there for one at a time.
  void update(const std::vector<size_t>& numbers) override {
    const at::NoGradGuard no_grad;
    for (const size_t number : numbers) {
      const at::Tensor& parameter = parameters_[number];
      const at::Tensor& average = memory_[0].tensors[number];
      const at::Tensor gradient = parameter.grad();
      average.lerp_(gradient, 1 - own_.momentum);
      const at::Tensor update = own_.nesterov ? at::lerp(gradient, average, own_.momentum) : average;
      const at::Tensor matrix = update.flatten(1);
      const at::Tensor change = made_orthogonal(matrix).reshape(update.sizes());
      change.mul_(scale_of(matrix.size(0), matrix.size(1)));
      if (weight_decay_ != 0) change.add_(parameter, weight_decay_);
      parameter.sub_(change.mul_(learning_rate_));
    }
  }

  // Of all parameters: adamw's second name is zeros for matrices.
  static std::vector<std::string> memory_of(const OptimizerSpec& /*spec*/) {
    return {kAverage, kSquareAverage};
  }

  // No element of a matrix is larger than its largest singular value.
  static LargestStep largest_step(const OptimizerSpec& spec, double clip_norm) {
    const OptimizerSpec rest = spec_of_rest(spec);
    const double movement = optimizer_method(rest.kind).largest_step(rest, clip_norm).movement;
    return {.movement = rate_of_rest(spec) * movement, .of_matrices = kLargestSingularValue};
  }

  static WriteUpdate lower(const OptimizerSpec& spec, const Value& step, const Value& learning_rate) {
    const OptimizerSpec rest = spec_of_rest(spec);
    const WriteUpdate other =
        optimizer_method(rest.kind).lower(rest, step, learning_rate * rate_of_rest(spec));
    const auto own = spec.own.get<MuonFields>();
    return [=](UpdatedParameter& one) {
      if (!is_matrix(one.parameter.rank())) return other(one);
      Value& average = one.memory.at(kAverage);
      average = average + (one.gradient - average) * (1 - own.momentum);
      Value update = average;
      if (own.nesterov) update = one.gradient + (average - one.gradient) * own.momentum;
      int64_t columns = 1;
      for (int64_t i = 1; i < update.rank(); ++i) columns *= update.size(i);
      const int64_t rows = update.size(0);
      const Value matrix = update.builder->reshape(update, {rows, columns});
      const Value change =
          update.builder->reshape(lowered_orthogonal(matrix), update.shape) * scale_of(rows, columns);
      one.parameter = one.parameter - learning_rate * with_decay(spec, one, change);
    };
  }

 private:
  MuonFields own_;
};

// Matrices by Muon, the rest by adamw.
std::unique_ptr<Optimizer> make_muon(const OptimizerSpec& spec, const std::vector<at::Tensor>& parameters) {
  std::vector<at::Tensor> matrices, rest;
  std::vector<size_t> group_of;
  for (const at::Tensor& parameter : parameters) {
    const bool by_muon = is_matrix(parameter.dim());
    (by_muon ? matrices : rest).push_back(parameter);
    group_of.push_back(by_muon ? 0 : 1);
  }
  std::vector<std::unique_ptr<Optimizer>> both;
  both.push_back(std::make_unique<Muon>(spec, matrices));
  both.push_back(make_optimizer(spec_of_rest(spec), rest));
  return join_optimizers(std::move(both), {1, rate_of_rest(spec)}, parameters, group_of);
}

}  // namespace

OptimizerMethod muon_method() {
  OptimizerMethod method = optimizer_method_of<Muon>("muon");
  method.make = make_muon;
  return method;
}

}  // namespace dtrain
