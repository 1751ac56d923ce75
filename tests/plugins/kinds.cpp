// One kind of each sort, and a generative adversarial network.
#include <dtrain/plugin.h>
#include <torch/nn/modules/activation.h>
#include <torch/nn/modules/container/sequential.h>
#include <torch/nn/modules/linear.h>

namespace {

using dtrain::Options;
using dtrain::Shape;

int64_t product(const Shape& shape) {
  int64_t numbers = 1;
  for (const int64_t size : shape) numbers *= size;
  return numbers;
}

// A hidden layer whose units are multiplied by gates: (W x) * sigmoid(V x).
struct GatedMlp : torch::nn::Module {
  GatedMlp(int64_t inputs, int64_t units, int64_t outputs)
      : values(register_module("values", torch::nn::Linear(inputs, units))),
        gates(register_module("gates", torch::nn::Linear(inputs, units))),
        head(register_module("head", torch::nn::Linear(units, outputs))) {}

  at::Tensor forward(const at::Tensor& input) {
    const at::Tensor rows = input.flatten(1);
    return head(values(rows) * at::sigmoid(gates(rows)));
  }

  torch::nn::Linear values, gates, head;
};

// Multiplies by a learned number.
struct Scale : torch::nn::Module {
  explicit Scale(double by) : factor(register_parameter("factor", at::full({1}, by))) {}

  at::Tensor forward(const at::Tensor& input) { return input * factor; }

  at::Tensor factor;
};

// Multiplies by numbers that are drawn once.
struct Fixed : torch::nn::Module {
  explicit Fixed(const Shape& input)
      : factors(register_parameter("factors", at::randn(input), /*requires_grad=*/false)) {}

  at::Tensor forward(const at::Tensor& input) { return input * factors; }

  at::Tensor factors;
};

// Lin et al. 2017, Focal Loss for Dense Object Detection, equation 4: -(1 - p)^gamma log p.
at::Tensor focal_loss(const Options& options, const at::Tensor& outputs, const at::Tensor& targets) {
  const at::Tensor log_p = at::log_softmax(outputs, 1).gather(1, targets.unsqueeze(1)).squeeze(1);
  return -at::pow(1 - log_p.exp(), options.number("gamma")) * log_p;
}

at::Tensor yes_no_loss(const Options&, const at::Tensor& outputs, const at::Tensor& targets) {
  return at::binary_cross_entropy(at::sigmoid(outputs), targets, {}, at::Reduction::None).mean(1);
}

// Polyak 1964: v <- momentum v + gradient; p <- p - rate v.
void heavy_ball(const dtrain::OptimizerUpdate& update) {
  for (size_t i = 0; i < update.parameters.size(); ++i) {
    const at::Tensor& velocity = update.memory[0][i];
    velocity.mul_(update.options.number("inertia")).add_(update.gradients[i]);
    if (update.weight_decay != 0) velocity.add_(update.parameters[i], update.weight_decay);
    update.parameters[i].sub_(velocity, update.learning_rate);
  }
}

// Goodfellow et al. 2014, Generative Adversarial Networks. Its output is what the discriminator thinks of the
// inputs: above zero, they are real.
struct Gan : torch::nn::Module {
  Gan(int64_t numbers, int64_t latent, int64_t units)
      : generator(register_module("generator", network(latent, units, numbers))),
        discriminator(register_module("discriminator", network(numbers, units, 1))) {}

  static torch::nn::Sequential network(int64_t inputs, int64_t units, int64_t outputs) {
    return torch::nn::Sequential(torch::nn::Linear(inputs, units), torch::nn::Tanh(),
                                 torch::nn::Linear(units, outputs));
  }

  // A number for each example, [n].
  at::Tensor forward(const at::Tensor& input) { return discriminator->forward(input.flatten(1)).squeeze(1); }

  torch::nn::Sequential generator, discriminator;
};

class Adversarial : public dtrain::TrainingStep {
 public:
  Adversarial(const Options& options, const dtrain::StepModel& model)
      : gan_(model.as<Gan>()), noise_(options.text("noise")) {}

  // Both losses are of the same networks, as in the tutorials of TensorFlow.
  dtrain::StepResult compute(const dtrain::StepBatch& batch) override {
    const at::Tensor real = batch.inputs.flatten(1);
    const at::Tensor fake = at::sigmoid(gan_.generator->forward(noise(real)));
    const at::Tensor of_real = gan_.discriminator->forward(real);
    const at::Tensor of_fake = gan_.discriminator->forward(fake);
    const at::Tensor discriminator = loss(of_real, 1) + loss(gan_.discriminator->forward(fake.detach()), 0);
    const at::Tensor generator = loss(of_fake, 1);
    return {.losses = {{discriminator, gan_.discriminator->parameters()},
                       {generator, gan_.generator->parameters()}},
            .metrics = {generator.detach(), discriminator.detach()}};
  }

 private:
  static at::Tensor loss(const at::Tensor& logits, double target) {
    return at::binary_cross_entropy_with_logits(logits, at::full_like(logits, target), {}, {},
                                                at::Reduction::Sum);
  }

  // Drawn, or such that the same example always gets the same: then N replicas train like one.
  at::Tensor noise(const at::Tensor& real) const {
    const auto& first = gan_.generator->ptr<torch::nn::LinearImpl>(0)->weight;
    const int64_t latent = first.size(1);
    if (noise_ == "drawn") return at::randn({real.size(0), latent}, real.options());
    return at::cos(real.sum(1, /*keepdim=*/true) * at::arange(1, latent + 1, real.options()));
  }

  Gan& gan_;
  std::string noise_;
};

}  // namespace

DTRAIN_PLUGIN(registry) {
  registry.model(
      "gated_mlp",
      {{.name = "gated_units", .otherwise = 64, .doc = "hidden units", .minimum = 1, .maximum = 1e6}},
      [](const Options& options, const Shape& input) {
        return std::make_shared<GatedMlp>(product(input), options.integer("gated_units"), options.outputs());
      });
  registry.layer(
      "scale", {{.name = "by", .otherwise = 2.0, .doc = "the factor at first", .minimum = 0}},
      [](const Options& options, const Shape&) { return std::make_shared<Scale>(options.number("by")); });
  registry.layer("fixed", {},
                 [](const Options&, const Shape& input) { return std::make_shared<Fixed>(input); });
  registry.loss("focal",
                {{.name = "gamma", .otherwise = 2.0, .doc = "how little easy examples count", .minimum = 0}},
                dtrain::LossOf::kClasses, focal_loss);
  registry.loss("yes_no", {}, dtrain::LossOf::kYesNo, yes_no_loss);
  registry.optimizer("heavy_ball",
                     {{.name = "inertia",
                       .otherwise = 0.9,
                       .doc = "the part of the velocity that a step keeps",
                       .minimum = 0,
                       .maximum = 1}},
                     {"velocity"}, heavy_ball);
  registry.model(
      "gan",
      {{.name = "latent", .otherwise = 16, .doc = "numbers that a picture is made from", .minimum = 1},
       {.name = "gan_units", .otherwise = 64, .doc = "hidden units of each network", .minimum = 1}},
      [](const Options& options, const Shape& input) {
        return std::make_shared<Gan>(product(input), options.integer("latent"), options.integer("gan_units"));
      });
  registry.step("adversarial",
                {{.name = "noise",
                  .otherwise = "drawn",
                  .doc = "where the generator's inputs come from",
                  .choices = {"drawn", "of_example"}}},
                {"generator_loss", "discriminator_loss"},
                [](const Options& options, const dtrain::StepModel& model) {
                  return std::make_unique<Adversarial>(options, model);
                });
}
