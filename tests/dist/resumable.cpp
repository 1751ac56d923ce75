#include "resumable.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "catch.h"
#include "checkpoint/retention.h"

namespace dtrain {
namespace {

namespace fs = std::filesystem;

// The numbers of the distributed run's events of one kind.
std::vector<std::string> numbers_of(const Job& job, const std::string& kind) {
  std::vector<std::string> numbers;
  for (Event event : job.events(kind, "distributed")) {
    for (const char* timed :
         {"time", "seconds", "examples_per_second", "step_ms", "bytes_sent", "bytes_received", "phases_ms"})
      event.erase(timed);
    // A sum in another order may differ in its last bit.
    for (const char* sum : {"loss", "gradient_norm"}) {
      if (event.contains(sum)) event[sum] = fmt::format("{:.12g}", event[sum].get<double>());
    }
    numbers.push_back(event_text(event));
  }
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}

}  // namespace

const char* const kResumableSpec = R"(name: resumed
strategy: {kind: mirrored, replicas: 2, threads_per_replica: 1}
data: {dataset: synthetic, train_examples: 1000, test_examples: 100, shape: [1, 4, 4], classes: 4}
batch: {global: 16}
model:
  kind: layers
  layers:
    - {kind: flatten}
    - {kind: dense, units: 32}
    - {kind: batch_norm}
    - {kind: relu}
    - {kind: dropout, rate: 0.25}
    - {kind: dense, units: 4}
train:
  epochs: 20
  optimizer: {kind: adam, learning_rate: 0.003, weight_decay: 0.001}
  ema: {decay: 0.99}
  clip_norm: 0.5
  schedule: {kind: reduce_on_plateau, patience: 1, final_factor: 0.01}
metrics: {every_steps: 7}
checkpoint: {every_steps: 25, keep: 1000}
)";

fs::path checkpoints_of(const Job& job) { return job.run_folder() / "checkpoints"; }

std::vector<std::string> result_of(const Job& job) {
  const auto saved = list_checkpoints(checkpoints_of(job));
  REQUIRE_FALSE(saved.empty());
  return {saved.back().path.filename(), content_of(saved.back().path / "model.safetensors"),
          content_of(saved.back().path / "optimizer.safetensors")};
}

NamedTensors variables_of(const Job& job) {
  const auto saved = result_of(job).front();
  const SafetensorsFile file(checkpoints_of(job) / saved / "model.safetensors");
  NamedTensors all;
  for (const TensorEntry& entry : file.tensors()) all.emplace_back(entry.name, file.read(entry));
  return all;
}

void require_done(const Finished& run) {
  INFO(run.output << run.errors);
  REQUIRE(run.exit_code == 0);
}

const Job& undisturbed() {
  static const Job job(kResumableSpec);
  static const bool made = [] {
    const Finished run = run_program(job.run());
    INFO(run.output << run.errors);
    REQUIRE(run.exit_code == 0);
    return true;
  }();
  static_cast<void>(made);
  return job;
}

void check_like_undisturbed(const Job& job, bool killed) {
  CHECK(result_of(job) == result_of(undisturbed()));
  for (const char* kind : {"step", "epoch", "eval"}) {
    const auto own = numbers_of(job, kind), all = numbers_of(undisturbed(), kind);
    CHECK(std::set<std::string>(own.begin(), own.end()).size() == own.size());
    CHECK(std::includes(all.begin(), all.end(), own.begin(), own.end()));
    // What was on its way to the file when the job was killed is lost: the job is killed three times at most.
    const size_t lost = !killed ? 0 : kind == std::string("step") ? 20 : 3;
    CHECK(own.size() + lost >= all.size());
  }
  CHECK(job.event("run_end", "distributed").at("steps") == 20 * 63);
}

void wait_for_checkpoint(const Job& job, int64_t step) {
  REQUIRE(eventually(60, [&] {
    const auto saved = list_checkpoints(checkpoints_of(job));
    return !saved.empty() && saved.back().step >= step;
  }));
}

}  // namespace dtrain
