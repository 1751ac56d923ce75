// Whole models: names, dtypes, seeds, batches of any size.
#include "models/model.h"

#include <map>

#include "architectures/architectures.h"
#include "core/error.h"
#include "models/tensors.h"
#include "spec/fields.h"
#include "spec/layer_kinds.h"

namespace dtrain {
namespace {

// Those that are made of layers within a second and take small images.
std::vector<std::string> small_kinds() {
  std::vector<std::string> kinds = model_kinds().built;
  std::erase_if(kinds, [](const std::string& kind) {
    return kind == "vgg" || kind == "wide_resnet" || kind == "torchscript";
  });
  return kinds;
}

LayerPlan plan_of(const std::string& kind) {
  ModelSpec spec;
  spec.kind = kind;
  spec.hidden = {16, 8};
  spec.filters = {4};
  spec.dropout = 0.1;
  spec.size = "tiny";
  spec.patch = 4;
  spec.layers = {with_padding(conv2d(3), "same"), layer("batch_norm"), layer("relu"), layer("flatten"),
                 dense(10)};
  return place_layers(expand_layers(spec, 10), {1, 12, 12}, 10);
}

std::map<std::string, at::Tensor> tensors_of(const Model& model) {
  std::map<std::string, at::Tensor> all;
  for (const auto& item : model.named_parameters()) all[item.key()] = item.value();
  for (const auto& item : model.named_buffers()) all[item.key()] = item.value();
  return all;
}

TEST_CASE("parameters are named after their layers") {
  const auto model = build_model(plan_of("layers"), at::kFloat, 1);
  std::vector<std::string> names;
  for (const auto& item : model->named_parameters()) names.push_back(item.key());
  CHECK(names == std::vector<std::string>{"conv2d.weight", "conv2d.bias", "batch_norm.weight",
                                          "batch_norm.bias", "dense.weight", "dense.bias"});
  CHECK(model->named_buffers().keys() ==
        std::vector<std::string>{"batch_norm.running_mean", "batch_norm.running_var"});
  CHECK(tensors_of(*model)["conv2d.weight"].sizes() == at::IntArrayRef({3, 1, 3, 3}));
  CHECK(tensors_of(*model)["dense.weight"].sizes() == at::IntArrayRef({10, 432}));
}

TEST_CASE("an outline has the model's variables without memory, however large") {
  for (const std::string& kind : small_kinds()) {
    INFO(kind);
    const auto real = tensors_of(*build_model(plan_of(kind), at::kDouble, 1));
    const auto outline = tensors_of(*outline_model(plan_of(kind), at::kDouble));
    CHECK(outline.size() == real.size());
    for (const auto& [name, tensor] : real) {
      REQUIRE(outline.count(name) == 1);
      CHECK(outline.at(name).is_meta());
      CHECK(outline.at(name).sizes() == tensor.sizes());
      CHECK(outline.at(name).scalar_type() == at::kDouble);
    }
  }
  const LayerPlan vast = place_layers({dense(1'000'000), dense(20'000), dense(10)}, {64}, 10);
  CHECK(tensors_of(*outline_model(vast, at::kFloat)).at("dense_1.weight").sizes() ==
        at::IntArrayRef({20'000, 1'000'000}));
}

TEST_CASE("the modules hold as many numbers as the plan says, all of the dtype") {
  for (const std::string& kind : small_kinds()) {
    for (const std::string dtype : {"float32", "float64"}) {
      INFO(kind << " " << dtype);
      const LayerPlan plan = plan_of(kind);
      const auto model = build_model(plan, dtype_from_name(dtype), 1);
      int64_t parameters = 0, buffers = 0;
      for (const at::Tensor& parameter : model->parameters()) {
        parameters += parameter.numel();
        CHECK(parameter.requires_grad());
        CHECK(parameter.scalar_type() == dtype_from_name(dtype));
      }
      for (const at::Tensor& buffer : model->buffers()) {
        buffers += buffer.numel();
        CHECK_FALSE(buffer.requires_grad());
        CHECK(buffer.scalar_type() == dtype_from_name(dtype));
      }
      CHECK(parameters == plan.parameters());
      CHECK(buffers == plan.buffers());
    }
  }
}

TEST_CASE("the seed alone decides where a model starts, in either dtype") {
  const auto model = build_model(plan_of("cnn"), at::kDouble, 5);
  at::manual_seed(99);
  const auto again = tensors_of(*build_model(plan_of("cnn"), at::kDouble, 5));
  const auto single = tensors_of(*build_model(plan_of("cnn"), at::kFloat, 5));
  const auto other = tensors_of(*build_model(plan_of("cnn"), at::kDouble, 6));
  for (const auto& [name, value] : tensors_of(*model)) {
    INFO(name);
    CHECK(value.equal(again.at(name)));
    CHECK(single.at(name).equal(value.to(at::kFloat)));
    const bool is_kernel = value.dim() > 1;
    CHECK(value.equal(other.at(name)) != is_kernel);
    if (!is_kernel) CHECK(value.count_nonzero().item<int64_t>() == 0);
  }
}

TEST_CASE("layers of the same shape start differently") {
  const auto model = build_model(place_layers({dense(6), layer("relu"), dense(6)}, {6}, 6), at::kDouble, 5);
  CHECK_FALSE(model->parameters()[0].equal(model->parameters()[2]));
}

TEST_CASE("forward makes logits of batches of any size, also none") {
  for (const std::string& kind : small_kinds()) {
    const auto model = build_model(plan_of(kind), at::kFloat, 1);
    for (const bool training : {true, false}) {
      model->train(training);
      for (const int64_t examples : {0, 1, 5}) {
        INFO(kind << (training ? " training " : " evaluating ") << examples);
        const at::Tensor logits = model->forward(noise({examples, 1, 12, 12}).to(at::kFloat));
        CHECK(logits.sizes() == at::IntArrayRef({examples, 10}));
        CHECK(logits.isfinite().all().item<bool>());
      }
    }
  }
}

TEST_CASE("the moving statistics of several layers are those of each by itself") {
  const NormFields quick = {.momentum = 0.5, .epsilon = 0.1}, slow;
  const auto model = build_model(
      place_layers({{.kind = "batch_norm", .own = quick}, dense(4), layer("batch_norm"), dense(2)}, {3}, 2),
      at::kDouble, 1);
  const at::Tensor x = noise({6, 3});
  model->train();
  model->forward(x);
  auto tensors = tensors_of(*model);
  const auto mean = [](const at::Tensor& values) { return values.mean(0); };
  const auto variance = [](const at::Tensor& values) { return values.var(0, /*unbiased=*/false); };
  CHECK(difference(tensors["batch_norm.running_mean"], 0.5 * mean(x)) < 1e-12);
  CHECK(difference(tensors["batch_norm.running_var"], 0.5 + 0.5 * variance(x)) < 1e-12);
  const at::Tensor normalised = (x - mean(x)) / (variance(x) + 0.1).sqrt();
  const at::Tensor y = at::linear(normalised, tensors["dense.weight"], tensors["dense.bias"]);
  CHECK(difference(tensors["batch_norm_1.running_mean"], (1 - slow.momentum) * mean(y)) < 1e-12);
  const at::Tensor moved = slow.momentum + (1 - slow.momentum) * variance(y);
  CHECK(difference(tensors["batch_norm_1.running_var"], moved) < 1e-12);
  model->eval();
  model->forward(x);
  CHECK(difference(tensors_of(*model)["batch_norm.running_mean"], 0.5 * mean(x)) < 1e-12);
}

TEST_CASE("a rectifier before a pooling layer of any window: values and gradients as one after the other") {
  const LayerSpec pool = with_padding(with_stride(pool2d("max_pool2d", 3), 2), "same");
  const auto model = build_model(
      place_layers({layer("relu"), pool, layer("flatten"), dense(2)}, {1, 7, 7}, 2), at::kDouble, 1);
  const at::Tensor x = noise({2, 1, 7, 7}).requires_grad_();
  const at::Tensor y = x.detach().clone().requires_grad_();
  const at::Tensor logits = model->forward(x);
  const at::Tensor pooled = at::max_pool2d(at::relu(y), 3, 2, 1);
  auto tensors = tensors_of(*model);
  const at::Tensor expected = at::linear(pooled.flatten(1), tensors["dense.weight"], tensors["dense.bias"]);
  CHECK(difference(logits, expected) == 0);
  logits.square().sum().backward();
  expected.square().sum().backward();
  CHECK(difference(x.grad(), y.grad()) == 0);
}

TEST_CASE("float32 and float64 models compute the same") {
  const at::Tensor images = noise({5, 1, 12, 12});
  for (const std::string& kind : small_kinds()) {
    if (kind == "mobilenet_v2") continue;  // LibTorch takes seconds for so many groups in float64
    const auto precise = build_model(plan_of(kind), at::kDouble, 1),
               single = build_model(plan_of(kind), at::kFloat, 1);
    precise->eval();
    single->eval();
    CHECK(difference(single->forward(images.to(at::kFloat)).to(at::kDouble), precise->forward(images)) <
          1e-5);
  }
}

TEST_CASE("an mlp is its matrix products") {
  const auto model = build_model(
      place_layers({layer("flatten"), dense(4), layer("tanh"), dense(2)}, {1, 2, 3}, 2), at::kDouble, 3);
  const auto weights = tensors_of(*model);
  const at::Tensor images = noise({5, 1, 2, 3});
  const at::Tensor hidden = images.reshape({5, 6}).matmul(weights.at("dense.weight").t()).tanh();
  CHECK(difference(model->forward(images), hidden.matmul(weights.at("dense_1.weight").t())) < 1e-12);
}

TEST_CASE("a gradient step lowers the loss of a model with every kind of layer") {
  std::vector<LayerSpec> layers = {conv2d(4),
                                   layer("batch_norm"),
                                   layer("gelu"),
                                   pool2d("max_pool2d", 2),
                                   with_padding(conv2d(4, 2), "same"),
                                   layer("sigmoid"),
                                   with_padding(pool2d("avg_pool2d", 2), "same"),
                                   layer("flatten"),
                                   dense(8),
                                   layer("tanh"),
                                   layer("silu"),
                                   dense(8),
                                   layer("relu"),
                                   dense(3)};
  const auto model = build_model(place_layers(layers, {1, 8, 8}, 3), at::kDouble, 1);
  const at::Tensor images = noise({6, 1, 8, 8});
  const at::Tensor targets = at::arange(6, at::kLong).remainder(3);
  const auto loss = [&] { return at::cross_entropy_loss(model->forward(images), targets); };
  const at::Tensor before = loss();
  before.backward();
  for (const at::Tensor& parameter : model->parameters()) {
    REQUIRE(parameter.grad().defined());
    at::NoGradGuard no_grad;
    parameter.sub_(parameter.grad(), 0.01);
  }
  CHECK(loss().item<double>() < before.item<double>());
}

TEST_CASE("dtypes by name") {
  CHECK(dtype_from_name("float32") == at::kFloat);
  CHECK(dtype_from_name("float64") == at::kDouble);
  try {
    dtype_from_name("float16");
    FAIL("no error");
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::kUsage);
    CHECK(error.what() == std::string("unknown dtype 'float16'; known: float32, float64"));
  }
}

TEST_CASE("a plan with problems is not built") {
  CHECK_THROWS_AS(build_model(place_layers({dense(3)}, {1, 8, 8}, 3), at::kFloat, 1), Error);
}

LayerPlan graph_of(const std::vector<LayerSpec>& layers, const Shape& input, int64_t classes) {
  const LayerPlan plan = place_layers(layers, input, classes);
  for (const LayerProblem& problem : plan.problems) FAIL(problem.text);
  return plan;
}

TEST_CASE("layers take what they name: a block with a projection around it") {
  const auto model =
      build_model(graph_of({named(dense(6), "stem"), layer("relu"), named(dense(4), "body"),
                            from(named(dense(4), "around"), "stem"), add("body"), layer("tanh")},
                           {5}, 4),
                  at::kDouble, 3);
  auto tensors = tensors_of(*model);
  const auto apply = [&](const std::string& name, const at::Tensor& x) {
    return at::matmul(x, tensors[name + ".weight"].t()) + tensors[name + ".bias"];
  };
  const at::Tensor x = noise({7, 5}).to(at::kDouble);
  const at::Tensor stem = apply("stem", x);
  const at::Tensor expected = at::tanh(apply("around", stem) + apply("body", at::relu(stem)));
  CHECK(difference(model->forward(x), expected) < 1e-14);
}

TEST_CASE("a rectifier before a pooling is kept where another layer needs it") {
  const auto model = build_model(
      graph_of({named(with_padding(conv2d(2), "same"), "conv"), named(layer("relu"), "rectified"),
                with_stride(pool2d("max_pool2d", 2), 2), layer("flatten"), named(dense(3), "pooled"),
                from(layer("flatten"), "rectified"), dense(3), add("pooled")},
               {1, 4, 4}, 3),
      at::kDouble, 3);
  auto tensors = tensors_of(*model);
  const at::Tensor x = noise({2, 1, 4, 4}).to(at::kDouble);
  const at::Tensor rectified = at::relu(at::conv2d(x, tensors["conv.weight"], tensors["conv.bias"], 1, 1));
  const auto apply = [&](const std::string& name, const at::Tensor& input) {
    return at::matmul(input.flatten(1), tensors[name + ".weight"].t()) + tensors[name + ".bias"];
  };
  const at::Tensor expected = apply("pooled", at::max_pool2d(rectified, 2)) + apply("dense_1", rectified);
  CHECK(difference(model->forward(x), expected) < 1e-14);
}

}  // namespace
}  // namespace dtrain
