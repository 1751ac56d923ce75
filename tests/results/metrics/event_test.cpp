#include "metrics/events.h"

#include <cmath>
#include <limits>
#include <regex>

#include "catch.h"

using namespace dtrain;

TEST_CASE("an event starts with its kind, the time and the run, in this order") {
  const std::string text = event_text(encode(begin_event<EpochEvent>("baseline")));
  const std::regex expected(
      R"(\{"event":"epoch","time":"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z","run":"baseline"\})");
  CHECK(std::regex_match(text, expected));
}

TEST_CASE("numbers read back to the same bits") {
  for (const double value : {0.1, 1.0 / 3, 1e-300, 6.02214076e23, 5e-324, -0.0, static_cast<double>(0.1f)}) {
    const Event read = Event::parse(event_text(Event{{"value", value}}));
    CHECK(number_at(read, "value").value() == value);
    CHECK(std::signbit(number_at(read, "value").value()) == std::signbit(value));
  }
  CHECK(integer_at(Event::parse(event_text(Event{{"n", INT64_MAX}})), "n") == INT64_MAX);
}

TEST_CASE("numbers that are not finite become words that read back, at any depth") {
  const double infinity = std::numeric_limits<double>::infinity();
  const Event event = {{"loss", std::nan("")}, {"deep", {{"list", {1.5, infinity, -infinity}}}}};
  const std::string text = event_text(event);
  CHECK(text == R"({"loss":"nan","deep":{"list":[1.5,"inf","-inf"]}})");
  const Event read = Event::parse(text);
  CHECK(std::isnan(number_at(read, "loss").value()));
  CHECK(number_at(Event{{"x", "inf"}}, "x") == infinity);
  CHECK(number_at(Event{{"x", "-inf"}}, "x") == -infinity);
  CHECK(number_at(event, "loss").has_value());  // before it was text, too
}

TEST_CASE("text that is not UTF-8 or holds newlines stays one valid line") {
  const std::string text = event_text(Event{{"name", "a\xff\nb\x1b[2J"}});
  CHECK(text.find('\n') == std::string::npos);
  CHECK(text.find('\x1b') == std::string::npos);
  CHECK_NOTHROW(Event::parse(text));
}

TEST_CASE("missing fields, fields of another type and events that are no objects read as nothing") {
  const Event event = {{"text", "x"}, {"number", 1.5}, {"nothing", nullptr}, {"list", {1, 2}}};
  for (const char* key : {"text", "nothing", "list", "absent"}) {
    CHECK_FALSE(number_at(event, key));
    CHECK_FALSE(integer_at(event, key));
  }
  CHECK_FALSE(integer_at(event, "number"));
  CHECK_FALSE(integer_at(Event{{"n", UINT64_MAX}}, "n"));
  CHECK_FALSE(text_at(event, "number"));
  for (const Event& other : {Event(), Event(3), Event("word"), Event::array({1})}) {
    CHECK_FALSE(number_at(other, "x"));
    CHECK_FALSE(integer_at(other, "x"));
    CHECK_FALSE(text_at(other, "x"));
  }
}
