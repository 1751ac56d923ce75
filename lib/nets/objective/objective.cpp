#include "objective/objective.h"

#include "core/error.h"
#include "objective/binary_cross_entropy.h"
#include "objective/cross_entropy.h"
#include "objective/regression.h"

namespace dtrain {
namespace {

struct Kind {
  const char* name;
  std::unique_ptr<Objective> (*make)(const TrainSpec&);
};

const Kind kKinds[] = {
    {"cross_entropy", make_cross_entropy},
    {"binary_cross_entropy", make_binary_cross_entropy},
    {"mean_squared_error", make_mean_squared_error},
    {"mean_absolute_error", make_mean_absolute_error},
    {"huber", make_huber},
};

}  // namespace

std::unique_ptr<Objective> make_objective(const TrainSpec& train) {
  for (const Kind& kind : kKinds) {
    if (train.loss.kind == kind.name) return kind.make(train);
  }
  throw Error(ExitCode::kBug, "no loss '" + train.loss.kind + "'");
}

}  // namespace dtrain
