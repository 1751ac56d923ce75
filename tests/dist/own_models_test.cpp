// Jobs whose model is a TorchScript module of the user's.
#include <fmt/format.h>

#include <csignal>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "catch.h"
#include "job.h"
#include "resumable.h"
#include "safetensors/safetensors.h"
#include "script_modules.h"

namespace dtrain {
namespace {

namespace fs = std::filesystem;

// [n, 1, 4, 4] -> [n, 3], without what depends on a replica's share; also a parameter that nothing uses.
torch::jit::Module plain_network() {
  const ScriptUnit unit = new_unit();
  torch::jit::Module network = script_module(unit);
  network.register_module("first", script_linear(unit, 16, 8));
  network.register_module("last", script_linear(unit, 8, 3));
  add_parameter(network, "unused", at::ones({5}));
  network.define(R"(
def forward(self, x: Tensor) -> Tensor:
  x = self.first.forward(torch.view(x, [torch.size(x, 0), 16]))
  return self.last.forward(torch.tanh(x))
)");
  return network;
}

// With `examples` of 49, shares of the last batch are empty; with 52 each has two.
std::string spec_of(const fs::path& file, int examples = 52) {
  return fmt::format(R"(name: own
strategy: {{kind: mirrored, replicas: 2, threads_per_replica: 1}}
data: {{dataset: synthetic, train_examples: {}, test_examples: 20, shape: [1, 4, 4], classes: 3}}
batch: {{global: 12}}
model: {{kind: torchscript, file: {}}}
train: {{epochs: 12, optimizer: {{kind: adam, learning_rate: 0.01}}}}
metrics: {{every_steps: 5}}
checkpoint: {{every_steps: 1, keep: 1000}}
)",
                     examples, file.string());
}

// A file that stays as long as the tests run.
std::string shared_file(const char* name, const torch::jit::Module& network) {
  static const TemporaryFolder folder;
  return write_file(folder / name, script_bytes(network));
}

const std::string& noisy_spec() {
  static const std::string spec = spec_of(shared_file("noisy.pt", script_network()));
  return spec;
}

const Job& whole_noisy_training() {
  static const Job job(noisy_spec());
  static const bool made = (require_done(run_program(job.run())), true);
  static_cast<void>(made);
  return job;
}

TEST_CASE("a module with norms and dropout goes on with the same bits from any step") {
  const Job& whole = whole_noisy_training();
  CHECK(result_of(whole).front() == "step-000000060");
  for (const int step : {1, 2, 3, 50}) {
    const Job job(noisy_spec());
    const auto checkpoint = checkpoints_of(whole) / fmt::format("step-{:09}", step);
    INFO(checkpoint);
    require_done(run_program(job.run({"--resume", checkpoint.string()})));
    CHECK(result_of(job) == result_of(whole));
  }
}

TEST_CASE("a job with a module that is killed goes on with the same bits") {
  const Job job(noisy_spec());
  {
    Program program(job.run());
    wait_for_checkpoint(job, 2);
    program.send(SIGKILL);
    program.wait();
    REQUIRE(job.is_gone());
  }
  require_done(run_program({"run", "--resume", job.run_folder().string()}));
  CHECK(result_of(job) == result_of(whole_noisy_training()));
}

TEST_CASE("any number of replicas trains a module like one, whatever they share") {
  const std::string spec = spec_of(shared_file("plain.pt", plain_network()), 49);
  const auto trained = [&](const Job& job, Arguments strategy) {
    strategy.insert(strategy.end(), {"model.dtype=float64", "checkpoint.every_steps=none"});
    require_done(run_program(job.run(Job::set(strategy))));
    return variables_of(job);
  };
  const Job one(spec);
  const NamedTensors expected = trained(one, {"strategy.kind=one_device", "strategy.replicas=auto"});
  for (const Arguments& strategy :
       {Arguments{"strategy.replicas=2"},
        {"strategy.replicas=3", "strategy.communication=gloo"},
        {"strategy.kind=central_storage"},
        {"strategy.kind=multi_worker_mirrored"},
        {"strategy.kind=parameter_server", "strategy.workers=1", "strategy.servers=2"}}) {
    INFO(strategy[0]);
    const Job job(spec);
    const NamedTensors found = trained(job, strategy);
    REQUIRE(found.size() == expected.size());
    for (size_t i = 0; i < found.size(); ++i) {
      INFO(found[i].first);
      CHECK(found[i].first == expected[i].first);
      CHECK(at::allclose(found[i].second, expected[i].second, 1e-11, 1e-12));
    }
  }
}

TEST_CASE("what a module prints is not in the output of a command") {
  const Job job(spec_of(shared_file("printing.pt", script_printing("hello"))));
  const Finished plan = run_program({"plan", job.spec_file().string(), "--json"});
  require_done(plan);
  CHECK(nlohmann::json::accept(plan.output));
  CHECK_THAT(plan.errors, ContainsSubstring("hello\n"));
}

TEST_CASE("a run needs its module's file no more, and does not go on with another") {
  const Job job(spec_of("net.pt"));
  write_file(job.folder() / "net.pt", script_bytes(script_network()));
  const Finished first = run_program(job.run(Job::set({"train.max_steps=7"})));
  require_done(first);
  CHECK_THAT(first.output, ContainsSubstring("dtrain export --format torchscript "));
  write_file(job.folder() / "net.pt", script_bytes(script_network("torch.neg(self.last.forward(x))")));
  const std::string run = job.run_folder().string();
  const Finished other = run_program({"run", job.spec_file().string(), "--resume", run, "--run-dir", run});
  CHECK(other.exit_code == 2);
  CHECK_THAT(other.errors, ContainsSubstring("model.file has other bytes: their SHA-256 is "));
  fs::remove(job.folder() / "net.pt");
  require_done(run_program({"eval", run}));
  require_done(run_program(Arguments{"run", "--resume", run} + Job::set({"train.max_steps=9"})));
  const auto moved = job.folder() / "checkpoints" / result_of(job).front();
  fs::create_directories(moved.parent_path());
  fs::rename(checkpoints_of(job) / moved.filename(), moved);
  require_done(run_program({"eval", moved.string(), "--replicas", "2"}));
  require_done(run_program({"inspect", moved.string()}));
  require_done(
      run_program({"export", moved.string(), "--format", "torchscript", "--out", job.folder() / "out.pt"}));
  require_done(run_program({"export", moved.string(), "--out", job.folder() / "out.safetensors"}));
  const Finished onnx =
      run_program({"export", moved.string(), "--format", "onnx", "--out", job.folder() / "out.onnx"});
  CHECK(onnx.exit_code == 2);
  CHECK_THAT(onnx.errors, ContainsSubstring("self (module) has no form in ONNX"));
}

TEST_CASE("damaged copies of a module's file are told, and intact ones take their place") {
  const Job job(spec_of("net.pt"));
  const auto file = job.folder() / "net.pt";
  write_file(file, script_bytes(script_network()));
  require_done(run_program(job.run(Job::set({"train.max_steps=3"}))));
  const std::string run = job.run_folder().string();
  const auto own = job.run_folder() / "program.pt";
  fs::rename(file, job.folder() / "moved.pt");
  require_done(run_program({"validate", (job.run_folder() / "spec.yaml").string()}));
  const Finished other =
      run_program(Arguments{"run", "--resume", run} + Job::set({"model.file=/no/such.pt"}));
  CHECK(other.exit_code == 2);
  CHECK_THAT(other.errors, ContainsSubstring("/no/such.pt"));
  fs::remove(own);  // and not the checkpoints' other names of it
  write_file(own, "damaged");
  require_done(run_program(Arguments{"run", "--resume", run} + Job::set({"train.max_steps=5"})));
  const auto last = checkpoints_of(job) / result_of(job).front();
  fs::remove(last / "program.pt");
  const Finished absent = run_program({"eval", last.string()});
  CHECK(absent.exit_code == 7);
  CHECK_THAT(absent.errors, ContainsSubstring("put the model.file of the run there"));
  CHECK(run_program({"inspect", last.string()}).exit_code == 7);
  fs::copy_file(job.folder() / "moved.pt", last / "program.pt");
  require_done(run_program({"inspect", last.string()}));
  require_done(run_program({"eval", last.string()}));
}

TEST_CASE("a job with a module goes on when its folder is removed") {
  const Job job(noisy_spec());
  Program program(job.run(Job::set({"train.epochs=100000", "checkpoint.every_steps=200"})));
  wait_for_checkpoint(job, 200);
  const auto removed = job.folder() / "removed";
  fs::rename(job.run_folder(), removed);
  fs::remove_all(removed);
  wait_for_checkpoint(job, 400);
  program.send(SIGTERM);
  CHECK(program.wait().exit_code == 75);
  CHECK(fs::is_regular_file(checkpoints_of(job) / result_of(job).front() / "program.pt"));
  require_done(run_program({"inspect", job.run_folder().string()}));
}

TEST_CASE("modules train in phases, in bf16, and start from the weights of others") {
  const Job& whole = whole_noisy_training();
  const Job job(noisy_spec());
  require_done(run_program(job.run(Job::set(
      {"model.weights=" + whole.run_folder().string(), "train.precision=bf16_mixed",
       "strategy.communication=gloo",
       "phases=[{steps: 3, trainable: [last]}, {steps: 4, trainable: [self, norm, la*]}, {steps: 3}]"}))));
  const auto phases = job.events("phase", "distributed");
  REQUIRE(phases.size() == 3);
  CHECK(phases[0].at("trained_parameters") == 6 * 3 + 3);
  CHECK(phases[1].at("trained_parameters") == 6 * 3 + 3 + 12);
  CHECK(phases[2].at("execution") == "eager");
  const auto first = [&](int step) {
    const SafetensorsFile file(checkpoints_of(job) / fmt::format("step-{:09}", step) / "model.safetensors");
    for (const TensorEntry& entry : file.tensors()) {
      if (entry.name == "first.weight") return file.read(entry);
    }
    return at::Tensor();
  };
  CHECK(at::equal(first(1), first(7)));
  CHECK_FALSE(at::equal(first(7), first(10)));
  for (const auto& [name, tensor] : variables_of(whole)) {
    if (name == "first.weight") CHECK(at::equal(tensor, first(1)));
  }
}

}  // namespace
}  // namespace dtrain
