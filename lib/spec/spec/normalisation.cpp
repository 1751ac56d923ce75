#include "spec/normalisation.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/error.h"

namespace dtrain {

Normalisation normalisation_of(const DataSpec& data) {
  const auto chosen = [](const ChannelNumbers& numbers, double one) {
    if (numbers.measured) throw Error(ExitCode::kBug, "the training pictures are not measured yet");
    return numbers.values.empty() ? std::vector<double>{one} : numbers.values;
  };
  return {chosen(data.image.mean, data.mean), chosen(data.image.standard_deviation, data.standard_deviation)};
}

std::string text_of(const std::vector<double>& one_or_more) {
  if (one_or_more.size() == 1) return fmt::format("{}", one_or_more.front());
  return fmt::format("[{}]", fmt::join(one_or_more, ", "));
}

}  // namespace dtrain
