#include "spec/normalisation.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace dtrain {

Normalisation normalisation_of(const DataSpec& data) {
  const auto chosen = [](const std::vector<double>& list, double one) {
    return list.empty() ? std::vector<double>{one} : list;
  };
  return {chosen(data.image.mean, data.mean), chosen(data.image.standard_deviation, data.standard_deviation)};
}

std::string text_of(const std::vector<double>& one_or_more) {
  if (one_or_more.size() == 1) return fmt::format("{}", one_or_more.front());
  return fmt::format("[{}]", fmt::join(one_or_more, ", "));
}

}  // namespace dtrain
