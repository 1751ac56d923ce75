#pragma once

#include "spec/optimizer_kinds.h"

namespace dtrain {

struct SgdFields {
  double momentum = 0;
  bool nesterov = false;
};

inline OptimizerKind sgd_kind() {
  return {.name = "sgd",
          .fields = {KIND_FIELD(SgdFields, momentum, .doc = "the share of the last update to keep",
                                .bounds = zero_to_below_one()),
                     KIND_FIELD(SgdFields, nesterov, .doc = "Nesterov's momentum")},
          .contradiction = [](const KindFields& own) -> std::optional<Contradiction> {
            const auto& fields = own.get<SgdFields>();
            if (!fields.nesterov || fields.momentum != 0) return std::nullopt;
            return {{"nesterov", "momentum", "needs train.optimizer.momentum above 0, such as 0.9"}};
          }};
}

}  // namespace dtrain
