#include "optim/optimizer_kinds.h"

#include "core/error.h"

namespace dtrain {
namespace {

const std::vector<OptimizerMethod>& methods() {
  static const std::vector<OptimizerMethod> all = {
      sgd_method(),
      rmsprop_method(),
      adam_method(),
      adamw_method(),
      lion_method(),
  };
  return all;
}

}  // namespace

const OptimizerMethod& optimizer_method(const std::string& name) {
  for (const OptimizerMethod& method : methods()) {
    if (method.name == name) return method;
  }
  throw Error(ExitCode::kBug, "no optimizer named '" + name + "'");
}

const std::vector<std::string>& optimizer_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (const OptimizerMethod& method : methods()) all.push_back(method.name);
    return all;
  }();
  return names;
}

}  // namespace dtrain
