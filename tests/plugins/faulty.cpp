// Plug-ins with a fault each, by FAULT.
#include <dtrain/plugin.h>

#include <csignal>

#if FAULT == 1  // of another version of the interface
extern "C" __attribute__((visibility("default"))) const dtrain::PluginDescription dtrain_plugin = {
    DTRAIN_PLUGIN_INTERFACE + 1, TORCH_VERSION, "faulty", "1.0", nullptr};
#elif FAULT == 2  // of another LibTorch
extern "C" __attribute__((visibility("default")))
const dtrain::PluginDescription dtrain_plugin = {DTRAIN_PLUGIN_INTERFACE, "1.13.1", "faulty", "1.0", nullptr};
#elif FAULT == 3  // of a LibTorch that has another function
namespace dtrain_of_tomorrow {
void function_of_another_libtorch();
}
DTRAIN_PLUGIN(registry) { dtrain_of_tomorrow::function_of_another_libtorch(); }
#elif FAULT == 4
DTRAIN_PLUGIN(registry) { throw std::runtime_error("no licence was found"); }
#elif FAULT == 5
DTRAIN_PLUGIN(registry) { std::raise(SIGSEGV); }
#elif FAULT == 6  // no plug-in
extern "C" __attribute__((visibility("default"))) const int nothing = 0;
#elif FAULT == 7  // a kind that dtrain has
DTRAIN_PLUGIN(registry) {
  registry.layer("dense", {}, [](const dtrain::Options&, const dtrain::Shape&) -> dtrain::BuiltModule {
    throw std::logic_error("never called");
  });
}
#else             // layers that fail when they are used

namespace {

struct Failing : torch::nn::Module {
  Failing(int64_t at, bool crashes)
      : at(at), crashes(crashes), factor(register_parameter("factor", at::ones({1}))) {}

  at::Tensor forward(const at::Tensor& input) {
    if (is_training() && at::GradMode::is_enabled() && ++passes == at) {
      if (crashes) std::raise(SIGSEGV);
      throw std::runtime_error("the cosmos is out of balance");
    }
    return input * factor;
  }

  int64_t at, passes = 0;
  bool crashes;
  at::Tensor factor;
};

}  // namespace

DTRAIN_PLUGIN(registry) {
  const std::vector<dtrain::OptionInfo> fields = {
      {.name = "pass", .otherwise = 3, .doc = "the pass in training that fails", .minimum = 1}};
  for (const bool crashes : {false, true}) {
    registry.layer(crashes ? "crashing" : "throwing", fields,
                   [crashes](const dtrain::Options& options, const dtrain::Shape&) {
                     return std::make_shared<Failing>(options.integer("pass"), crashes);
                   });
  }
}
#endif
