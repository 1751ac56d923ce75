#include "metrics/events.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "catch.h"
#include "every_event.h"
#include "metrics/event_tables.h"

namespace dtrain {
namespace {

template <class T>
std::string text_of(const std::optional<T>& event) {
  return event ? event_text(encode(*event)) : "none";
}

TEST_CASE("an event of each kind, whole") {
  every_event::for_each(
      [](const auto& event, const char* text) { CHECK(event_text(encode(event)) == text); });
}

TEST_CASE("what is written reads back, before and after it was text") {
  every_event::for_each([]<class T>(const T& event, const char* text) {
    CHECK(text_of(decode<T>(Event::parse(text))) == text);
    CHECK(text_of(decode<T>(encode(event))) == text);
  });
  CHECK(
      std::isnan(find_metric(decode<EvalEvent>(Event::parse(every_event::kEval))->metrics, "loss").value()));
}

TEST_CASE("what is not set is not written") {
  every_event::for_each([]<class T>(const T&, const char*) {
    CHECK(encode(T()) == Event{{"event", T::table.kind}});
  });
  CHECK(event_text(encode(every_event::event_of<StepEvent>())) ==
        R"({"event":"step","time":"2026-01-31T12:00:00.000Z","run":"distributed"})");
}

TEST_CASE("an event is of one kind only, and what is no event of none") {
  every_event::for_each([](const auto&, const char* text) {
    const Event event = Event::parse(text);
    int kinds = 0;
    every_event::for_each([&]<class T>(const T&, const char*) { kinds += decode<T>(event) ? 1 : 0; });
    CHECK(kinds == 1);
  });
  for (const char* text : {"null", "3", "\"step\"", "[\"event\",\"step\"]", "{}", R"({"event":5})",
                           R"({"event":["step"]})", R"({"event":"steps","step":1})"}) {
    INFO(text);
    CHECK_FALSE(decode<StepEvent>(Event::parse(text)));
  }
}

// Values that are right for no field, or too large for it.
std::vector<Event> hostile_values() {
  return {Event(),
          Event(true),
          Event("x"),
          Event(""),
          Event(-1),
          Event(1.5),
          Event(1e308),
          Event(INT64_MIN),
          Event(UINT64_MAX),
          Event::object(),
          Event::array(),
          Event{{"0", "x"}, {"compute", {1}}, {"strategy", 7}},
          Event::array({nullptr, 1, "x", Event::array({1}), Event::object(), true})};
}

// Names and values of what decodes from `json` at the top.
template <class T>
Event decoded(const Event& json) {
  const std::optional<T> event = decode<T>(json);
  REQUIRE(event);
  return encode(*event);
}

TEST_CASE("a field that is missing, unknown or of another type harms no other") {
  every_event::for_each([]<class T>(const T&, const char* text) {
    const Event whole = Event::parse(text);
    for (const auto& [name, value] : whole.items()) {
      if (name == "event") continue;
      INFO(text << ": " << name);
      Event rest = whole;
      rest.erase(name);
      CHECK(event_text(decoded<T>(rest)) == event_text(rest));
      for (const Event& hostile : hostile_values()) {
        Event changed = whole;
        changed[name] = hostile;
        Event found = decoded<T>(changed);
        found.erase(name);
        CHECK(event_text(found) == event_text(rest));
      }
    }
    Event more = whole;
    more["of_a_later_version"] = {{"loss", 1}};
    CHECK(event_text(decoded<T>(more)) == text);
  });
}

TEST_CASE("of a value with the wrong type nothing is taken") {
  const auto start = [](const char* field, const Event& value) {
    return decode<RunStartEvent>(Event{{"event", "run_start"}, {field, value}}).value();
  };
  CHECK_FALSE(start("replicas", 1.5).replicas);
  CHECK_FALSE(start("replicas", "2").replicas);
  CHECK_FALSE(start("replicas", UINT64_MAX).replicas);
  CHECK(start("replicas", INT64_MAX).replicas == INT64_MAX);
  CHECK(start("learning_rate", 1).learning_rate == 1.0);
  CHECK(start("learning_rate", "-inf").learning_rate == -std::numeric_limits<double>::infinity());
  CHECK_FALSE(start("learning_rate", "1").learning_rate);
  CHECK_FALSE(start("name", 7).name);
  CHECK_FALSE(start("devices", "cpu").devices);
  CHECK(start("devices", {"cpu", 7, nullptr}).devices == std::vector<std::string>{"cpu"});
}

TEST_CASE("an array in place of an object, and the other way round, is nothing") {
  const auto end = decode<RunEndEvent>(Event::parse(
      R"({"event":"run_end","phases_ms":[1],"staleness":[],"workers":{"updates":1},"loss":[0.5]})"));
  CHECK_FALSE(end->phases_ms);
  CHECK_FALSE(end->staleness);
  CHECK_FALSE(end->workers);
  CHECK(end->metrics.empty());
  const auto compared = decode<ComparisonEvent>(
      Event::parse(R"({"event":"comparison","baseline":3,"distributed":{"strategy":{},"replicas":2}})"));
  CHECK_FALSE(compared->baseline);
  CHECK_FALSE(compared->distributed->strategy);
  CHECK(compared->distributed->replicas == 2);
  const auto inspected = decode<InspectEvent>(Event::parse(
      R"({"event":"inspect","replicas":[3,{"rank":"x","examples":2,"first_indices":{"a":1}}],"passed":1})"));
  REQUIRE(inspected->replicas->size() == 1);
  CHECK_FALSE(inspected->replicas->front().rank);
  CHECK_FALSE(inspected->replicas->front().first_indices);
  CHECK(inspected->replicas->front().examples == 2);
  CHECK_FALSE(inspected->passed);
}

TEST_CASE("phases that are missing or no numbers took no time") {
  const auto end =
      decode<RunEndEvent>(Event::parse(R"({"event":"run_end","phases_ms":{"compute":1.5,"update":"x"}})"));
  REQUIRE(end->phases_ms);
  CHECK((*end->phases_ms)[StepTime::kCompute] == 1.5);
  CHECK(end->phases_ms->total() == 1.5);
}

TEST_CASE("metrics are found by name, in the order of the table of metrics") {
  const auto event = decode<EvalEvent>(Event::parse(R"({"event":"eval","accuracy":0.5,"loss":2,"other":1})"));
  CHECK((event->metrics == MetricValues{{"loss", 2.0}, {"accuracy", 0.5}}));
  CHECK(find_metric(event->metrics, "accuracy") == 0.5);
  CHECK_FALSE(find_metric(event->metrics, "other"));
  CHECK(decode<EvalEvent>(Event{{"event", "eval"}, {"loss", {1}}})->metrics.empty());
}

TEST_CASE("the place of an event is told whatever its kind is") {
  const EventPlace place = place_of(Event{{"event", "surprise"}, {"run", "baseline"}, {"step", 3}});
  CHECK(place.kind == "surprise");
  CHECK(place.run == "baseline");
  CHECK(place.step == 3);
  CHECK_FALSE(place.epoch);
  for (const Event& none : {Event(), Event(3), Event::array({1}), Event{{"event", 3}, {"step", "x"}}}) {
    CHECK(place_of(none).kind.empty());
    CHECK_FALSE(place_of(none).step);
  }
}

// The names that a table's fields have in JSON.
template <HasEventTable T>
std::vector<std::string> names_of() {
  std::vector<std::string> names;
  const auto add = [&]<class Value>(const std::string& name, const Value&) {
    if constexpr (HasEventTable<Value>) {
      for (const std::string& inner : names_of<Value>()) names.push_back(inner);
    } else if constexpr (std::is_same_v<Value, MetricValues>) {
      for (const std::string& metric : metric_names()) names.push_back(metric);
    } else {
      names.push_back(name);
    }
  };
  const T none;
  for (const auto& field : T::table.fields)
    std::visit([&](auto member) { add(field.name, none.*member); }, field.member);
  return names;
}

template <HasEventTable T>
void check_names() {
  const std::vector<std::string> names = names_of<T>();
  std::set<std::string> different(names.begin(), names.end());
  CHECK(different.size() == names.size());
  for (const char* head : {"event", "time", "run", ""}) CHECK_FALSE(different.contains(head));
}

TEST_CASE("no two fields of an event have the same name, metrics included") {
  every_event::for_each([]<class T>(const T&, const char*) { check_names<T>(); });
  check_names<InspectedReplica>();
  check_names<StalenessSummary>();
  check_names<WorkerSummary>();
  check_names<LinkSummary>();
  check_names<ComparedRun>();
}

bool is_metric_of_another_loss(const std::string& name) {
  const auto is_it = [&](const MetricInfo& metric) { return metric.name == name; };
  const auto& metrics = objective_info("cross_entropy").metrics;
  return std::any_of(known_metrics().begin(), known_metrics().end(), is_it) &&
         std::none_of(metrics.begin(), metrics.end(), is_it);
}

TEST_CASE("the events above have every field of the tables") {
  every_event::for_each([]<class T>(const T&, const char* text) {
    const Event event = Event::parse(text);
    for (const std::string& name : names_of<T>()) {
      INFO(name);
      if (is_metric_of_another_loss(name)) continue;  // an event has those of one
      CHECK(event.contains(name));
    }
  });
}

}  // namespace
}  // namespace dtrain
