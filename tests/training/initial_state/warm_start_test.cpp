// Starting from the weights of another run.
#include "initial_state/warm_start.h"
#include "job_file/print.h"

#include <ATen/ops/equal.h>
#include <ATen/ops/full_like.h>
#include <fmt/format.h>

#include <fstream>

#include "architectures/architectures.h"
#include "checkpoint/checkpoint.h"
#include "copied_variables.h"
#include "core/error.h"
#include "crypto/crypto.h"
#include "files.h"
#include "initial_state/resume.h"
#include "models/variables.h"
#include "train/assembly.h"
#include "train/small_jobs.h"

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
  CHECK_FALSE(start_from_weights(job, *model));
  REQUIRE(marked(*model).empty());
  for (const auto& path : {saved.run, saved.file}) {
    job.spec.model.weights = path.string();
    require_weights(job);
    const auto started = initial_model(job);
    const auto read = start_from_weights(job, *started);
    REQUIRE(read);
    CHECK_THAT(read->lines.at(0), ContainsSubstring("variables start from " + path.string()) &&
                                      ContainsSubstring("SHA-256 " + read->sha256));
    CHECK(read->sha256 == hexadecimal(sha256_of_file(read->file)));
    CHECK(read->lines.size() == 1);
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
  const std::vector<std::string> lines = start_from_weights(job, *model)->lines;
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
                       ContainsSubstring("is Float [6, 16] in the file, Float [5, 16] here") &&
                       ContainsSubstring(" is not in the file") && ContainsSubstring("model.weights_prefix"));
  const auto model = initial_model(job);
  CHECK_THROWS_AS(start_from_weights(job, *model), Error);
  CHECK(marked(*model).empty());
  job.spec.model.weights = "/nowhere/at/all";
  CHECK_THAT(refusal(job), ContainsSubstring("/nowhere/at/all: there is no such file or folder"));
}

TEST_CASE("a head for other classes keeps its initial values, and this is said") {
  const Saved saved(small_job({"data.classes=7"}));
  JobPlan job = small_job();
  job.spec.model.weights = saved.file.string();
  require_weights(job);
  const auto model = initial_model(job);
  const std::vector<std::string> lines = start_from_weights(job, *model)->lines;
  REQUIRE(lines.size() == 2);
  CHECK_THAT(lines[1], ContainsSubstring("the head keeps its initial values: dense_1.weight is Float [7, ") &&
                           ContainsSubstring("dense_1.bias is Float [7] in the file, Float ["));
  CHECK(marked(*model) == std::vector<std::string>{"dense.weight", "dense.bias"});
  const auto initial = initial_model(small_job());
  CHECK(at::equal(named_variables(*model)[2].second, named_variables(*initial)[2].second));
  // Where nothing else is left of the file, it is of another model.
  const Saved alone(small_job({"model.hidden=[]", "data.classes=7"}));
  job = small_job({"model.hidden=[]"});
  job.spec.model.weights = alone.file.string();
  CHECK_THAT(refusal(job), ContainsSubstring("nothing of it would be used: "));
}

TEST_CASE("a layer of a head of one's own starts from the file as a whole or not at all") {
  const auto job_with = [](const std::string& first) {
    return small_job(
        {"model.kind=lenet5", "data.shape=[1, 16, 16]", "model.include_top=false",
         "model.head=[{kind: " + first + "}, {kind: dense, units: 4}, {kind: dense, units: 3}]"});
  };
  const Saved saved(job_with("flatten"));
  JobPlan job = job_with("global_avg_pool2d");
  job.spec.model.weights = saved.file.string();
  require_weights(job);
  const auto model = initial_model(job);
  const std::vector<std::string> lines = start_from_weights(job, *model)->lines;
  REQUIRE(lines.size() == 2);
  CHECK(lines[1] ==
        "the head keeps its initial values: dense.weight is Float [4, 64] in the file, Float [4, 16] here, "
        "dense.bias");
  CHECK(marked(*model) == std::vector<std::string>{"conv2d.weight", "conv2d.bias", "conv2d_1.weight",
                                                   "conv2d_1.bias", "dense_1.weight", "dense_1.bias"});
}

// A network that torchvision has, and a file with its names: each number is kMark.
const std::vector<std::string> kNetwork = {"model.kind=mobilenet_v2", "data.shape=[3, 32, 32]"};

struct TorchvisionFile {
  TemporaryFolder folder;
  std::filesystem::path path = folder / "mobilenet_v2.safetensors";
  // `classes`: of its last layer; 0: it is without one
  explicit TorchvisionFile(const JobPlan& job, int64_t classes = 1000, const Metadata& metadata = {}) {
    const Architecture network = architecture_of(job.spec.model, 10);
    NamedTensors tensors;
    for (size_t i = 0; i < network.layers.size(); ++i) {
      const std::string& name = network.torchvision[i];
      if (name.empty() || name == "classifier.1") continue;
      for (const auto& [own, tensor] : copy_variables(*initial_model(job))) {
        const std::string layer = job.model.layers[i].name + ".";
        if (own.rfind(layer, 0) == 0)
          tensors.emplace_back(name + "." + own.substr(layer.size()), at::full_like(tensor, kMark));
      }
      if (name == "features.0.1")
        tensors.emplace_back(name + ".num_batches_tracked", at::zeros({}, at::kLong));
    }
    if (classes > 0) {
      tensors.emplace_back("classifier.1.weight", at::full({classes, 1280}, kMark));
      tensors.emplace_back("classifier.1.bias", at::full({classes}, kMark));
    }
    write_safetensors(path, tensors, metadata);
  }
};

TEST_CASE("a file with torchvision's names gives its values to the layers that have these names there") {
  JobPlan job = small_job(kNetwork);
  const bool has_head = GENERATE(true, false);
  const TorchvisionFile file(job, has_head ? 1000 : 0);
  job.spec.model.weights = file.path.string();
  require_weights(job);
  const auto model = initial_model(job);
  const std::vector<std::string> lines = start_from_weights(job, *model)->lines;
  REQUIRE(lines.size() == 2);
  CHECK_THAT(lines[1],
             ContainsSubstring(has_head ? "the head keeps its initial values: dense.weight is Float [1000, "
                                          "1280] in the file, Float ["
                                        : "dense.weight is not in the file, dense.bias is not in the file"));
  CHECK(marked(*model).size() == named_variables(*model).size() - 2);
}

TEST_CASE("a file of torchvision's vision transformer gives its values to all layers but another head") {
  JobPlan job = small_job({"model.kind=vit", "model.size=tiny", "data.shape=[3, 32, 32]"});
  const TemporaryFolder folder;
  const auto path = folder / "vit.safetensors";
  NamedTensors tensors = {{"class_token", at::full({1, 1, 192}, kMark)},
                          {"conv_proj.weight", at::full({192, 3, 16, 16}, kMark)},
                          {"conv_proj.bias", at::full({192}, kMark)},
                          {"encoder.pos_embedding", at::full({1, 5, 192}, kMark)},
                          {"encoder.ln.weight", at::full({192}, kMark)},
                          {"encoder.ln.bias", at::full({192}, kMark)},
                          {"heads.head.weight", at::full({1000, 192}, kMark)},
                          {"heads.head.bias", at::full({1000}, kMark)}};
  const std::vector<std::pair<const char*, std::vector<int64_t>>> of_layer = {
      {"ln_1.weight", {192}},
      {"ln_1.bias", {192}},
      {"self_attention.in_proj_weight", {576, 192}},
      {"self_attention.in_proj_bias", {576}},
      {"self_attention.out_proj.weight", {192, 192}},
      {"self_attention.out_proj.bias", {192}},
      {"ln_2.weight", {192}},
      {"ln_2.bias", {192}},
      {"mlp.0.weight", {768, 192}},
      {"mlp.0.bias", {768}},
      {"mlp.3.weight", {192, 768}},
      {"mlp.3.bias", {192}}};
  for (int layer = 0; layer < 12; ++layer) {
    for (const auto& [name, sizes] : of_layer)
      tensors.emplace_back(fmt::format("encoder.layers.encoder_layer_{}.{}", layer, name),
                           at::full(sizes, kMark));
  }
  write_safetensors(path, tensors, {});
  job.spec.model.weights = path.string();
  require_weights(job);
  const auto model = initial_model(job);
  const std::vector<std::string> lines = start_from_weights(job, *model)->lines;
  REQUIRE(lines.size() == 2);
  CHECK_THAT(lines[1],
             ContainsSubstring("the head keeps its initial values: head.weight is Float [1000, 192]"));
  CHECK(marked(*model).size() == named_variables(*model).size() - 2);

  JobPlan larger = small_job({"model.kind=vit", "model.size=tiny", "data.shape=[3, 64, 64]"});
  larger.spec.model.weights = path.string();
  CHECK_THAT(
      refusal(larger),
      ContainsSubstring("embedded.weight is Float [1, 5, 192] in the file, Float [1, 17, 192] here\n") &&
          ContainsSubstring("data.image.size (or data.shape) and the patch must be as for the weights") &&
          !ContainsSubstring("weights_prefix"));
}

TEST_CASE("without its top, a network takes only its base from torchvision's file") {
  std::vector<std::string> overrides = kNetwork;
  const TorchvisionFile file(small_job(overrides));
  overrides.push_back("model.include_top=false");
  JobPlan job = small_job(overrides);
  job.spec.model.weights = file.path.string();
  require_weights(job);
  const auto model = initial_model(job);
  const std::vector<std::string> lines = start_from_weights(job, *model)->lines;
  REQUIRE(lines.size() == 3);
  CHECK(lines[1] ==
        "the head keeps its initial values: dense.weight is not in the file, dense.bias is not in the file");
  CHECK(lines[2] == "these of the file are not used: classifier.1.bias, classifier.1.weight");
  CHECK(marked(*model).size() == named_variables(*model).size() - 2);
}

TEST_CASE("torchvision's weights of another network are refused with every difference") {
  JobPlan job =
      small_job({"model.kind=vgg", "model.depth=11", "model.include_top=false", "data.shape=[3, 32, 32]"});
  const TorchvisionFile file(small_job(kNetwork));
  job.spec.model.weights = file.path.string();
  CHECK_THAT(refusal(job),
             ContainsSubstring("conv2d.weight is not in the file") && ContainsSubstring("the model has no "));
  // What the script has noted of Keras' bottlenecks.
  job = small_job(kNetwork);
  const TorchvisionFile strided(job, 1000, {{"bottleneck_stride", "first"}});
  job.spec.model.weights = strided.path.string();
  CHECK_THAT(refusal(job), ContainsSubstring("set model.bottleneck_stride: first"));
}

TEST_CASE("a file of PyTorch or Keras is not read, and the script that converts it named") {
  const TemporaryFolder folder;
  const std::filesystem::path path = folder / "resnet18.pth";
  std::ofstream(path) << "PK";
  JobPlan job = small_job();
  job.spec.model.weights = path.string();
  CHECK_THAT(refusal(job), ContainsSubstring("scripts/convert_weights resnet18.pth weights.safetensors"));
}

}  // namespace
}  // namespace dtrain
