// The workload of scripts/bench_peers as one writes it with LibTorch's C++ frontend: one replica on one core.
#include <sched.h>
#include <torch/torch.h>

#include <iostream>
#include <numeric>
#include <string>

#include "core/clock.h"
#include "data/dataset.h"

namespace {

constexpr int64_t kFilters = 32, kKernel = 3, kPool = 2, kDense = 64, kClasses = 10, kSide = 28;

torch::nn::Sequential make_model(const std::string& kind) {
  using namespace torch::nn;
  if (kind == "mlp")
    return Sequential(Flatten(), Linear(kSide * kSide, 256), ReLU(), Linear(256, 128), ReLU(),
                      Linear(128, kClasses));
  const int64_t side = (kSide - kKernel + 1) / kPool;
  return Sequential(Conv2d(Conv2dOptions(1, kFilters, kKernel)), ReLU(), MaxPool2d(MaxPool2dOptions(kPool)),
                    Flatten(), Linear(kFilters * side * side, kDense), ReLU(), Linear(kDense, kClasses));
}

struct Images {
  at::Tensor inputs, targets;
};

Images load(const std::string& dataset, const std::string& folder) {
  dtrain::DataSpec spec;
  spec.dataset = dataset;
  spec.path = folder;
  const dtrain::ExampleSourcePtr train = dtrain::load_dataset(spec, 0).train;
  const int64_t count = train->size();
  dtrain::ExampleSlot all{at::empty({count, 1, kSide, kSide}, at::kByte), at::empty({count}, at::kLong)};
  std::vector<int64_t> indices(static_cast<size_t>(count));
  std::iota(indices.begin(), indices.end(), int64_t{0});
  train->read(indices, {}, all);
  return {all.inputs.to(at::kFloat) / 255, all.targets};
}

void stay_on_one_core() {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(sched_getcpu(), &one);
  sched_setaffinity(0, sizeof one, &one);
  at::set_num_threads(1);
}

}  // namespace

// libtorch_by_hand MODEL DATASET FOLDER BATCH STEPS WINDOW
int main(int count, char** arguments) {
  if (count != 7) return 2;
  const int64_t batch = std::stoll(arguments[4]), steps = std::stoll(arguments[5]),
                window = std::stoll(arguments[6]);
  stay_on_one_core();
  torch::manual_seed(42);
  const Images images = load(arguments[2], arguments[3]);
  torch::nn::Sequential model = make_model(arguments[1]);
  torch::optim::Adam optimizer(model->parameters(), torch::optim::AdamOptions(1e-3));
  at::Tensor order, total = at::zeros({});
  for (int64_t step = 1, next = 0; step <= steps; ++step, next += batch) {
    if (!order.defined() || next + batch > order.numel()) {
      order = at::randperm(images.targets.numel());
      next = 0;
    }
    const at::Tensor chosen = order.narrow(0, next, batch);
    optimizer.zero_grad();
    const at::Tensor loss = at::cross_entropy_loss(model->forward(images.inputs.index_select(0, chosen)),
                                                   images.targets.index_select(0, chosen));
    loss.backward();
    optimizer.step();
    total += loss.detach();
    if (step % window != 0) continue;
    std::cout << R"({"event": "step", "step": )" << step << R"(, "time": ")" << dtrain::utc_time()
              << R"(", "loss": )" << total.item<double>() / static_cast<double>(window) << "}" << std::endl;
    total.zero_();
  }
}
