// Starting from the weights of another run.
#include "train/warm_start.h"
#include "spec/print.h"

#include <ATen/ops/equal.h>
#include <ATen/ops/full_like.h>

#include "checkpoint/checkpoint.h"
#include "core/error.h"
#include "files.h"
#include "models/variables.h"
#include "small_jobs.h"
#include "train/assembly.h"
#include "train/resume.h"

namespace dtrain {
namespace {

constexpr double kMark = 0.25;  // every number of the weights that are started from

// Saves the variables of the job's model, each number kMark, as a run and as an export.
struct Saved {
  TemporaryFolder folder;
  std::filesystem::path run = folder / "run";
  std::filesystem::path file = folder / "model.safetensors";
  explicit Saved(const JobPlan& job) {
    Checkpoint checkpoint;
    for (const auto& [name, tensor] : copy_variables(*initial_model(job)))
      checkpoint.model.emplace_back(name, at::full_like(tensor, kMark));
    checkpoint.state.spec = print_spec(job.spec);
    TrainingState& state = checkpoint.state;
    state.epoch = state.step = state.train_examples = state.global_batch = 1;
    std::filesystem::create_directory(run);
    save_checkpoint(checkpoint_folder(run), checkpoint);
    write_safetensors(file, checkpoint.model, {});
  }
};

std::vector<std::string> marked(const Model& model) {
  std::vector<std::string> names;
  for (const auto& [name, tensor] : named_variables(model))
    if (at::equal(tensor, at::full_like(tensor, kMark))) names.push_back(name);
  return names;
}

std::string refusal(const JobPlan& job) {
  try {
    require_weights(job);
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::kCheckpoint);
    return error.what();
  }
  return "";
}

TEST_CASE("a model starts from all weights of a run or of an export") {
  JobPlan job = small_job();
  const Saved saved(job);
  const auto model = initial_model(job);
  CHECK(start_from_weights(job, *model).empty());
  REQUIRE(marked(*model).empty());
  for (const auto& path : {saved.run, saved.file}) {
    job.spec.model.weights = path.string();
    require_weights(job);
    const auto started = initial_model(job);
    CHECK_THAT(start_from_weights(job, *started).at(0),
               ContainsSubstring("variables start from " + path.string()));
    CHECK(marked(*started).size() == named_variables(*started).size());
  }
}

TEST_CASE("only the variables whose names begin so start from others, and the rest is listed") {
  JobPlan job = small_job();
  const Saved saved(job);
  const auto model = initial_model(job);
  const std::string first = named_variables(*model).front().first;
  job.spec.model.weights = saved.file.string();
  job.spec.model.weights_prefix = first;
  const std::vector<std::string> lines = start_from_weights(job, *model);
  CHECK(marked(*model) == std::vector<std::string>{first});
  REQUIRE(lines.size() == 3);
  CHECK_THAT(lines[1], ContainsSubstring("these keep their initial values: "));
  CHECK_THAT(lines[2], ContainsSubstring("these of the file are not used: "));
  job.spec.model.weights_prefix = "nothing";
  CHECK_THAT(refusal(job),
             ContainsSubstring("no variable of the model begins with 'nothing'; it has " + first));
}

TEST_CASE("weights of another model are refused with every difference, and nothing is written") {
  const JobPlan other = small_job({"model.hidden=[6]"});
  const Saved saved(other);
  JobPlan job = small_job({"model.hidden=[5,5]"});
  job.spec.model.weights = saved.file.string();
  const std::string text = refusal(job);
  INFO(text);
  CHECK_THAT(text, ContainsSubstring("does not fit the model:") &&
                       ContainsSubstring("is Float [6, 16], the model's") &&
                       ContainsSubstring("it has no '") && ContainsSubstring("model.weights_prefix"));
  const auto model = initial_model(job);
  CHECK_THROWS_AS(start_from_weights(job, *model), Error);
  CHECK(marked(*model).empty());
  job.spec.model.weights = "/nowhere/at/all";
  CHECK_THAT(refusal(job), ContainsSubstring("/nowhere/at/all: there is no such file or folder"));
}

}  // namespace
}  // namespace dtrain
