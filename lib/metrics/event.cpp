#include "metrics/event.h"

#include <cmath>
#include <limits>

#include "core/clock.h"

namespace dtrain {
namespace {

void name_numbers_that_are_not_finite(Event& value) {
  if (value.is_structured()) {
    for (Event& inner : value) name_numbers_that_are_not_finite(inner);
  } else if (value.is_number_float() && !std::isfinite(value.get<double>())) {
    const double number = value.get<double>();
    value = std::isnan(number) ? "nan" : number > 0 ? "inf" : "-inf";
  }
}

}  // namespace

Event make_event(const std::string& kind, const std::string& run) {
  return Event{{"event", kind}, {"time", utc_time()}, {"run", run}};
}

std::string event_text(const Event& event, int indent) {
  Event finite = event;
  name_numbers_that_are_not_finite(finite);
  return finite.dump(indent, ' ', false, Event::error_handler_t::replace);
}

std::optional<double> number_at(const Event& event, const std::string& key) {
  const auto field = event.find(key);
  if (field == event.end()) return std::nullopt;
  if (field->is_number()) return field->get<double>();
  if (*field == "nan") return std::numeric_limits<double>::quiet_NaN();
  if (*field == "inf") return std::numeric_limits<double>::infinity();
  if (*field == "-inf") return -std::numeric_limits<double>::infinity();
  return std::nullopt;
}

std::optional<int64_t> integer_at(const Event& event, const std::string& key) {
  const auto field = event.find(key);
  if (field == event.end() || !field->is_number_integer()) return std::nullopt;
  return field->get<int64_t>();
}

std::optional<std::string> text_at(const Event& event, const std::string& key) {
  const auto field = event.find(key);
  if (field == event.end() || !field->is_string()) return std::nullopt;
  return field->get<std::string>();
}

}  // namespace dtrain
