// Models that are a user's module.
#include "torchscript/script_program.h"

#include <ATen/Parallel.h>

#include <cmath>

#include "catch.h"
#include "copied_variables.h"
#include "core/error.h"
#include "models/variables.h"
#include "script_modules.h"

namespace dtrain {
namespace {

ScriptSource source_of(const std::string& bytes, std::optional<std::string> output = std::nullopt) {
  return {"net.pt", "0123", [bytes] { return bytes; }, std::move(output), "3 classes need"};
}

LayerPlan placed(const torch::jit::Module& module, std::optional<std::string> output = std::nullopt,
                 at::ScalarType dtype = at::kFloat) {
  return place_script(source_of(script_bytes(module), std::move(output)), dtype, {1, 4, 4}, 3);
}

std::string problem_of(const LayerPlan& plan) { return plan.problems.empty() ? "" : plan.problems[0].text; }

std::shared_ptr<Model> built(const LayerPlan& plan, at::ScalarType dtype = at::kFloat) {
  INFO(problem_of(plan));
  REQUIRE(plan.problems.empty());
  return build_model(plan, dtype, 1);
}

std::vector<std::string> names_of(const Variables& variables) {
  std::vector<std::string> names;
  for (const auto& [name, tensor] : variables) names.push_back(name);
  return names;
}

using Names = std::vector<std::string>;

TEST_CASE("a module is placed as the modules within it that have variables") {
  const LayerPlan plan = placed(script_network());
  REQUIRE(plan.problems.empty());
  Names names;
  for (const PlacedLayer& layer : plan.layers) names.push_back(layer.name);
  CHECK(names == Names{"first", "norm", "last", "self"});
  CHECK(plan.output_shape() == Shape{3});
  CHECK(plan.parameters() == 16 * 6 + 6 + 12 + 6 * 3 + 3);
  CHECK(plan.buffers() == 13);
  CHECK(dynamic_cast<const ScriptProgram&>(*plan.program).source().sha256 == "0123");
}

TEST_CASE("a model of a module computes what the module does, in both modes") {
  const at::ScalarType dtype = GENERATE(at::kFloat, at::kDouble);
  const torch::jit::Module network = script_network();
  const auto model = built(placed(network, std::nullopt, dtype), dtype);
  torch::jit::Module same = network.deepcopy();
  same.to(dtype);
  const at::Tensor batch = numbers_like({5, 1, 4, 4}).to(dtype);
  for (const bool training : {true, false}) {
    model->train(training);
    same.train(training);
    at::manual_seed(5);
    const at::Tensor ours = model->forward(batch);
    at::manual_seed(5);
    CHECK(at::equal(ours, same.forward({batch}).toTensor()));
  }
  for (const auto& [name, tensor] : named_variables(*model)) {
    const auto moved = same.named_buffers();
    for (const auto& item : moved) {
      if (item.name == name) CHECK(at::equal(item.value, tensor));
    }
  }
}

TEST_CASE("trying a module draws nothing, and leaves the number of threads as it was") {
  const int before = at::get_num_threads();
  at::set_num_threads(2);
  const int threads = at::get_num_threads();
  at::manual_seed(9);
  const at::Tensor next = at::rand({4});
  at::manual_seed(9);
  const LayerPlan plan = placed(script_network());
  CHECK(at::equal(at::rand({4}), next));
  CHECK(at::get_num_threads() == threads);
  at::set_num_threads(before);
}

TEST_CASE("a module is tried on numbers that an embedding takes") {
  const ScriptUnit unit = new_unit();
  torch::jit::Module network = script_module(unit);
  add_parameter(network, "table", numbers_like({2, 3}));
  network.define(
      "def forward(self, x: Tensor) -> Tensor:\n"
      "  numbers = torch.to(torch.flatten(x, 1), 4)\n"
      "  return torch.sum(torch.embedding(self.table, numbers), [1])\n");
  CHECK(problem_of(placed(network)).empty());
}

TEST_CASE("buffers that training changes are those of its norms, also where a module assigns to them") {
  torch::jit::Module network = script_network();
  network.register_buffer("mask", at::ones({3}));
  const auto model = built(placed(network));
  const Names moving = {"norm.running_mean", "norm.running_var", "norm.num_batches_tracked"};
  CHECK(names_of(model->moving_buffers()) == moving);
  model->train(true);
  for (int i = 0; i < 3; ++i) model->forward(numbers_like({4, 1, 4, 4}));
  const Variables buffers = model->moving_buffers();
  CHECK(buffers[2].second.item<int64_t>() == 3);
  CHECK_FALSE(at::equal(buffers[0].second, at::zeros({6})));
  buffers[2].second.fill_(7);  // as a resumed training does
  model->forward(numbers_like({4, 1, 4, 4}));
  CHECK(model->moving_buffers()[2].second.item<int64_t>() == 8);
}

TEST_CASE("frozen modules have no gradients, and their norms keep their statistics") {
  const auto model = built(placed(script_network()));
  model->train_layers({{false, false, true, true}, 0});
  CHECK(names_of(trained_parameters(*model)) == Names{"last.weight", "last.bias"});
  CHECK(model->moving_buffers().empty());
  model->train(true);
  model->forward(numbers_like({4, 1, 4, 4})).sum().backward();
  for (const auto& [name, tensor] : named_variables(*model)) {
    if (name == "norm.running_mean") CHECK(at::equal(tensor, at::zeros({6})));
    CHECK(tensor.grad().defined() == (name == "last.weight" || name == "last.bias"));
  }
  model->train_layers({});
  CHECK(trained_parameters(*model).size() == 6);
  CHECK(model->moving_buffers().size() == 3);
}

TEST_CASE("modules without variables, such as dropouts, are frozen with those around them") {
  const ScriptUnit unit = new_unit();
  // Shows its mode in what the network gives.
  const auto mark = [&unit](int step) {
    torch::jit::Module module = script_module(unit);
    module.define("def forward(self, x: Tensor) -> Tensor:\n  return x + " + std::to_string(step) +
                  ".0 * float(self.training)\n");
    return module;
  };
  const auto block = [&](int64_t inputs, int64_t outputs, int step) {
    torch::jit::Module module = script_module(unit);
    module.register_module("drop", mark(step));
    module.register_module("dense", script_linear(unit, inputs, outputs));
    module.define("def forward(self, x: Tensor) -> Tensor:\n  return self.dense.forward(x)\n");
    return module;
  };
  torch::jit::Module network = script_module(unit);
  network.register_module("encoder", block(16, 6, 1));
  network.register_module("drop", mark(10));
  network.register_module("head", block(6, 3, 100));
  network.define(
      "def forward(self, x: Tensor) -> Tensor:\n"
      "  x = self.head.forward(self.encoder.forward(torch.flatten(x, 1)))\n"
      "  return self.head.drop.forward(self.drop.forward(self.encoder.drop.forward(x)))\n");
  const auto in_training = [&](const std::vector<bool>& trained) {
    const auto model = built(placed(network));
    const at::Tensor batch = numbers_like({4, 1, 4, 4});
    model->train_layers({trained, 0});
    model->eval();
    const at::Tensor evaluated = model->forward(batch);
    model->train(true);
    return std::lround((model->forward(batch) - evaluated).mean().item<double>());
  };
  // Of encoder.dense, head.dense and the whole, which has no variables.
  CHECK(in_training({}) == 111);
  CHECK(in_training({true, true, true}) == 111);
  CHECK(in_training({false, true, false}) == 110);
  CHECK(in_training({true, false, false}) == 11);
  CHECK(in_training({false, false, true}) == 0);
}

TEST_CASE("every parameter has a gradient, also those that no output depends on") {
  torch::jit::Module network = script_network();
  add_parameter(network, "unused", at::ones({2}));
  const int64_t examples = GENERATE(0, 4);
  const auto model = built(placed(network));
  model->train(true);
  const at::Tensor output = model->forward(numbers_like({examples, 1, 4, 4}));
  CHECK(output.sizes() == at::IntArrayRef{examples, 3});
  output.sum().backward();
  for (const auto& [name, tensor] : trained_parameters(*model)) {
    INFO(name);
    REQUIRE(tensor.grad().defined());
    const bool used = name != "unused" && examples > 0;
    CHECK(tensor.grad().any().item<bool>() == used);
  }
}

TEST_CASE("of several outputs the first is taken, or the one that the spec names") {
  const auto with_output = script_returning;
  const std::string dict = "{\"aux\": torch.sum(y), \"logits\": y}";
  CHECK(built(placed(with_output("(y, torch.sum(y))", "Tuple[Tensor, Tensor]")))->outputs() == 3);
  CHECK(built(placed(with_output("[y, y]", "List[Tensor]")))->outputs() == 3);
  CHECK(built(placed(with_output(dict, "Dict[str, Tensor]"), "logits"))->outputs() == 3);
  CHECK_THAT(
      problem_of(placed(with_output(dict, "Dict[str, Tensor]"))),
      ContainsSubstring("net.pt: forward of a batch of [3, 1, 4, 4] returns a dict with aux, logits, and "
                        "model.output is not set; name one"));
  CHECK_THAT(problem_of(placed(with_output(dict, "Dict[str, Tensor]"), "other")),
             ContainsSubstring("model.output is other; name one"));
  CHECK_THAT(problem_of(placed(script_network(), "logits")), ContainsSubstring("returns no dict"));
  CHECK_THAT(problem_of(placed(with_output("1", "int"))), ContainsSubstring("returns int and no tensor"));
}

TEST_CASE("a type from which no export could take the tensor is refused before the training") {
  for (const char* type : {"Any", "Tuple[Any, Tensor]", "Union[Tensor, int]"}) {
    const bool is_tuple = std::string(type).starts_with("Tuple");
    CHECK_THAT(problem_of(placed(script_returning(is_tuple ? "(y, y)" : "y", type))),
               ContainsSubstring("net.pt: its forward is declared to return ") &&
                   ContainsSubstring("declare a Tensor, or a tuple, list or dict of tensors"));
  }
}

TEST_CASE("what does not fit the data is a problem that names both shapes") {
  CHECK(problem_of(placed(script_network("self.first.weight"))) ==
        "net.pt: forward of a batch of [3, 1, 4, 4] gives [6, 16] of Float; 3 classes need [n, 3] (here n = "
        "3) of "
        "floating-point numbers");
  const LayerPlan wrong = place_script(source_of(script_bytes(script_network())), at::kFloat, {1, 5, 5}, 3);
  CHECK_THAT(problem_of(wrong),
             ContainsSubstring("net.pt: forward of a batch of [3, 1, 5, 5] fails: mat1 and mat2 "
                               "shapes cannot be multiplied (3x25 and 16x6)"));
  CHECK(wrong.layers.empty());
  // A size that tracing has made a part of the module.
  CHECK_FALSE(problem_of(placed(script_network("torch.reshape(self.last.forward(x), [3, 3])"))).empty());
  torch::jit::Module none = script_module(new_unit());
  none.define("def forward(self, x: Tensor) -> Tensor:\n  return x\n");
  CHECK_THAT(problem_of(placed(none)), ContainsSubstring("net.pt: its module has no trainable parameters"));
  CHECK_THAT(problem_of(place_script(source_of("PK"), at::kFloat, {1, 4, 4}, 3)),
             ContainsSubstring("net.pt: is no TorchScript module"));
}

TEST_CASE(
    "an operation that gets no memory is a lack of memory, whatever the interpreter makes of its error") {
  const std::string text = GENERATE("std::bad_alloc", "could not create a primitive",
                                    "CUDA error: out of memory", "CUBLAS_STATUS_ALLOC_FAILED");
  const auto failing = [](const std::string& why) {
    return script_network("self.rest(x)",
                          "def rest(self, x: Tensor) -> Tensor:\n"
                          "  assert torch.size(x, 0) < 4, \"" +
                              why +
                              "\"\n"
                              "  return self.last.forward(x)\n");
  };
  const at::Tensor batch = numbers_like({4, 1, 4, 4});
  CHECK_THROWS_AS(built(placed(failing(text)))->forward(batch), std::bad_alloc);
  CHECK_THROWS_WITH(built(placed(failing("could not create a primitive descriptor")))->forward(batch),
                    ContainsSubstring("fails: could not create a primitive descriptor"));
}

TEST_CASE("variables are written into a module as into any model") {
  const LayerPlan plan = placed(script_network());
  const auto model = built(plan);
  Variables variables = copy_variables(*model);
  for (auto& [name, tensor] : variables) tensor.mul_(2);
  const auto& program = dynamic_cast<const ScriptProgram&>(*plan.program);
  torch::jit::Module module = program.with_variables(plan, at::kFloat, variables);
  CHECK_FALSE(module.is_training());
  write_variables(*model, variables);
  model->eval();
  const at::Tensor batch = numbers_like({5, 1, 4, 4});
  CHECK(at::equal(model->forward(batch), module.forward({batch}).toTensor()));
}

}  // namespace
}  // namespace dtrain
