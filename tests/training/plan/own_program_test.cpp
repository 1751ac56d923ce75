// Plans of jobs whose model is a user's TorchScript module, and the copies that are kept of it.
#include "plan/own_program.h"

#include <algorithm>
#include <filesystem>

#include "catch.h"
#include "copied_variables.h"
#include "crypto/crypto.h"
#include "export/exports.h"
#include "files.h"
#include "job_file/print.h"
#include "models/variables.h"
#include "plan/planned_step.h"
#include "script_modules.h"
#include "torch/csrc/jit/serialization/import.h"
#include "train/assembly.h"
#include "train/small_jobs.h"

namespace dtrain {
namespace {

namespace fs = std::filesystem;

struct OwnModel {
  TemporaryFolder folder;
  fs::path file = write_file(folder / "net.pt", script_bytes(script_network()));
  std::vector<std::string> overrides(std::vector<std::string> more = {}) const {
    more.insert(more.begin(), {"model.kind=torchscript", "model.file=" + file.string()});
    return more;
  }
};

std::string problems_with(const OwnModel& model, const std::vector<std::string>& more) {
  return problems_of(plan_job(small_spec(model.overrides(more)), find_dataset));
}

TEST_CASE("a plan notes a module's SHA-256, counts its variables, and computes it eagerly") {
  const OwnModel model;
  const JobPlan job = small_job(model.overrides());
  CHECK(job.spec.model.sha256 == hexadecimal(sha256_of_file(model.file)));
  CHECK(job.model.parameters() == 16 * 6 + 6 + 12 + 6 * 3 + 3);
  CHECK(planned_step(job, job.distributed_run()).execution == "eager");
  CHECK(planned_step(job, job.distributed_run()).reason == "model.kind: torchscript");
  CHECK(std::ranges::any_of(job.model.layers, [](const PlacedLayer& layer) {
    return layer.name.ends_with("norm") && layer.spec.kind == "module";
  }));
  CHECK(initial_model(job)->outputs() == 3);
}

TEST_CASE("what is wrong with the file of a module is a problem of the spec") {
  const OwnModel model;
  CHECK_THAT(problems_with(model, {"model.file=/no/such.pt"}),
             ContainsSubstring("model.file: /no/such.pt: cannot open: No such file"));
  CHECK_THAT(problems_with(model, {"model.sha256=" + std::string(64, '0')}),
             ContainsSubstring("net.pt: is not the file that the job began with: its SHA-256 is "));
  CHECK_THAT(problems_with(model, {"data.shape=[1, 5, 4]"}),
             ContainsSubstring("mat1 and mat2 shapes cannot be multiplied (3x20 and 16x6)"));
  CHECK_THAT(problems_with(model, {"data.classes=5"}),
             ContainsSubstring(
                 "gives [3, 3] of Float; 5 classes need [n, 5] (here n = 3) of floating-point numbers"));
  write_file(model.file, "no module");
  CHECK_THAT(problems_with(model, {}),
             ContainsSubstring("model.file: " + model.file.string() + ": is no TorchScript module"));
  CHECK_THAT(problems_of(small_spec({"model.kind=torchscript"})), ContainsSubstring("model.file"));
  CHECK_THAT(problems_of(small_spec(model.overrides({"train.sync_batch_norm=true"}))),
             ContainsSubstring("train.sync_batch_norm: changes what dtrain's own batch_norm computes"));
}

TEST_CASE("phases name the modules, and head is one of this name") {
  const OwnModel model;
  CHECK(problems_with(model, {"phases=[{epochs: 1, trainable: [fi*, self]}]"}).empty());
  // The whole has no variables itself, and is not the last layer.
  const JobPlan last = small_job(model.overrides({"phases=[{epochs: 1, trainable: {last_layers: 1}}]"}));
  const std::vector<bool> trained = last.distributed_run().phases.front().layers.each;
  CHECK(trained == std::vector<bool>{false, false, true, true});
  CHECK_THAT(problems_with(model, {"phases=[{epochs: 1, trainable: [dense]}]"}),
             ContainsSubstring("no layer is named 'dense'"));
  CHECK_THAT(problems_with(model, {"phases=[{epochs: 1, trainable: head}]"}),
             ContainsSubstring("no layer is named 'head'"));
}

TEST_CASE("a plan keeps a copy of the module beside it, and replicas read that") {
  const OwnModel model;
  const JobPlan job = small_job(model.overrides());
  const fs::path plan = model.folder / "plan.json";
  write_plan(plan, job);
  CHECK(content_of(model.folder / kProgramFile) == content_of(model.file));
  write_file(model.file, "changed");
  const JobPlan read = read_plan(plan);
  CHECK(read.spec.model.file == model.file.string());
  CHECK(initial_model(read)->outputs() == 3);
  write_plan(plan, read);  // as a restart does
  write_file(model.folder / kProgramFile, "changed");
  CHECK_THROWS_WITH(read_plan(plan), ContainsSubstring("no model that can be built"));
}

// A run's spec in the folder, which is the module's.
fs::path spec_of_run(const OwnModel& model, const JobPlan& job) {
  return write_file(model.folder / "spec.yaml", print_spec(job.spec));
}

TEST_CASE("the copy beside a spec is used only if it is of the job's file") {
  const OwnModel model;
  const JobPlan job = small_job(model.overrides());
  const fs::path spec = spec_of_run(model, job), copy = model.folder / kProgramFile;
  const auto used = [&](const Overrides& overrides = {}) {
    return program_file(load_spec(spec, overrides).spec.model);
  };
  CHECK(used() == model.file.string());
  write_file(copy, "unrelated");
  CHECK(used() == model.file.string());
  CHECK(plan_job(load_spec(spec), find_dataset).ok());
  fs::copy_file(model.file, copy, fs::copy_options::overwrite_existing);
  CHECK(used() == copy.string());
  CHECK(used({"model.file=/no/such.pt"}) == "/no/such.pt");
  CHECK(used(Overrides(std::vector<std::string>{}, {"model.sha256"})) == model.file.string());
  fs::remove(model.file);
  CHECK(plan_job(load_spec(spec), find_dataset).ok());
}

TEST_CASE("a checkpoint's copy takes the place of the run's, and without any the error says what to do") {
  const OwnModel model;
  const JobPlan job = small_job(model.overrides());
  const fs::path spec = spec_of_run(model, job);
  write_file(model.folder / kProgramFile, "damaged");
  const fs::path checkpoint = model.folder / "checkpoints/step-000000001";
  fs::create_directories(checkpoint);
  fs::rename(model.file, checkpoint / kProgramFile);
  CHECK(program_file(load_spec(spec).spec.model) == (checkpoint / kProgramFile).string());
  CHECK(plan_job(load_spec(spec), find_dataset).ok());
  fs::remove(checkpoint / kProgramFile);
  CHECK_THAT(problems_of(plan_job(load_spec(spec), find_dataset)),
             ContainsSubstring("put the file with this model.sha256 in its place"));
}

TEST_CASE("a copy that is a symbolic link is none") {
  const OwnModel model;
  fs::create_symlink(model.file, model.folder / kProgramFile);
  CHECK(kept_program(model.folder.path()).empty());
}

TEST_CASE("an exported module normalises its pixels and has the trained variables") {
  const OwnModel model;
  const JobPlan job = small_job(model.overrides({"data.mean=0.25", "data.standard_deviation=0.5"}));
  const auto trained = initial_model(job);
  Variables variables = copy_variables(*trained);
  for (auto& [name, tensor] : variables) tensor.mul_(3);
  write_variables(*trained, variables);
  trained->eval();
  const at::Tensor pixels = numbers_like({5, 1, 4, 4}).mul(300).abs();
  std::istringstream bytes(torchscript_model(job.model, job.spec.data, variables, {.softmax = true}));
  torch::jit::Module exported = torch::jit::load(bytes);
  const at::Tensor expected = at::softmax(trained->forward((pixels / 255 - 0.25) / 0.5), 1);
  CHECK(at::allclose(exported.forward({pixels}).toTensor(), expected, 1e-5, 1e-6));
}

}  // namespace
}  // namespace dtrain
