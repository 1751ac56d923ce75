#include "inference/model_description.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "metrics/event.h"
#include "spec/normalisation.h"
#include "spec/print.h"

namespace dtrain {
namespace {

// The names of the classes in order; of a dataset without names their numbers.
Event class_names(const DatasetInfo& data) {
  Event names = Event::array();
  for (size_t label = 0; label < static_cast<size_t>(data.classes); ++label)
    names.push_back(data.class_names.empty() ? std::to_string(label) : data.class_names[label]);
  return names;
}

}  // namespace

Metadata model_description(const JobPlan& job, const TrainingState& state) {
  const Normalisation by = normalisation_of(job.spec.data);
  const std::string mean = text_of(by.mean), standard_deviation = text_of(by.standard_deviation);
  return {{"dtrain", state.dtrain},
          {"name", job.spec.name},
          {"step", std::to_string(state.step)},
          {"dataset", job.data.name},
          {"classes", event_text(class_names(job.data))},
          {"input", fmt::format("(pixel / 255 - {}) / {}, [batch, {}]", mean, standard_deviation,
                                fmt::join(job.data.image_shape, ", "))},
          {"layout", "NCHW"},
          {"mean", mean},
          {"standard_deviation", standard_deviation},
          {"model", print_spec(job.spec)}};
}

}  // namespace dtrain
