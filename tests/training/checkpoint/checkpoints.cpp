#include "checkpoints.h"

#include <ATen/ATen.h>

#include <algorithm>

namespace dtrain {

Checkpoint small_checkpoint(int64_t step) {
  Checkpoint checkpoint;
  const double s = static_cast<double>(step);
  checkpoint.model = {{"dense.weight", at::arange(60, at::kFloat).reshape({5, 12}) + s},
                      {"dense.bias", at::arange(5, at::kDouble) * 0.1 + s},
                      {"half", at::arange(7, at::kFloat).to(at::kHalf)},
                      {"brain", at::arange(3, at::kFloat).to(at::kBFloat16)},
                      {"nothing", at::empty({0, 3}, at::kFloat)},
                      {"batches", at::scalar_tensor(step, at::kLong)}};
  checkpoint.optimizer = {{"dense.weight.average", at::full({5, 12}, 0.5, at::kFloat)},
                          {"generator", at::arange(33, at::kInt).to(at::kByte)},
                          {"mask", at::tensor({1, 0, 1}, at::kInt).to(at::kBool)},
                          {"counts", at::arange(4, at::kInt)}};
  checkpoint.state.epoch = step / 10;
  checkpoint.state.step = step;
  checkpoint.state.position = step % 10 * 64;
  checkpoint.state.train_examples = 640;
  checkpoint.state.global_batch = 64;
  checkpoint.state.learning_rate = 1e-3;
  checkpoint.state.schedule = {{"kind", "reduce_on_plateau"}, {"plateau", {{"best", 0.25}, {"waited", 1}}}};
  checkpoint.state.metrics = {{"loss", 1 / (1 + s)}, {"accuracy", 0.5}};
  checkpoint.state.replicas = 2;
  checkpoint.state.spec = "name: small\nbatch:\n  per_replica: 64\n";
  return checkpoint;
}

CheckpointSpec keeping(int64_t keep, const BestCheckpointSpec& best) {
  CheckpointSpec spec;
  spec.keep = keep;
  spec.best = best;
  return spec;
}

std::vector<std::string> names_in(const std::filesystem::path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    names.push_back(entry.path().filename());
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace dtrain
