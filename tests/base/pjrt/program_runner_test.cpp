// The client of PJRT's C API over a plugin that computes nothing (tests/fakes/pjrt_plugin.cpp).
#include "device/program_runner.h"

#include <dlfcn.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <map>
#include <numeric>

#include "catch.h"
#include "core/error.h"
#include "device/plugins.h"

namespace dtrain {
namespace {

const std::string kPlugin = DTRAIN_FAKE_PLUGIN;
const std::string kText =
    "module @m { func.func @main(%a: tensor<2x3xf32> {tf.aliasing_output = 0 : i32}, %b: tensor<f32>) "
    "-> (tensor<2x3xf32>, tensor<f32>) { return %a, %b : tensor<2x3xf32>, tensor<f32> } }";

using Variables = std::map<std::string, std::string>;

// What the plugin is told, until the end of a test.
class Told {
 public:
  explicit Told(const Variables& variables) : variables_(variables) {
    for (const auto& [name, value] : variables_) ::setenv(name.c_str(), value.c_str(), 1);
  }
  ~Told() {
    for (const auto& [name, value] : variables_) ::unsetenv(name.c_str());
  }
  Told(const Told&) = delete;
  Told& operator=(const Told&) = delete;

 private:
  Variables variables_;
};

ProgramModule& module_under_test() {
  ::setenv("DTRAIN_PJRT_MODULE", DTRAIN_PJRT_MODULE, 1);
  return program_module();
}

int alive() {
  void* const library = ::dlopen(kPlugin.c_str(), RTLD_NOW);
  const auto count = reinterpret_cast<int (*)()>(::dlsym(library, "fake_pjrt_alive"));
  REQUIRE(count != nullptr);
  return count();
}

// The code and the message of the error that `body` throws.
template <class Body>
std::pair<ExitCode, std::string> failure_of(const Body& body) {
  try {
    body();
  } catch (const Error& error) {
    return {error.code(), error.what()};
  }
  return {ExitCode::kDone, ""};
}

void require_failure(const Variables& told, ExitCode code, const std::string& why) {
  const Told plugin(told);
  const auto failure = failure_of([] {
    const auto runner = module_under_test().open(kPlugin, {});
    const auto program = runner->compile(kText, {2});
    std::vector<DeviceTensorList> arguments(2);
    const std::vector<float> numbers(6);
    for (int64_t device = 0; device < 2; ++device) {
      arguments[static_cast<size_t>(device)] = {runner->send({numbers.data(), at::kFloat, {2, 3}}, device),
                                                runner->send({numbers.data(), at::kFloat, {}}, device)};
    }
    program->run(arguments).work->wait();
  });
  CHECK(failure.first == code);
  CHECK_THAT(failure.second, ContainsSubstring(why));
  CHECK(alive() == 0);
}

TEST_CASE("tensors go to the devices of a program and come back") {
  {
    const auto runner = module_under_test().open(kPlugin, {});
    CHECK(runner->platform() == "fake");
    CHECK(runner->devices() == 2);
    const auto program = runner->compile(kText, {2});
    CHECK(program->code_bytes() == 2000);
    std::vector<DeviceTensorList> arguments(2);
    for (int64_t device = 0; device < 2; ++device) {
      std::vector<float> numbers(6);
      std::iota(numbers.begin(), numbers.end(), static_cast<float>(10 * device));
      arguments[static_cast<size_t>(device)] = {runner->send({numbers.data(), at::kFloat, {2, 3}}, device),
                                                runner->send({numbers.data(), at::kFloat, {}}, device)};
    }
    const std::vector<DeviceTensorList> results = program->run(arguments).results;
    REQUIRE(results.size() == 2);
    for (size_t device = 0; device < 2; ++device) {
      REQUIRE(results[device].size() == 2);
      std::vector<float> numbers(6);
      results[device][0]->read(numbers.data(), 24);
      CHECK(numbers[5] == static_cast<float>(10 * device + 5));
    }
    float donated[6];
    CHECK_THROWS_AS(arguments[0][0]->read(donated, 24), Error);
    float kept = -1;
    arguments[1][1]->read(&kept, 4);
    CHECK(kept == 10);
    CHECK(failure_of([&] { program->run(arguments); }).first == ExitCode::kBug);
  }
  CHECK(alive() == 0);
}

TEST_CASE("a plugin tells how much memory is free, or does not") {
  CHECK(module_under_test().open(kPlugin, {})->free_memory() == 0);
  const Told plugin(Variables{{"FAKE_PJRT_MEMORY", "5000"}});
  CHECK(module_under_test().open(kPlugin, {})->free_memory() == 4000);
}

TEST_CASE("a program of fewer replicas than devices runs on the first ones") {
  const Told plugin(Variables{{"FAKE_PJRT_DEVICES", "4"}});
  const auto runner = module_under_test().open(kPlugin, {});
  CHECK(runner->devices() == 4);
  const auto program = runner->compile(kText, {1});
  const std::vector<float> numbers(6, 3);
  const ProgramRun run = program->run({{runner->send({numbers.data(), at::kFloat, {2, 3}}, 0),
                                        runner->send({numbers.data(), at::kFloat, {}}, 0)}});
  float number = 0;
  run.results.at(0).at(1)->read(&number, 4);
  CHECK(number == 3);
}

TEST_CASE("what a plugin reports ends with the right exit code and its words") {
  constexpr int kInvalid = 3;
  constexpr int kExhausted = 8;
  const auto fails = [](const std::string& function, int code) {
    return Variables{{"FAKE_PJRT_FAILS", function + "=" + std::to_string(code)}};
  };
  require_failure(fails("Plugin_Initialize", kInvalid), ExitCode::kUsage,
                  "asked to fail in Plugin_Initialize");
  require_failure(fails("Client_Create", kInvalid), ExitCode::kUsage, "asked to fail in Client_Create");
  require_failure(fails("Compile", kInvalid), ExitCode::kBug, "asked to fail in Compile");
  require_failure(fails("Compile", kExhausted), ExitCode::kMemory,
                  "out of memory on a device: asked to fail");
  require_failure(fails("BufferFromHostBuffer", kExhausted), ExitCode::kMemory, "out of memory on a device");
  require_failure(fails("Execute", kExhausted), ExitCode::kMemory, "out of memory on a device");
  require_failure(fails("Execute", kInvalid), ExitCode::kBug, "asked to fail in Execute");
  require_failure(fails("Await", kExhausted), ExitCode::kMemory, "out of memory on a device");
}

TEST_CASE("a program that fails on a device is told to whoever waits for it") {
  {
    const Told plugin(Variables{{"FAKE_PJRT_FAILS", "Await=8"}});
    const auto runner = module_under_test().open(kPlugin, {});
    const auto program = runner->compile(kText, {1});
    const std::vector<float> numbers(6, 3);
    const auto arguments = [&] {
      return std::vector<DeviceTensorList>{{runner->send({numbers.data(), at::kFloat, {2, 3}}, 0),
                                            runner->send({numbers.data(), at::kFloat, {}}, 0)}};
    };
    const ProgramRun run = program->run(arguments());
    CHECK(failure_of([&] { run.work->wait(); }).first == ExitCode::kMemory);
    CHECK(failure_of([&] { run.work->wait(); }).first == ExitCode::kDone);  // it was told
    program->run(arguments());                                              // nobody wants to know
  }
  CHECK(alive() == 0);
}

TEST_CASE("plugins that cannot be used are refused with what to do") {
  require_failure({{"FAKE_PJRT_DEVICES", "0"}}, ExitCode::kUsage, "it finds no devices on this host");
  require_failure({{"FAKE_PJRT_VERSION", "20"}}, ExitCode::kUsage, "speaks version 0.20 of PJRT's C API");
  require_failure({{"FAKE_PJRT_TABLE", "200"}}, ExitCode::kUsage, "lacks a function");
  require_failure({{"FAKE_PJRT_VERSION", "200"}}, ExitCode::kDone, "");  // newer ones know older callers
  const auto missing = failure_of([] { module_under_test().open("/no/such/plugin.so", {}); });
  CHECK(missing.first == ExitCode::kUsage);
  CHECK_THAT(missing.second, ContainsSubstring("/no/such/plugin.so cannot be used: it cannot be loaded"));
  const auto wrong = failure_of([] { module_under_test().open(DTRAIN_PJRT_MODULE, {}); });
  CHECK(wrong.first == ExitCode::kUsage);
  CHECK_THAT(wrong.second, ContainsSubstring("it is no plugin of PJRT"));
}

TEST_CASE("a program is compiled for devices that are not there") {
  const AheadProgram made = module_under_test().compile_ahead(kPlugin, "fake:2x2", kText, {4});
  CHECK(made.code_bytes == 2000);
  CHECK(made.serialised == "serialised");
  CHECK(made.seconds >= 0);
  const auto unknown = failure_of([] { module_under_test().compile_ahead(kPlugin, "v9", kText, {4}); });
  CHECK(unknown.first == ExitCode::kUsage);
  CHECK_THAT(unknown.second, ContainsSubstring("no topology v9"));
  {
    const Told plugin(Variables{{"FAKE_PJRT_QUICK", "1"}});
    CHECK(module_under_test().compile_ahead(kPlugin, "fake:2x2", kText, {4, true}).code_bytes == 2000);
  }
  CHECK(alive() == 0);
}

TEST_CASE("a plugin for GPUs is told which, what memory it may take, and where to keep kernels") {
  const GpuChoice gpus{{1, 3}};
  const auto refused = failure_of([&] {
    const Told plugin(Variables{{"FAKE_PJRT_CLIENT", "visible_devices=2"}});
    module_under_test().open(kPlugin, gpus);
  });
  CHECK_THAT(refused.second,
             ContainsSubstring("told preallocate=0 memory_fraction=0.900000 visible_devices=1,3"));
  {
    const Told plugin(Variables{{"FAKE_PJRT_COMPILE", "xla_gpu_per_fusion_autotune_cache_dir"}});
    const auto runner = module_under_test().open(kPlugin, GpuChoice{});
    const CompileOptions how{.replicas = 2, .kernels_in = "/a/folder"};
    CHECK(failure_of([&] { runner->compile(kText, how); }).first == ExitCode::kBug);  // these are no GPUs
    const Told cuda(Variables{{"FAKE_PJRT_PLATFORM", "cuda"}});
    CHECK(module_under_test().open(kPlugin, GpuChoice{})->compile(kText, how)->code_bytes() == 2000);
    const Told by_hand(Variables{{"XLA_FLAGS", "--xla_gpu_per_fusion_autotune_cache_dir=/mine"}});
    CHECK(failure_of([&] { module_under_test().open(kPlugin, GpuChoice{})->compile(kText, how); }).first ==
          ExitCode::kBug);  // what the user says holds
  }
  {
    const Told plugin(Variables{{"FAKE_PJRT_TOPOLOGY", "topology=1x1x2"}});
    CHECK(module_under_test().compile_ahead(kPlugin, "h200:2", kText, {2}).code_bytes == 2000);
  }
  {
    const Told plugin(Variables{{"FAKE_PJRT_TOPOLOGY", "core_count: 108"}});
    CHECK(module_under_test().compile_ahead(kPlugin, "a100:1", kText, {1}).code_bytes == 2000);
  }
  CHECK(alive() == 0);
}

TEST_CASE("the plugin is the spec's, the environment's or that of a Python") {
  const auto folder =
      std::filesystem::temp_directory_path() / ("dtrain-plugin-" + std::to_string(::getpid()));
  const auto library = folder / "lib/python3.11/site-packages/libtpu/libtpu.so";
  std::filesystem::create_directories(library.parent_path());
  std::filesystem::copy_file(kPlugin, library);
  {
    const Told python(Variables{{"VIRTUAL_ENV", folder.string()}});
    CHECK(find_plugin(PluginDevices::kTpus, std::nullopt) == library);
    const Told library_path(Variables{{"TPU_LIBRARY_PATH", "/from/the/environment.so"}});
    CHECK(find_plugin(PluginDevices::kTpus, std::nullopt) == "/from/the/environment.so");
    CHECK(find_plugin(PluginDevices::kTpus, "/from/the/spec.so") == "/from/the/spec.so");
  }
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace dtrain
