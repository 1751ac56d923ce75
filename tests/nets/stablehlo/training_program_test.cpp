// The programs' texts, compared with files, and what they take and give. That the texts compute the right
// numbers is checked by scripts/check_stablehlo. After a change that is meant:
//     DTRAIN_WRITE_GOLDEN=1 build/werror/tests/stablehlo_tests
// writes the files anew; look at the difference, and run scripts/check_stablehlo.
#include "stablehlo/training_program.h"

#include <algorithm>
#include <cstdlib>
#include <set>

#include "bare_layer.h"
#include "catch.h"
#include "core/text.h"
#include "files.h"
#include "models/layer_specs.h"
#include "models/model.h"
#include "models/variables.h"
#include "spec/fields.h"
#include "spec/optimizer_kinds.h"
#include "traits/objectives.h"

namespace dtrain {
namespace {

const std::string kGolden = std::string(DTRAIN_SOURCE_DIR) + "/tests/golden/stablehlo/";

// Compares, or writes the file when asked to.
void check_golden(const std::string& name, const DeviceProgram& program) {
  const std::filesystem::path file = kGolden + name + ".mlir";
  if (std::getenv("DTRAIN_WRITE_GOLDEN") != nullptr) write_file(file, program.text);
  INFO(file);
  CHECK(program.text == content_of(file));
}

LayerPlan planned(const std::vector<LayerSpec>& layers, const Shape& input) {
  const LayerPlan plan = place_layers(layers, input, 0);
  for (const LayerProblem& problem : plan.problems) FAIL(problem.text);
  return plan;
}

LayerPlan small_network() {
  return planned({named(conv2d(2), "first"), layer("batch_norm"), layer("relu"), layer("flatten"), dense(3)},
                 {1, 4, 4});
}

std::vector<std::string> names_of(const std::vector<TensorType>& tensors) {
  std::vector<std::string> names;
  for (const TensorType& tensor : tensors) names.push_back(tensor.name);
  return names;
}

size_t count(const std::string& text, const std::string& word) {
  size_t found = 0;
  for (size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) ++found;
  return found;
}

TEST_CASE("the text of a small network's training step on one device") {
  TrainSpec train;
  train.optimizer.weight_decay = 0.01;
  const LayerPlan plan = planned({layer("flatten"), dense(5), layer("relu"), dense(3)}, {3, 2, 2});
  const ProgramForm form = {.rows = 4, .pixels = true, .normalisation = {{0.5, 0.4, 0.3}, {0.2, 0.3, 0.4}}};
  check_golden("mlp_adam", lower_training_step(plan, train, form));
}

TEST_CASE("the text of layers with windows") {
  TrainSpec train;
  train.optimizer.kind = "sgd";
  train.optimizer.own = SgdFields{.momentum = 0.9, .nesterov = true};
  const LayerPlan plan = planned(
      {with_stride(with_padding(conv2d(4), "same"), 2),
       without_bias(in_groups(with_padding(conv2d(4), "symmetric"), 2)),
       with_stride(with_padding(pool2d("max_pool2d", 3), "symmetric"), 1),
       with_padding(pool2d("avg_pool2d", 2), "same"), adaptive(2), layer("global_avg_pool2d"), dense(2)},
      {2, 12, 10});
  check_golden("windows_sgd", lower_training_step(plan, train, {.rows = 3, .type = at::kDouble}));
}

TEST_CASE("the text of a residual network on two devices") {
  TrainSpec train;
  train.optimizer.kind = "rmsprop";
  train.optimizer.own = RmspropFields{.momentum = 0.5};
  train.sync_batch_norm = true;
  train.clip_norm = 1;
  train.ema.decay = 0.9;
  train.label_smoothing = 0.1;
  train.loss.class_weights.weights = {1, 2, 3};
  const LayerPlan plan = planned({named(conv2d(2, 1), "first"), layer("batch_norm"), layer("relu"),
                                  add("first"), layer("flatten"), dense(3)},
                                 {1, 3, 3});
  check_golden("residual_rmsprop",
               lower_training_step(plan, train, {.devices = 2, .rows = 2, .mixed = true}));
  check_golden("residual_forward", lower_forward(plan, {.devices = 2, .rows = 2, .pixels = true}));
}

TEST_CASE("the text of layers without windows") {
  TrainSpec train;
  train.optimizer.kind = "adamw";
  train.optimizer.weight_decay = 0.1;
  train.optimizer.weight_decay_exclude = "none";
  train.loss.kind = "binary_cross_entropy";
  const LayerPlan plan = planned({dense(4), layer("layer_norm"), layer("gelu"), layer("dropout"),
                                  layer("relu6"), layer("tanh"), layer("sigmoid"), dense(2)},
                                 {3});
  check_golden("activations_adamw",
               lower_training_step(plan, train, {.devices = 2, .rows = 2, .targets = 2}));
}

TEST_CASE("the text of layers of tokens") {
  TrainSpec train;
  train.optimizer.kind = "sgd";
  const LayerPlan plan = planned({dense(3), layer("layer_norm"), layer("flatten"), dense(2)}, {4, 5});
  check_golden("tokens_sgd", lower_training_step(plan, train, {.rows = 2}));
}

TEST_CASE("the text of group_norm of images and of tokens") {
  TrainSpec train;
  train.optimizer.kind = "sgd";
  check_golden(
      "group_norm_sgd",
      lower_training_step(planned({conv2d(4, 1), group_norm(2), layer("flatten"), dense(2)}, {1, 3, 2}),
                          train, {.rows = 2}));
  check_golden("group_norm_tokens_sgd",
               lower_training_step(planned({dense(4), group_norm(2), layer("flatten"), dense(2)}, {3, 5}),
                                   train, {.rows = 2}));
}

TEST_CASE("the text of silu") {
  TrainSpec train;
  train.optimizer.kind = "sgd";
  check_golden("silu_sgd",
               lower_training_step(planned({dense(2), layer("silu"), dense(3)}, {3}), train, {.rows = 2}));
}

TEST_CASE("the text of a loss of numbers") {
  TrainSpec train;
  train.optimizer.kind = "sgd";
  train.loss = {.kind = "huber", .own = HuberFields{.delta = 0.5}};
  check_golden("huber_sgd", lower_training_step(planned({dense(2)}, {3}), train, {.rows = 2, .targets = 2}));
  train.loss = {.kind = "log_cosh"};
  check_golden("log_cosh_sgd",
               lower_training_step(planned({dense(2)}, {3}), train, {.rows = 2, .targets = 2}));
}

TEST_CASE("the text of lion's update") {
  TrainSpec train;
  train.optimizer.kind = "lion";
  train.optimizer.weight_decay = 0.01;
  check_golden("dense_lion", lower_training_step(planned({dense(2)}, {3}), train, {.rows = 2}));
}

TEST_CASE("the text of updates in proportion to norms") {
  TrainSpec train;
  train.optimizer.kind = GENERATE("lars", "lamb");
  train.optimizer.weight_decay = 0.01;
  check_golden("dense_" + train.optimizer.kind,
               lower_training_step(planned({dense(2)}, {3}), train, {.rows = 2}));
}

// Five steps of three products each for a matrix; the bias has adamw's update.
TEST_CASE("muon's update of a matrix has the products of its five steps") {
  TrainSpec train;
  train.optimizer.kind = "adamw";
  const LayerPlan plan = planned({dense(2)}, {3});
  const DeviceProgram other = lower_training_step(plan, train, {.rows = 2});
  train.optimizer.kind = "muon";
  train.optimizer.weight_decay = 0.01;
  const DeviceProgram program = lower_training_step(plan, train, {.rows = 2});
  check_golden("dense_muon", program);
  CHECK(count(program.text, "stablehlo.dot_general") == count(other.text, "stablehlo.dot_general") + 15);
  CHECK(names_of(program.arguments) == names_of(other.arguments));
  CHECK(names_of(program.results) == names_of(other.results));
}

TEST_CASE("the text of products in 16 bits") {
  TrainSpec train;
  train.optimizer.kind = "sgd";
  train.precision = "bf16_mixed";
  const LayerPlan plan = planned({named(conv2d(2), "first"), layer("batch_norm"), layer("relu"),
                                  layer("max_pool2d"), layer("flatten"), dense(3)},
                                 {1, 4, 4});
  const DeviceProgram program = lower_training_step(plan, train, {.rows = 2});
  check_golden("products_in_16_bits", program);
  // The weights, statistics and sums stay in 32 bits, and evaluations are not rounded.
  for (const TensorType& result : program.results) CHECK(result.type == at::kFloat);
  CHECK(count(lower_forward(plan, {.rows = 2}).text, "bf16") == 0);
}

TEST_CASE("the text of a step on rows of examples that stay on the device") {
  TrainSpec train;
  train.optimizer.kind = "sgd";
  const LayerPlan plan = planned({layer("flatten"), dense(3)}, {1, 2, 2});
  const ProgramForm form = {.rows = 4, .pixels = true, .resident = 100};
  const DeviceProgram program = lower_training_step(plan, train, form);
  check_golden("resident_sgd", program);
  const std::vector<std::string> names = names_of(program.arguments);
  CHECK(contains(names, "stored_inputs"));
  CHECK(contains(names, "stored_targets"));
  CHECK(contains(names, "rows"));
  CHECK(!contains(names, "inputs"));
  CHECK(!contains(names, "targets"));
  // Evaluations get theirs.
  CHECK(contains(names_of(lower_forward(plan, form).arguments), "inputs"));
  const DeviceProgram numbers =
      lower_training_step(planned({dense(2)}, {3}), train, {.rows = 4, .resident = 100, .targets = 2});
  for (const TensorType& argument : numbers.arguments) {
    if (argument.name == "stored_targets") CHECK(argument.shape == Shape{100, 2});
    if (argument.name == "stored_inputs") CHECK(argument.shape == Shape{100, 3});
  }
}

TEST_CASE("the text of several steps in one call") {
  TrainSpec train;
  train.optimizer.kind = "sgd";
  train.optimizer.own = SgdFields{.momentum = 0.9};
  const LayerPlan plan =
      planned({layer("flatten"), dense(4), layer("batch_norm"), layer("dropout"), dense(3)}, {1, 2, 2});
  const ProgramForm form = {.devices = 2, .rows = 4, .pixels = true, .resident = 100, .steps = 5};
  const DeviceProgram program = lower_training_step(plan, train, form);
  check_golden("steps_sgd", program);
  // What a step gets of its own begins with the steps, and what it changes goes on to the next.
  for (const TensorType& argument : program.arguments) {
    if (argument.name == "rows") CHECK(argument.shape == Shape{5, 4});
    if (argument.name == "seed") CHECK(argument.shape == Shape{5, 2});
    if (argument.name == "learning_rate") CHECK(argument.shape == Shape{5});
    if (argument.name == "stored_targets") CHECK(argument.shape == Shape{100});
    if (argument.name == "count") CHECK(argument.shape.empty());
  }
  CHECK(program.results.back().shape == Shape{5, 3});
  CHECK(contains(names_of(program.results), "batch_norm.running_mean"));
  CHECK(count(program.text, "tf.aliasing_output") == program.results.size() - 1);
}

TEST_CASE("programs for GPUs have loops of a fixed length and no scatter, and may round products") {
  const LayerPlan plan = planned({layer("max_pool2d"), layer("flatten"), dense(3)}, {1, 4, 4});
  ProgramForm form = {.rows = 4, .resident = 100, .steps = 5};
  const DeviceProgram any = lower_training_step(plan, TrainSpec{}, form);
  CHECK(count(any.text, "optimization_barrier") == 0);
  form.on_gpus = form.whole_calls = form.rounds_products = true;
  const DeviceProgram program = lower_training_step(plan, TrainSpec{}, form);
  CHECK(contains(names_of(any.arguments), "count"));
  CHECK(!contains(names_of(program.arguments), "count"));
  CHECK(count(program.text, "select_and_scatter") == 0);
  CHECK(count(program.text, "optimization_barrier") == 1);
  CHECK(count(program.text, "HIGHEST") == 0);
  CHECK(count(program.text, "precision = [DEFAULT, DEFAULT]") ==
        count(any.text, "precision = [HIGHEST, HIGHEST]"));
  CHECK(names_of(program.results) == names_of(any.results));
}

TEST_CASE("a training step takes the variables, memories and batch by their names") {
  TrainSpec train;
  train.ema.decay = 0.9;
  const LayerPlan plan = small_network();
  const DeviceProgram program = lower_training_step(plan, train, {.rows = 4, .pixels = true});
  std::vector<std::string> expected;
  for (const auto& [name, tensor] : named_variables(*outline_model(plan, at::kFloat)))
    expected.push_back(name);
  const std::vector<std::string> parameters = {"first.weight",    "first.bias",   "batch_norm.weight",
                                               "batch_norm.bias", "dense.weight", "dense.bias"};
  for (const std::string memory : {"average", "square_average", "weights"}) {
    for (const std::string& name : parameters) expected.push_back("optimizer." + memory + "." + name);
  }
  std::vector<std::string> results = expected;
  for (const char* name : {"step", "learning_rate", "examples", "seed", "inputs", "targets", "weights"})
    expected.emplace_back(name);
  CHECK(names_of(program.arguments) == expected);
  results.emplace_back("sums");
  CHECK(names_of(program.results) == results);
  // Each variable and memory is updated where it lies.
  CHECK(count(program.text, "tf.aliasing_output") == results.size() - 1);
  CHECK(program.results.back().shape == Shape{3});
  const TensorType& inputs = program.arguments[expected.size() - 3];
  CHECK(inputs.type == at::kByte);
  CHECK(inputs.shape == Shape{4, 1, 4, 4});
}

TEST_CASE("frozen layers get no update, and nothing is computed for them") {
  const LayerPlan plan = small_network();
  const ProgramForm form = {.rows = 4, .trained = {false, false, false, false, true}};
  const DeviceProgram program = lower_training_step(plan, TrainSpec{}, form);
  CHECK(names_of(program.results) ==
        std::vector<std::string>{"dense.weight", "dense.bias", "optimizer.average.dense.weight",
                                 "optimizer.average.dense.bias", "optimizer.square_average.dense.weight",
                                 "optimizer.square_average.dense.bias", "sums"});
  CHECK(contains(names_of(program.arguments), "batch_norm.running_mean"));
  CHECK(!contains(names_of(program.arguments), "optimizer.average.first.weight"));
  CHECK(count(program.text, "stablehlo.convolution") == 1);  // forward
}

TEST_CASE("devices add up their gradients and sums, and one device has nobody to add to") {
  const LayerPlan plan = small_network();
  const auto reductions = [&](int64_t devices, bool synchronised) {
    TrainSpec train;
    train.sync_batch_norm = synchronised;
    return count(lower_training_step(plan, train, {.devices = devices, .rows = 2}).text,
                 "stablehlo.all_reduce");
  };
  CHECK(reductions(1, true) == 0);
  CHECK(reductions(4, false) == 1);
  CHECK(reductions(4, true) == 4);  // two of the statistics, one of their gradient
}

TEST_CASE(
    "every kind of layer that dtrain ships but those of tokens, and every loss and optimizer, is lowered, "
    "and what needs a scaled loss or has several rates is not") {
  const LayerPlan plan = small_network();
  const std::set<std::string> others = {"stochastic_depth",     "patch_embedding", "class_token",
                                        "positional_embedding", "attention",       "first_token"};
  for (const LayerKind* kind : shipped_layers()) {
    LayerPlan one = plan;
    one.layers.front().spec.kind = kind->name;
    INFO(kind->name);
    const bool is_other = others.contains(kind->name);
    CHECK(reason_not_to_lower(one, TrainSpec{}) ==
          (is_other ? std::string("layers of the kind ") + kind->name : ""));
  }
  for (const std::string& kind : objective_names()) {
    TrainSpec train;
    train.loss.kind = kind;
    CHECK(reason_not_to_lower(plan, train).empty());
  }
  TrainSpec no_loss;
  no_loss.loss.kind = "nothing";
  CHECK(reason_not_to_lower(plan, no_loss) == "train.loss: nothing");
  CHECK_THROWS_WITH(lower_training_step(plan, no_loss, {.rows = 2}), "the loss nothing is not lowered");
  for (const std::string& kind : optimizer_kinds().built) {
    TrainSpec train;
    train.optimizer.kind = kind;
    CHECK(reason_not_to_lower(plan, train).empty());
  }
  TrainSpec train;
  train.precision = "bf16_mixed";
  CHECK(reason_not_to_lower(plan, train).empty());
  train.precision = "fp16_mixed";
  CHECK(reason_not_to_lower(plan, train) == "train.precision: fp16_mixed");
  train.layer_decay = 0.5;
  CHECK(reason_not_to_lower(plan, train) == "train.layer_decay");
  train.optimizers.emplace_back();
  CHECK(reason_not_to_lower(plan, train) == "train.optimizers");
  LayerPlan unknown = plan;
  unknown.layers.front().spec.kind = "nothing";
  CHECK(reason_not_to_lower(unknown, TrainSpec{}) == "layers of the kind nothing");
  unknown.layers.front().spec = bare_layer();  // is known, but not how it is lowered
  CHECK(reason_not_to_lower(unknown, TrainSpec{}) == "layers of the kind bare");
}

}  // namespace
}  // namespace dtrain
