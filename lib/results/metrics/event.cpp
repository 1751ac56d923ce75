#include "metrics/event.h"

#include <cmath>
#include <limits>

#include "core/text.h"

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

template <class T>
std::optional<T> value_at(const Event& event, const std::string& key, std::optional<T> (*as)(const Event&)) {
  const auto field = event.find(key);
  return field == event.end() ? std::nullopt : as(*field);
}

}  // namespace

std::string event_text(const Event& event, int indent) {
  Event finite = event;
  name_numbers_that_are_not_finite(finite);
  return printable_json(finite.dump(indent, ' ', false, Event::error_handler_t::replace));
}

std::optional<double> as_number(const Event& value) {
  if (value.is_number()) return value.get<double>();
  if (value == "nan") return std::numeric_limits<double>::quiet_NaN();
  if (value == "inf") return std::numeric_limits<double>::infinity();
  if (value == "-inf") return -std::numeric_limits<double>::infinity();
  return std::nullopt;
}

std::optional<int64_t> as_integer(const Event& value) {
  if (!value.is_number_integer()) return std::nullopt;
  if (value.is_number_unsigned() && value.get<uint64_t>() > uint64_t{INT64_MAX}) return std::nullopt;
  return value.get<int64_t>();
}

std::optional<std::string> as_text(const Event& value) {
  return value.is_string() ? std::optional(value.get<std::string>()) : std::nullopt;
}

std::optional<double> number_at(const Event& event, const std::string& key) {
  return value_at(event, key, as_number);
}

std::optional<int64_t> integer_at(const Event& event, const std::string& key) {
  return value_at(event, key, as_integer);
}

std::optional<std::string> text_at(const Event& event, const std::string& key) {
  return value_at(event, key, as_text);
}

}  // namespace dtrain
