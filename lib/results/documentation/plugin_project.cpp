#include "documentation/plugin_project.h"

#include "core/patterns.h"

namespace dtrain {
namespace {

constexpr const char* kBuild = R"cmake(# The plug-in @NAME@ of dtrain:
#   cmake -B build && cmake --build build && ctest --test-dir build --output-on-failure
# CMake looks where the program `dtrain` in PATH is installed, and with -DCMAKE_PREFIX_PATH=/where/dtrain/is elsewhere.
# What it looks for is in dtrain-VERSION-development.tar.xz, which is unpacked over the program's tarball.
cmake_minimum_required(VERSION 3.22)
project(@NAME@ VERSION 0.1 LANGUAGES CXX)

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()
find_package(dtrain REQUIRED)
dtrain_plugin(@NAME@ @NAME@.cpp)

enable_testing()
find_program(DTRAIN dtrain HINTS "${dtrain_ROOT_FOLDER}/bin" "${dtrain_ROOT_FOLDER}/.." REQUIRED)
add_test(NAME trains COMMAND "${DTRAIN}" run "${CMAKE_SOURCE_DIR}/job.yaml" --set train.max_steps=100
                             --run-dir "${CMAKE_BINARY_DIR}/run" --overwrite)
)cmake";

constexpr const char* kSource =
    R"plugin(// A model of dtrain's: its fields in a spec, and how it is made of them.
#include <dtrain/plugin.h>
#include <torch/nn/modules/linear.h>

namespace {

// A hidden layer whose units are multiplied by gates. Parameters are registered by name, in the
// constructor.
struct Gated : torch::nn::Module {
  Gated(int64_t inputs, int64_t units, int64_t outputs)
      : values(register_module("values", torch::nn::Linear(inputs, units))),
        gates(register_module("gates", torch::nn::Linear(inputs, units))),
        head(register_module("head", torch::nn::Linear(units, outputs))) {}

  // [n, input shape] -> [n, outputs]
  at::Tensor forward(const at::Tensor& input) {
    const at::Tensor rows = input.flatten(1);
    return head(values(rows) * at::sigmoid(gates(rows)));
  }

  torch::nn::Linear values, gates, head;
};

}  // namespace

// Called once, before a spec is read. registry.layer, loss, optimizer and step add the other kinds.
DTRAIN_PLUGIN(registry) {
  registry.model(
      "@NAME@",
      {{.name = "units", .otherwise = 128, .doc = "hidden units", .minimum = 1, .maximum = 100000}},
      [](const dtrain::Options& options, const dtrain::Shape& input) {
        int64_t inputs = 1;
        for (const int64_t size : input) inputs *= size;
        return std::make_shared<Gated>(inputs, options.integer("units"), options.outputs());
      });
}
)plugin";

constexpr const char* kSpec = R"yaml(# Trains the model of the plug-in: dtrain run job.yaml
plugins: [build/lib@NAME@.so]

data: {dataset: mnist, fallback: synthetic} # synthetic examples where there is no MNIST
batch: {per_replica: 64}
model: {kind: @NAME@, units: 128}
train: {epochs: 1}
strategy: {kind: mirrored, replicas: 2}
)yaml";

}  // namespace

std::vector<std::pair<std::string, std::string>> plugin_project(const std::string& name) {
  const Pattern place("@NAME@");
  return {{"CMakeLists.txt", place.replace(kBuild, name)},
          {name + ".cpp", place.replace(kSource, name)},
          {"job.yaml", place.replace(kSpec, name)}};
}

}  // namespace dtrain
