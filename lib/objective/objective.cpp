#include "objective/objective.h"

#include "core/error.h"
#include "objective/cross_entropy.h"

namespace dtrain {
namespace {

struct Kind {
  const char* name;
  std::unique_ptr<Objective> (*make)(const TrainSpec&);
};

const Kind kKinds[] = {
    {"cross_entropy", make_cross_entropy},
};

}  // namespace

std::unique_ptr<Objective> make_objective(const TrainSpec& train) {
  for (const Kind& kind : kKinds) {
    if (train.loss == kind.name) return kind.make(train);
  }
  throw Error(ExitCode::kBug, "no loss '" + train.loss + "'");
}

}  // namespace dtrain
