#include "callbacks/step_trace.h"

#include <ATen/ATen.h>

#include <nlohmann/json.hpp>
#include <set>
#include <thread>

#include "catch.h"
#include "core/error.h"

namespace dtrain {
namespace {

using nlohmann::json;

json trace_of(StepTrace& trace) { return json::parse(trace_file(trace.events())).at("traceEvents"); }

std::vector<json> of(const json& events, const std::string& category) {
  std::vector<json> found;
  for (const json& event : events) {
    if (event.value("cat", "") == category) found.push_back(event);
  }
  return found;
}

std::set<std::string> names(const std::vector<json>& events) {
  std::set<std::string> all;
  for (const json& event : events) all.insert(event.at("name").get<std::string>());
  return all;
}

TEST_CASE("a trace has the phases, operators and backward functions between its start and its stop") {
  StepClock clock;
  StepTrace trace(3, clock);
  const at::Tensor weight = at::ones({4, 4}).requires_grad_();
  at::mm(weight, weight);  // not yet
  trace.start(StepClock::Clock::now());
  const auto begin = StepClock::Clock::now();
  clock.enter(StepTime::kCompute);
  at::relu(weight).sum().backward();
  clock.enter(StepTime::kUpdate);
  std::thread([] { at::zeros({2}); }).join();
  trace.add_step(20, begin, StepClock::Clock::now());
  clock.enter(StepTime::kCommunicate);
  trace.stop();
  clock.enter(StepTime::kCompute);
  at::mm(weight, weight);  // no longer
  const json events = trace_of(trace);
  CHECK(names(of(events, "step")) == std::set<std::string>{"step 20"});
  CHECK(names(of(events, "phase")) == std::set<std::string>{"data_wait", "compute", "update"});
  const auto operators = names(of(events, "operator"));
  CHECK(operators.count("aten::relu") == 1);
  CHECK(operators.count("aten::zeros") == 1);
  CHECK(operators.count("aten::mm") == 0);
  CHECK(names(of(events, "backward")).count("ReluBackward0") == 1);
  const json step = of(events, "step").front();
  std::set<int> tracks;
  for (const json& event : events) {
    CHECK(event.at("pid") == 3);
    if (event.at("ph") != "X") continue;
    CHECK(event.at("dur").get<double>() >= 0);
    if (event.at("cat") == "operator") tracks.insert(event.at("tid").get<int>());
    if (event.at("name") == "aten::relu") {
      CHECK(event.at("ts") >= step.at("ts"));
      CHECK(event.at("ts").get<double>() + event.at("dur").get<double>() <=
            step.at("ts").get<double>() + step.at("dur").get<double>() + 1);
    }
  }
  CHECK(tracks == std::set<int>{2, 3});  // of two threads
}

TEST_CASE("times are relative to the origin, to the nanosecond") {
  StepClock clock;
  StepTrace trace(0, clock);
  trace.start(StepClock::Clock::now() - std::chrono::seconds(5));
  for (int i = 0; i < 200; ++i) clock.enter(i % 2 == 0 ? StepTime::kCompute : StepTime::kUpdate);
  trace.stop();
  const auto phases = of(trace_of(trace), "phase");
  REQUIRE(phases.size() > 100);
  double end = 0;
  for (const json& phase : phases) {
    const double begin = phase.at("ts");
    CHECK(begin >= end - 0.001);  // the one before has ended
    end = begin + phase.at("dur").get<double>();
    CHECK(end > 4e6);
    CHECK(end < 60e6);
  }
}

TEST_CASE("what a device does has a track for each of its streams, at the times of the others") {
  StepClock clock;
  StepTrace trace(2, clock);
  trace.start(StepClock::Clock::now() - std::chrono::seconds(100));
  trace.stop();
  const int64_t begin = std::chrono::nanoseconds(std::chrono::system_clock::now().time_since_epoch()).count();
  trace.add_device("cuda:1", {{true, "product", 7, begin, begin + 2500},
                              {false, "Memcpy", 13, begin + 1000, begin + 3000},
                              {true, "sum", 7, begin + 2500, begin + 2600}});
  const json events = trace_of(trace);
  const auto kernels = of(events, "kernel");
  CHECK(names(kernels) == std::set<std::string>{"product", "sum"});
  CHECK(names(of(events, "memory")) == std::set<std::string>{"Memcpy"});
  CHECK(kernels[0].at("ts").get<double>() == Approx(100e6).margin(10e6));
  CHECK(kernels[0].at("dur").get<double>() == Approx(2.5));
  std::map<int, std::string> tracks;
  for (const json& event : events) {
    if (event.at("name") == "thread_name")
      tracks[event.at("tid").get<int>()] = event.at("args").at("name").get<std::string>();
  }
  CHECK(tracks.at(kernels[0].at("tid").get<int>()) == "cuda:1 stream 7");
  CHECK(tracks.at(of(events, "memory")[0].at("tid").get<int>()) == "cuda:1 stream 13");
}

TEST_CASE("a trace is bounded and says what it left out") {
  StepClock clock;
  StepTrace trace(0, clock);
  const auto now = StepClock::Clock::now();
  for (int64_t step = 0; step < 60'000; ++step) trace.add_step(step, now, now);
  const json events = trace_of(trace);
  CHECK(trace.events().size() < StepTrace::kMostBytes + 1000);
  CHECK(events.size() < 60'000);
  CHECK_THAT(events.back().at("args").at("labels").get<std::string>(), ContainsSubstring("were left out"));
}

TEST_CASE("the passes of a layer say how much they compute, and how fast") {
  StepClock clock;
  StepTrace trace(0, clock);
  trace.count_operations({{"aten::relu", {.forward = 1e6, .backward = 2e6}}, {"ReluBackward0", {3e6, 5e6}}});
  trace.start(StepClock::Clock::now());
  const at::Tensor weight = at::ones({400, 400}).requires_grad_();
  at::relu(weight);  // of an unknown number of examples
  trace.set_examples(10);
  at::relu(weight).sum().backward();
  trace.stop();
  const json events = trace_of(trace);
  std::vector<json> counted;
  for (const json& event : events) {
    if (event.contains("args") && event.at("args").contains("GFLOP")) counted.push_back(event);
  }
  REQUIRE(counted.size() == 2);
  CHECK(counted[0].at("name") == "aten::relu");
  CHECK(counted[0].at("args").at("GFLOP") == Approx(0.01));
  CHECK(counted[1].at("args").at("GFLOP") == Approx(0.05));
  for (const json& event : counted) {
    CHECK(event.at("args").at("GFLOP/s").get<double>() * event.at("dur").get<double>() / 1e6 ==
          Approx(event.at("args").at("GFLOP").get<double>()).epsilon(1e-6));
  }
}

TEST_CASE("a process makes one trace at a time") {
  StepClock clock;
  StepTrace first(0, clock), second(0, clock);
  first.start(StepClock::Clock::now());
  CHECK_THROWS_AS(second.start(StepClock::Clock::now()), Error);
  first.stop();
  CHECK_NOTHROW(second.start(StepClock::Clock::now()));
}

}  // namespace
}  // namespace dtrain
