#include "plan/data_checks.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/text.h"
#include "job_file/rules.h"
#include "spec/augment_kinds.h"
#include "traits/objectives.h"

namespace dtrain {
namespace {

std::string losses_for(Targets targets) { return join(objectives_for(targets), " or "); }

void check_targets(LoadedSpec& loaded, const DatasetInfo& data) {
  const LossSpec& loss = loaded.spec.train.loss;
  const Targets targets = objective_info(loss.kind).targets;
  if (objective_info(loss.kind).is_step) return;
  const char* const field = "train.loss.kind";
  if (data.targets > 0 && targets == Targets::kClass)
    loaded.refuse(field,
                  "{} is a loss of classes, and the targets of {} are numbers; use {}, or for targets of 0 "
                  "and 1 {}",
                  loss.kind, data.name, losses_for(Targets::kNumbers), losses_for(Targets::kEither));
  if (data.targets == 0 && targets == Targets::kNumbers)
    loaded.refuse(field, "{} is a loss of numbers, and the targets of {} are classes; use {}", loss.kind,
                  data.name, losses_for(Targets::kClass));
  if (data.targets == 0 && targets == Targets::kEither && data.classes != 2)
    loaded.refuse(field, "{} tells two classes apart, and {} has {}; use {}", loss.kind, data.name,
                  data.classes, losses_for(Targets::kClass));
  if (targets == Targets::kEither && !data.outside_0_to_1.empty())
    loaded.refuse(field,
                  "{} takes numbers from 0 to 1, and not those of {}, such as {}; recode them, or use {}",
                  loss.kind, data.name, data.outside_0_to_1, losses_for(Targets::kNumbers));
}

// A metric to go by has to tell evaluations apart.
void check_top(LoadedSpec& loaded, const DatasetInfo& data) {
  if (data.classes == 0 || data.classes > kTop) return;
  for (const WatchedMetric& watched : watched_metrics(loaded.spec)) {
    if (watched.metric == "top_5_accuracy")
      loaded.refuse(watched.path, "top_5_accuracy is always 1 with {} classes; use accuracy", data.classes);
  }
}

void check_sampling(LoadedSpec& loaded, const DatasetInfo& data) {
  if (loaded.spec.data.sampling != "balanced" || data.classes > 0) return;
  loaded.refuse("data.sampling",
                "balanced draws every class as often as another, and the targets of {} "
                "are numbers; leave it out",
                data.name);
}

bool are_pictures(const DatasetInfo& data) { return data.has_pixels && data.example_shape.size() == 3; }

void check_views(LoadedSpec& loaded, const DatasetInfo& data) {
  if (are_pictures(data)) return;
  const auto add = [&](const char* path, const char* does) {
    loaded.refuse(path, "{} pictures, and the examples of {} are numbers; leave it out", does, data.name);
  };
  if (loaded.spec.evaluate.flip) add("evaluate.flip", "flips");
  if (loaded.spec.evaluate.zoom < 1) add("evaluate.zoom", "scales");
}

void check_augment(LoadedSpec& loaded, const DatasetInfo& data) {
  const std::vector<AugmentSpec>& operations = loaded.spec.data.augment;
  if (!operations.empty() && !are_pictures(data))
    return loaded.refuse("data.augment", "changes pictures, and the examples of {} are numbers; leave it out",
                         data.name);
  for (size_t i = 0; i < operations.size(); ++i) {
    const AugmentSpec& operation = operations[i];
    const std::string path = fmt::format("data.augment[{}].", i);
    const auto* const shift = operation.kind == "random_crop" ? &operation.own.get<ShiftFields>() : nullptr;
    const int64_t side = std::min(data.example_shape[1], data.example_shape[2]);
    if (shift != nullptr && shift->padding_mode == "reflect" && shift->padding >= side)
      loaded.refuse(path + "padding",
                    "{} is more than a picture with a side of {} has to reflect; at most {}", shift->padding,
                    counted(side, "pixel"), side - 1);
    const int64_t channels = data.example_shape[0];
    const bool colours = operation.kind == "color_jitter" || operation.kind == "trivial_augment";
    if (colours && channels != 1 && channels != 3)
      loaded.refuse(path + "kind",
                    "{} changes colours or grey, and the pictures of {} have {} channels; leave it out",
                    operation.kind, data.name, channels);
    if (operation.mixes() && data.targets > 0)
      loaded.refuse(path + "kind",
                    "{} mixes the classes of two pictures, and the targets of {} are numbers; leave it out",
                    operation.kind, data.name);
  }
}

}  // namespace

void check_objective(LoadedSpec& loaded, const DatasetInfo& data) {
  check_targets(loaded, data);
  check_top(loaded, data);
}

void check_examples(LoadedSpec& loaded, const DatasetInfo& data) {
  check_sampling(loaded, data);
  check_augment(loaded, data);
  check_views(loaded, data);
}

}  // namespace dtrain
