// A plug-in that fails: when it is loaded, if $DTRAIN_TEST_FAULT says how, or else in a pass of a layer.
#include <dtrain/plugin.h>

#include <csignal>
#include <cstdlib>
#include <string>

namespace {

struct Failing : torch::nn::Module {
  Failing(int64_t last, bool crashes)
      : last(last), crashes(crashes), factor(register_parameter("factor", at::ones({1}))) {}

  at::Tensor forward(const at::Tensor& input) {
    if (is_training() && at::GradMode::is_enabled() && ++passes == last) {
      if (crashes) std::raise(SIGSEGV);
      throw std::runtime_error("the cosmos is out of balance");
    }
    return input * factor;
  }

  int64_t last, passes = 0;
  bool crashes;
  at::Tensor factor;
};

// Gives the gradient of a parameter that it does not have.
class Lost : public dtrain::TrainingStep {
 public:
  dtrain::StepResult compute(const dtrain::StepBatch&) override {
    return {.gradients = {dtrain::StepGradient{at::Tensor(), at::ones({1})}}, .metrics = {at::zeros({})}};
  }
};

dtrain::BuiltModule never(const dtrain::Options&, const dtrain::Shape&) {
  throw std::logic_error("never called");
}

}  // namespace

DTRAIN_PLUGIN(registry) {
  const char* const asked = std::getenv("DTRAIN_TEST_FAULT");
  const std::string fault = asked == nullptr ? "" : asked;
  if (fault == "throws") throw std::runtime_error("no licence was found");
  if (fault == "crashes") std::raise(SIGSEGV);
  if (fault == "known name") registry.layer("dense", {}, never);
  if (fault == "name of parts") registry.layer("module", {}, never);
  if (fault == "known field")
    registry.model("other_mlp", {{.name = "hidden", .otherwise = 3, .doc = ""}}, never);
  if (fault == "other type")
    registry.optimizer("other_sgd", {{.name = "momentum", .otherwise = "much", .doc = ""}}, {},
                       [](const dtrain::OptimizerUpdate&) {});
  const dtrain::UpdateParameters nothing = [](const dtrain::OptimizerUpdate&) {};
  const dtrain::MakeStep no_step = [](const dtrain::Options&, const dtrain::StepModel&) { return nullptr; };
  if (fault == "bad default")
    registry.optimizer("other", {{.name = "much", .otherwise = 1, .doc = "", .minimum = 2}}, {}, nothing);
  if (fault == "bad memory") registry.optimizer("other", {}, {"weights"}, nothing);
  if (fault == "bad metric") registry.step("other", {}, {"epoch"}, no_step);
  registry.step("lost", {}, {"distance"},
                [](const dtrain::Options&, const dtrain::StepModel&) { return std::make_unique<Lost>(); });
  const std::vector<dtrain::OptionInfo> fields = {
      {.name = "pass", .otherwise = 3, .doc = "the pass in training that fails", .minimum = 1}};
  for (const bool crashes : {false, true}) {
    registry.layer(crashes ? "crashing" : "throwing", fields,
                   [crashes](const dtrain::Options& options, const dtrain::Shape&) {
                     return std::make_shared<Failing>(options.integer("pass"), crashes);
                   });
  }
}
