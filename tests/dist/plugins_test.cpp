// Jobs with kinds of plug-ins (tests/plugins).
#include <fmt/format.h>

#include <csignal>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include "catch.h"
#include "job.h"
#include "resumable.h"

namespace dtrain {
namespace {

namespace fs = std::filesystem;

std::string spec_of(const std::string& model, const std::string& train, const char* plugin = "kinds") {
  return fmt::format(R"(name: own
plugins: [{}/lib{}.so]
strategy: {{kind: mirrored, replicas: 2, threads_per_replica: 1}}
data: {{dataset: synthetic, train_examples: 49, test_examples: 20, shape: [1, 4, 4], classes: 3}}
batch: {{global: 12}}
model: {}
train: {{epochs: 12, {}}}
metrics: {{every_steps: 5}}
checkpoint: {{every_steps: 1, keep: 1000}}
)",
                     DTRAIN_PLUGINS, plugin, model, train);
}

const char* const kAdam = "optimizer: {kind: adam, learning_rate: 0.01}";

std::string adversarial(const std::string& noise) {
  return spec_of("{kind: gan, latent: 4, gan_units: 8}",
                 fmt::format("loss: {{kind: adversarial, noise: {}}}, {}", noise, kAdam));
}

// With a layer, a loss and an optimizer of a plug-in.
std::string mixed() {
  return spec_of(
      "{kind: layers, layers: [{kind: flatten}, {kind: scale}, {kind: dense, units: 8, activation: tanh}, "
      "{kind: dense, units: 3}]}",
      "loss: focal, optimizer: {kind: heavy_ball, learning_rate: 0.01, weight_decay: 0.01}");
}

NamedTensors trained(const std::string& spec, Arguments strategy) {
  INFO(strategy.front());
  const Job job(spec);
  strategy.insert(strategy.end(), {"model.dtype=float64", "checkpoint.every_steps=none"});
  require_done(run_program(job.run(Job::set(strategy))));
  return variables_of(job);
}

void require_same(const NamedTensors& ours, const NamedTensors& expected) {
  REQUIRE(ours.size() == expected.size());
  for (size_t i = 0; i < ours.size(); ++i) {
    INFO(ours[i].first);
    CHECK(ours[i].first == expected[i].first);
    CHECK(at::allclose(ours[i].second, expected[i].second, 1e-10, 1e-12));
  }
}

TEST_CASE("any number of replicas trains the kinds of a plug-in like one") {
  const std::string optimizers =
      ", optimizers: [{parameters: discriminator.*, kind: sgd, learning_rate: 0.1, momentum: 0.5}]}";
  const std::string several =
      replace_once(adversarial("of_example"), "}}\nmetrics", "}" + optimizers + "\nmetrics");
  const std::vector<Arguments> all = {{"strategy.replicas=2"},
                                      {"strategy.replicas=3", "strategy.communication=gloo"},
                                      {"strategy.replicas=2", "batch.per_replica=2", "batch.global=12"},
                                      {"strategy.kind=central_storage"},
                                      {"strategy.kind=multi_worker_mirrored"}};
  const std::vector<Arguments> some = {all[1], all[2]};  // for a model, and for several optimizers
  const std::string model = spec_of("{kind: gated_mlp, gated_units: 8}", kAdam);
  for (const std::string& spec : {model, mixed(), adversarial("of_example"), several}) {
    INFO(spec);
    const NamedTensors expected = trained(spec, {"strategy.kind=one_device", "strategy.replicas=auto"});
    for (const Arguments& strategy : spec == model || spec == several ? some : all) {
      INFO(strategy.back());
      require_same(trained(spec, strategy), expected);
    }
  }
}

TEST_CASE("a plug-in's optimizer and loss work for parameter servers") {
  const NamedTensors expected = trained(mixed(), {"strategy.kind=one_device", "strategy.replicas=auto"});
  require_same(
      trained(mixed(), {"strategy.kind=parameter_server", "strategy.workers=1", "strategy.servers=2"}),
      expected);
}

TEST_CASE("a training with kinds of a plug-in goes on with the same bits") {
  for (const std::string& spec : {adversarial("drawn"), mixed()}) {
    const Job whole(spec);
    require_done(run_program(whole.run()));
    for (const int step : {1, 7, 50}) {
      const Job job(spec);
      const auto checkpoint = checkpoints_of(whole) / fmt::format("step-{:09}", step);
      INFO(checkpoint);
      require_done(run_program(job.run({"--resume", checkpoint.string()})));
      CHECK(result_of(job) == result_of(whole));
    }
  }
}

TEST_CASE("a step's metrics are reported, and what it does not have is refused") {
  const Job job(adversarial("drawn"));
  require_done(run_program(job.run()));
  const nlohmann::json last = job.events("eval", "distributed").back();
  const double generator = last.at("generator_loss"), discriminator = last.at("discriminator_loss");
  CHECK(last.at("loss").get<double>() == Approx(generator + discriminator));
  for (const char* command : {"eval", "predict"}) {
    Arguments arguments = {command, job.run_folder().string()};
    if (arguments.front() == "predict") arguments.push_back("picture.png");
    const Finished refused = run_program(arguments);
    CHECK(refused.exit_code == 2);
    CHECK_THAT(refused.errors, ContainsSubstring("step 'adversarial' of a plug-in"));
  }
  require_done(
      run_program({"export", job.run_folder().string(), "--out", (job.folder() / "w.safetensors").string()}));
  const Finished onnx = run_program(
      {"export", job.run_folder().string(), "--format", "onnx", "--out", (job.folder() / "w.onnx").string()});
  CHECK(onnx.exit_code == 2);
  CHECK_THAT(onnx.errors, ContainsSubstring("a gan model is computed by its plug-in"));
}

TEST_CASE("overrides and searches know a plug-in's fields") {
  const Job job(mixed());
  require_done(run_program(job.run(Job::set({"train.loss.gamma=1", "model.layers[1].by=3"}))));
  CHECK_THAT(content_of(job.run_folder() / "spec.yaml"), ContainsSubstring("gamma: 1"));
  require_done(run_program({"tune", job.spec_file().string(), "--try", "train.optimizer.inertia=0.5,0.9",
                            "--set", "train.epochs=1", "--out", (job.folder() / "tune").string()}));
}

TEST_CASE("what contradicts several optimizers or a step is refused") {
  const auto problems = [](const std::string& spec, const Arguments& set) {
    const Job job(spec);
    return run_program(Arguments{"validate", job.spec_file().string()} + Job::set(set)).errors;
  };
  const std::string entry = "train.optimizers=[{parameters: head.*, kind: sgd, learning_rate: 0.1}]";
  const std::string model = spec_of("{kind: gated_mlp}", kAdam);
  CHECK(problems(model, {entry}).empty());
  CHECK_THAT(problems(model, {"train.optimizers=[{parameters: tail.*, kind: sgd}]"}),
             ContainsSubstring("no parameter has such a name") && ContainsSubstring("values.weight"));
  CHECK_THAT(problems(model, {entry, "train.schedule.kind=piecewise", "train.schedule.boundaries=[1]",
                              "train.schedule.values=[0.1, 0.2]"}),
             ContainsSubstring("use a schedule that has no values of its own"));
  CHECK_THAT(problems(spec_of("{kind: gated_mlp}", "loss: cross_entropy"), {entry}),
             ContainsSubstring("in proportion to train.optimizer.learning_rate; set it"));
  CHECK_THAT(problems(adversarial("drawn"), {"phases=[{epochs: 1, trainable: [generator]}]"}),
             ContainsSubstring("no layer is named 'generator' that has variables itself") &&
                 ContainsSubstring("within it: generator.*"));
  CHECK_THAT(problems(adversarial("drawn"), {"train.sync_batch_norm=true"}),
             ContainsSubstring("train.sync_batch_norm"));
}

TEST_CASE("a step for another model is refused before anything is trained") {
  const Job job(adversarial("drawn"));
  const Finished refused =
      run_program({"validate", job.spec_file().string(), "--set", "model.kind=gated_mlp"});
  CHECK(refused.exit_code == 2);
  CHECK_THAT(refused.errors, ContainsSubstring("model.kind is not the model that this step trains"));
}

TEST_CASE("a step's gradient of a tensor that is no parameter ends the run, and says so") {
  const std::string layers = "[{kind: flatten}, {kind: dense, units: 3}]";
  const Job job(spec_of("{kind: layers, layers: " + layers + "}", "loss: lost", "failing"));
  const Finished ended = run_program(job.run());
  CHECK(ended.exit_code == 2);
  CHECK_THAT(ended.errors,
             ContainsSubstring("the step 'lost' of a plug-in gives a loss or gradient of a tensor "
                               "that is no parameter of the model"));
}

TEST_CASE("a plug-in of another version does not go on with a training") {
  const Job job(mixed());
  require_done(run_program(job.run()));
  fs::path manifest;
  for (const auto& entry : fs::recursive_directory_iterator(job.run_folder())) {
    if (entry.path().filename() != "spec.yaml") continue;
    write_file(entry.path(), replace_once(content_of(entry.path()), "kinds 0.1.0", "kinds 0.0.9"));
    manifest = entry.path();
  }
  REQUIRE_FALSE(manifest.empty());
  const Finished refused = run_program({"run", "--resume", job.run_folder().string()});
  CHECK(refused.exit_code == 2);
  CHECK_THAT(refused.errors,
             ContainsSubstring("the plug-ins are kinds 0.1.0, and this is of a run with kinds 0.0.9"));
}

TEST_CASE("a plug-in that throws or crashes is named") {
  const auto spec = [](const std::string& layer) {
    return spec_of(
        fmt::format(
            "{{kind: layers, layers: [{{kind: flatten}}, {{kind: {}, pass: 5}}, {{kind: dense, units: "
            "3}}]}}",
            layer),
        kAdam, "failing");
  };
  const Job throwing(spec("throwing"));
  const Finished thrown = run_program(throwing.run());
  CHECK(thrown.exit_code == 2);
  CHECK_THAT(thrown.errors,
             ContainsSubstring("plug-in failing, layer 'throwing': the cosmos is out of balance"));
  CHECK(throwing.is_gone());

  const Job crashing(spec("crashing"));
  const Finished crashed = run_program(crashing.run(Job::set({"restarts.max=0"})));
  CHECK(crashed.exit_code == 1);
  CHECK_THAT(crashed.errors,
             ContainsSubstring("crashed (signal 11) in the plug-in failing, layer 'crashing'"));
  CHECK(crashing.is_gone());

  ProgramOptions options;
  options.environment["DTRAIN_TEST_FAULT"] = "crashes";
  const Finished loading = run_program({"validate", crashing.spec_file().string()}, options);
  CHECK(loading.exit_code == 128 + SIGSEGV);
  CHECK_THAT(loading.errors,
             ContainsSubstring("crashed (signal 11) in the plug-in failing, adding its kinds"));
}

TEST_CASE("what a plug-in may not add is refused, and said") {
  const std::map<std::string, std::string> faults = {
      {"throws", "plug-in failing, adding its kinds: no licence was found"},
      {"known name", "there is a layer 'dense' already; choose another name"},
      {"name of parts", "there is a layer 'module' already; choose another name"},
      {"known field", "model 'other_mlp', field 'hidden': dtrain has a field of this name"},
      {"other type",
       "optimizer 'other_sgd', field 'momentum': sgd, rmsprop, lars, muon have a field of this name"},
      {"bad default", "optimizer 'other', field 'much': a spec could not give the value"},
      {"bad memory", "the memory 'weights' is there twice, means something else in dtrain"},
      {"bad metric", "the metric 'epoch' is there twice, means something else in dtrain"}};
  for (const auto& [fault, message] : faults) {
    INFO(fault);
    ProgramOptions options;
    options.environment["DTRAIN_TEST_FAULT"] = fault;
    const Finished refused = run_program({"--plugin", DTRAIN_PLUGINS "/libfailing.so", "schema"}, options);
    CHECK(refused.exit_code == 2);
    CHECK_THAT(refused.errors, ContainsSubstring(message));
  }
}

TEST_CASE("a plug-in that was copied is the same, and one that moved is found by --plugin") {
  const TemporaryFolder folder;
  const std::string library = DTRAIN_PLUGINS "/libkinds.so";
  const std::string old = (folder / "old.so").string(), copy = (folder / "copy.so").string();
  fs::copy_file(library, old);
  fs::copy_file(library, copy);
  const Job job(replace_once(mixed(), library, old));
  require_done(run_program(job.run()));
  const auto with_copy = [&](const Arguments& command) {
    return run_program(Arguments{"--plugin", copy} + command);
  };
  const auto trained_again = [&](const fs::path& again, const std::string& name) {
    const fs::path run = job.folder() / name;
    require_done(with_copy({"run", again.string(), "--run-dir", run.string()}));
    return content_of(run / "spec.yaml");
  };
  require_done(with_copy({"validate", job.spec_file().string()}));
  CHECK_THAT(trained_again(job.spec_file(), "copied"), ContainsSubstring(old) && !ContainsSubstring(copy));

  fs::remove(old);
  const Arguments compare = {"compare", job.run_folder().string(), job.run_folder().string()};
  const Finished refused = run_program(compare);
  CHECK(refused.exit_code != 0);
  CHECK_THAT(refused.errors, ContainsSubstring("dtrain --plugin FILE COMMAND"));
  require_done(with_copy(compare));
  require_done(with_copy({"eval", job.run_folder().string(), "--replicas", "2"}));
  CHECK_THAT(trained_again(job.run_folder() / "spec.yaml", "moved"),
             ContainsSubstring(copy) && !ContainsSubstring(old));
  require_done(with_copy({"run", "--resume", job.run_folder().string(), "--set", "train.epochs=13"}));
  const Finished absent = run_program({"validate", job.spec_file().string()});  // which notes no version
  CHECK_THAT(absent.errors, ContainsSubstring("there is no such file") && !ContainsSubstring("--plugin"));
}

TEST_CASE("--plugin loads a plug-in for any command") {
  const std::string library = fmt::format("{}/libkinds.so", DTRAIN_PLUGINS);
  const Finished schema = run_program({"--plugin", library, "schema", "--markdown"});
  CHECK_THAT(schema.output,
             ContainsSubstring("`gated_units`") && ContainsSubstring("how little easy examples count"));
  CHECK_THAT(run_program({"schema", "--markdown"}).output, !ContainsSubstring("gated_units"));

  std::string text = mixed();
  text.erase(text.find("plugins:"), text.find("strategy:") - text.find("plugins:"));
  const Job job(text);
  CHECK(run_program(job.run()).exit_code == 2);
  require_done(run_program(Arguments{"--plugin", library} + job.run()));
  require_done(run_program({"eval", job.run_folder().string()}));  // the run's spec names it

  const Job both(mixed());
  require_done(run_program(Arguments{"--plugin", DTRAIN_PLUGINS "/libfailing.so"} + both.run()));
  CHECK_THAT(content_of(both.run_folder() / "spec.yaml"),
             ContainsSubstring("kinds 0.1.0") && ContainsSubstring("failing 0.1.0"));
  require_done(run_program({"eval", both.run_folder().string()}));
  require_done(run_program({"eval", both.run_folder().string(), "--replicas", "2"}));

  const Finished absent = run_program({"--plugin", "absent.so", "schema"});
  CHECK(absent.exit_code == 2);
  CHECK_THAT(absent.errors, ContainsSubstring("absent.so: there is no such file"));
}

}  // namespace
}  // namespace dtrain
