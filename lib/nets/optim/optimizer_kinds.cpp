#include "optim/optimizer_kinds.h"

#include "core/named.h"

namespace dtrain {
namespace {

const std::vector<OptimizerMethod>& methods() {
  static const std::vector<OptimizerMethod> all = {
      sgd_method(), rmsprop_method(), adam_method(), adamw_method(), lion_method(),
  };
  return all;
}

}  // namespace

const OptimizerMethod& optimizer_method(const std::string& name) {
  return row_named(methods(), name, "optimizer");
}

const std::vector<std::string>& optimizer_names() {
  static const std::vector<std::string> names = names_of_rows(methods());
  return names;
}

}  // namespace dtrain
