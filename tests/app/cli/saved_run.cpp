#include "saved_run.h"

#include <ATen/ATen.h>

#include "architectures/architectures.h"
#include "catch.h"
#include "copied_variables.h"
#include "initial_state/resume.h"
#include "job_file/load.h"
#include "job_file/print.h"
#include "models/model.h"
#include "models/variables.h"

namespace dtrain {

const char* const kSavedSpec = R"(name: small
data: {dataset: synthetic, train_examples: 20, test_examples: 33, shape: [1, 4, 4], classes: 3}
batch: {per_replica: 4}
model: {kind: mlp, hidden: [5]}
evaluate: {batch_per_replica: 7}
)";

std::filesystem::path save_run(const std::filesystem::path& folder,
                               const std::function<void(Checkpoint&)>& change) {
  const LoadedSpec loaded = parse_spec(kSavedSpec, "spec");
  REQUIRE(loaded.ok());
  const LayerPlan plan = place_layers(expand_layers(loaded.spec.model, 3), {1, 4, 4}, 3);
  Checkpoint checkpoint;
  checkpoint.model = copy_variables(*build_model(plan, at::kFloat, 7));
  checkpoint.state.spec = print_spec(loaded.spec);
  checkpoint.state.epoch = 1;
  checkpoint.state.step = 5;
  checkpoint.state.train_examples = 20;
  checkpoint.state.global_batch = 4;
  if (change) change(checkpoint);
  std::filesystem::create_directories(folder / "run");
  save_checkpoint(checkpoint_folder(folder / "run"), checkpoint);
  return folder / "run";
}

}  // namespace dtrain
