#include "display/console.h"

#include <cmath>
#include <sstream>
#include <vector>

#include "catch.h"
#include "metrics/sample_events.h"
#include "runs/comparison.h"
#include "terminal_screen.h"

using namespace dtrain;

namespace {

ConsoleOptions with_clock(const double& now) {
  ConsoleOptions options;
  options.clock = [&now] { return now; };
  return options;
}

// One run: two epochs with an evaluation each.
std::string shown(const ConsoleOptions& options, const std::vector<Event>& events) {
  std::ostringstream out;
  Console console(out, options);
  for (const Event& event : events) console.on_event(event);
  console.clear_progress();
  return out.str();
}

std::vector<Event> one_run() {
  return {run_start("distributed", 2), progress("distributed", 1, 1), step("distributed", 1, 50),
          epoch("distributed", 1),     eval("distributed", 1),        epoch("distributed", 2),
          eval("distributed", 2),      run_end("distributed")};
}

Event comparison() {
  SummaryCollector collector;
  for (const Event& event : one_run()) collector.on_event(event);
  RunSummary baseline = collector.of("distributed");
  baseline.strategy = "one_device";
  baseline.replicas = 1;
  baseline.speed.examples_per_second = 40000;
  Event event = encode(compare_runs(baseline, collector.of("distributed")));
  event.erase("time");
  return event;
}

const char kGolden[] = R"(distributed run: mnist_mirrored
  strategy      mirrored, 2 replicas on cpu, 1 thread each
  global batch  128 = 64 per replica x 2 replicas
  learning rate 0.001 x 128/64 (linear) = 0.002
  training      2 epochs of 469 steps: 938 in all
  dataset       fashion_mnist, 60,000 training and 10,000 test examples
  source        data/fashion_mnist
NOTE: dataset mnist was not found; this run uses the fallback fashion_mnist, and its numbers are not those of mnist
  model         235,146 parameters, float32
  seed          42
  step timing   median of the steps after the first 10
  versions      dtrain 0.1.0, LibTorch 2.11.0
BEGIN distributed
               -- training --          -- test --                  best by loss
    epoch      loss  accuracy      loss  accuracy  examples/s        time
      1/2    0.3125    0.9000    0.0715    0.9760      64,000       1.1 s  best
      2/2    0.3125    0.9000    0.0715    0.9760      64,000       1.1 s
END distributed: completed, 938 steps in 2.2 s
  64,000 examples/s, 2.000 ms a step (medians without the first 10 steps)
  final test: loss 0.0715, accuracy 0.9760
  best epoch by loss: 1, loss 0.0715, accuracy 0.9760

)";

}  // namespace

TEST_CASE("plain output of a run, whole") { CHECK(shown(ConsoleOptions(), one_run()) == kGolden); }

TEST_CASE("with a validation part every line says what was evaluated") {
  Event start = run_start("distributed", 2);
  start["train_examples"] = 54000;
  start["validation_examples"] = 6000;
  const std::string text =
      shown(ConsoleOptions(),
            {start, eval_of("validation", "distributed", 2, 0.05, 0.99),
             eval_of("test", "distributed", 2, 0.0715, 0.976), split_run_end("distributed", 0.976)});
  INFO(text);
  CHECK_THAT(text, ContainsSubstring("54,000 training, 6,000 validation and 10,000 test examples\n") &&
                       ContainsSubstring("-- validation --                  best by loss\n") &&
                       !ContainsSubstring("-- test") &&
                       ContainsSubstring("      2/2         -         -    0.0500    0.9900") &&
                       ContainsSubstring("  final validation: loss 0.0500, accuracy 0.9900\n"
                                         "  final test: loss 0.0715, accuracy 0.9760\n"));
  CHECK_THAT(text, !ContainsSubstring("eval"));
}

TEST_CASE("workers that train on their own are told about, and lost ones at once") {
  std::vector<Event> events = one_run();
  events[0]["servers"] = 2;
  events[0]["max_staleness"] = 4;
  const Event lost = {
      {"event", "worker_lost"}, {"run", "distributed"}, {"worker", 1}, {"reason", "killed by SIGKILL"}};
  events.insert(events.begin() + 1, lost);
  events.back()["staleness"] = {{"updates", {{"0", 3}}}, {"mean", 1.25}, {"maximum", 4}};
  events.back()["workers"] = {{{"updates", 100}, {"updates_per_second", 50.5}},
                              {{"updates", 1}, {"lost", true}, {"straggler", true}}};
  const std::string text = shown(ConsoleOptions(), events);
  CHECK_THAT(text, ContainsSubstring("  variables     on 2 servers, staleness at most 4\n") &&
                       ContainsSubstring("NOTE: worker 1 is lost, the others go on: killed by SIGKILL\n") &&
                       ContainsSubstring("  staleness of updates: 1.25 on average, 4 at most\n") &&
                       ContainsSubstring("  worker 0: 100 updates at 50.5 a second\n") &&
                       ContainsSubstring("  worker 1: 1 update at 0.0 a second, a straggler, lost\n"));
}

Event link_of(const char* first, const char* second, double least_ms, int64_t retransmitted = 0) {
  return {{"hosts", {first, second}},      {"bytes_sent", 500'000},
          {"bytes_received", 500'000},     {"retransmitted_bytes", retransmitted},
          {"round_trip_ms", 2 * least_ms}, {"least_round_trip_ms", least_ms}};
}

TEST_CASE("of the links between hosts those are told about that stand out, and the only one") {
  std::vector<Event> events = one_run();
  const auto lines_with = [&](std::vector<Event> links) {
    events.back()["links"] = links;
    return shown(ConsoleOptions(), events);
  };
  CHECK_THAT(lines_with({link_of("a", "b", 0.1, 20)}),
             ContainsSubstring("  link a - b: 0.200 ms round trip, at least 0.100 ms; 0.002 % sent again\n"));
  CHECK_THAT(lines_with({link_of("a", "b", 0.1), link_of("a", "c", 0.15), link_of("b", "c", 0.29, 900)}),
             !ContainsSubstring("link"));
  CHECK_THAT(
      lines_with({link_of("a", "b", 0.1, 1), link_of("a", "c", 40), link_of("b", "c", 0.1, 20'000)}),
      !ContainsSubstring("a - b") && ContainsSubstring("  link a - c stands out: 80.000 ms round trip") &&
          ContainsSubstring("  link b - c stands out: 0.200 ms round trip, at least 0.100 ms; 2 % sent"));
}

TEST_CASE("a terminal ends up with the same lines, and no progress line left") {
  double now = 0;
  ConsoleOptions options = with_clock(now);
  options.is_terminal = true;
  options.width = 120;
  std::string text;
  for (const std::string& line : screen(shown(options, one_run()), 120)) text += line + "\n";
  CHECK(text == std::string(kGolden) + "\n");
}

TEST_CASE("the progress line never wraps, on narrow terminals too") {
  for (const int width : {1, 2, 10, 20, 40, 80, 200}) {
    double now = 0;
    ConsoleOptions options = with_clock(now);
    options.is_terminal = true;
    options.width = width;
    std::ostringstream out;
    Console console(out, options);
    console.on_event(run_start("distributed", 2));
    out.str("");
    for (int64_t at = 1; at <= 938; at += 31) {
      now += 0.2;
      console.on_event(step("distributed", 1 + at / 470, at));
    }
    CHECK(screen(out.str(), static_cast<size_t>(std::max(0, width - 1))).size() == 1);
    console.clear_progress();
    CHECK(screen(out.str(), 200).back().empty());
  }
}

TEST_CASE("the progress line is drawn at most ten times a second, and a tick brings the rest") {
  double now = 0;
  ConsoleOptions options = with_clock(now);
  options.is_terminal = true;
  std::ostringstream out;
  Console console(out, options);
  console.on_event(run_start("distributed", 2));
  console.on_event(progress("distributed", 1, 1));
  out.str("");
  for (int64_t at = 2; at <= 100; ++at) console.on_event(progress("distributed", 1, at));
  console.on_tick();
  CHECK(out.str().empty());
  now = 0.5;
  console.on_tick();
  CHECK_THAT(out.str(), ContainsSubstring("100/938"));
  out.str("");
  now = 1;
  console.on_tick();
  CHECK(out.str().empty());  // nothing new
}

TEST_CASE("the time left follows from the pace since the first step seen") {
  double now = 100;
  ConsoleOptions options = with_clock(now);
  options.is_terminal = true;
  std::ostringstream out;
  Console console(out, options);
  console.on_event(run_start("distributed", 2));
  console.on_event(progress("distributed", 1, 538));  // resumed
  CHECK(out.str().find(" left") == std::string::npos);
  now = 110;
  console.on_event(progress("distributed", 2, 738));  // 200 steps in 10 s, 200 to go
  CHECK_THAT(out.str(), ContainsSubstring("10.0 s left"));
}

TEST_CASE("a console that goes away takes its progress line with it") {
  std::ostringstream out;
  {
    ConsoleOptions options;
    options.is_terminal = true;
    Console console(out, options);
    console.on_event(run_start("distributed", 2));
    console.on_event(progress("distributed", 1, 1));
  }
  CHECK(screen(out.str(), 130).back().empty());
}

TEST_CASE("ticks and stray progress draw nothing before and after a run") {
  ConsoleOptions options;
  options.is_terminal = true;
  std::ostringstream out;
  Console console(out, options);
  console.on_tick();
  console.on_event(progress("distributed", 1, 1));
  CHECK(out.str().empty());
  console.on_event(run_start("distributed", 2));
  console.on_event(progress("distributed", 1, 1));
  console.on_event(run_end("distributed"));
  out.str("");
  console.on_event(progress("distributed", 1, 2));
  console.on_tick();
  CHECK(out.str().empty());
}

TEST_CASE("colour is used only when asked for") {
  CHECK(shown(ConsoleOptions(), one_run()).find('\x1b') == std::string::npos);
  ConsoleOptions options;
  options.colour = true;
  const std::string text = shown(options, one_run());
  CHECK_THAT(text, ContainsSubstring("\x1b[33mNOTE: dataset mnist") &&  // yellow: a warning
                       ContainsSubstring("1.1 s  \x1b[32mbest\x1b[0m\n") &&
                       ContainsSubstring("\x1b[32mbest epoch by loss: 1,"));
  CHECK(without_colours(text) == kGolden);
  const Event warning = {{"event", "warning"}, {"text", "hot"}};
  CHECK(shown(options, {warning}) == "\x1b[33mWARNING:\x1b[0m hot\n");
  const Event failed = {{"event", "run_end"}, {"run", "baseline"}, {"status", "failed"}, {"exit_code", 4}};
  CHECK(shown(options, {failed}) == "\x1b[31mEND baseline: failed, exit code 4\x1b[0m\n\n");
}

TEST_CASE("a narrow terminal shows the epochs without speed and time, and no line is too long") {
  ConsoleOptions options;
  options.is_terminal = true;
  options.width = 60;
  const std::vector<Event> events = {epoch("distributed", 1), eval("distributed", 1), run_end("distributed")};
  const std::string text = shown(options, events);
  CHECK_THAT(text, ContainsSubstring("    epoch      loss  accuracy      loss  accuracy\n") &&
                       !ContainsSubstring("examples/s  "));
  options.width = 79;
  CHECK_THAT(shown(options, events), ContainsSubstring("loss  accuracy  examples/s        time\n"));
}

TEST_CASE("the best epoch is marked by the metric that decides, also when it was made before a resume") {
  std::vector<Event> events = {run_start("distributed", 2)};
  const std::vector<std::pair<double, double>> evaluations = {{0.5, 0.8}, {0.3, 0.9}, {0.2, 0.85}};
  for (size_t i = 0; i < evaluations.size(); ++i) {
    const auto number = static_cast<int64_t>(i) + 1;
    Event evaluation = eval("distributed", number);
    evaluation["loss"] = evaluations[i].first;
    evaluation["accuracy"] = evaluations[i].second;
    events.push_back(epoch("distributed", number));
    events.push_back(evaluation);
  }
  events.push_back(run_end("distributed"));
  ConsoleOptions by_accuracy_options;
  by_accuracy_options.best.metric = "accuracy";
  const std::string by_accuracy = shown(by_accuracy_options, events);
  CHECK_THAT(by_accuracy, ContainsSubstring("0.5000    0.8000      64,000       1.1 s  best\n") &&
                              ContainsSubstring("0.3000    0.9000      64,000       1.1 s  best\n") &&
                              ContainsSubstring("0.2000    0.8500      64,000       1.1 s\n"));
  CHECK_THAT(by_accuracy, ContainsSubstring("  best epoch by accuracy: 2, loss 0.3000, accuracy 0.9000\n"));
  ConsoleOptions by_loss;
  by_loss.best.metric = "loss";
  CHECK_THAT(shown(by_loss, events), !ContainsSubstring("best epoch"));  // it is the last one

  std::ostringstream out;
  Console console(out, by_accuracy_options);
  for (size_t i = 0; i < 5; ++i) console.remember(events[i]);
  CHECK(out.str().empty());
  Event resumed = run_start("distributed", 2);
  resumed["resumed_step"] = 469;
  console.on_event(resumed);
  for (size_t i = 5; i < events.size(); ++i) console.on_event(events[i]);
  CHECK_THAT(out.str(),
             !ContainsSubstring("  best\n") &&
                 ContainsSubstring("  best epoch by accuracy: 2, loss 0.3000") &&
                 ContainsSubstring("END distributed: completed, 938 steps, the last 469 in 2.2 s\n"));
  console.forget();
  out.str("");
  for (size_t i = 5; i < events.size(); ++i) console.on_event(events[i]);
  CHECK_THAT(out.str(), ContainsSubstring("  best\n") && !ContainsSubstring("best epoch"));
}

TEST_CASE("the line of an epoch waits for its evaluation, and for no other") {
  std::ostringstream out;
  Console console(out, ConsoleOptions());
  console.on_event(run_start("distributed", 2));
  out.str("");
  console.on_event(epoch("distributed", 1));
  CHECK(out.str().empty());
  console.on_event(step("distributed", 2, 470));  // the epoch is not evaluated
  CHECK_THAT(out.str(), ContainsSubstring("      1/2    0.3125    0.9000         -         -"));
  out.str("");
  console.on_event(epoch("distributed", 2));
  console.on_event(run_end("distributed"));
  CHECK_THAT(out.str(), ContainsSubstring("      2/2    0.3125    0.9000         -         -"));
  CHECK_THAT(out.str(), !ContainsSubstring("-- training --"));  // one heading for a run
}

TEST_CASE("while an epoch is evaluated the progress line says so") {
  double now = 0;
  ConsoleOptions options = with_clock(now);
  options.is_terminal = true;
  std::ostringstream out;
  Console console(out, options);
  console.on_event(run_start("distributed", 2));
  console.on_event(progress("distributed", 1, 469));
  now = 1;
  console.on_event(epoch("distributed", 1));
  CHECK_THAT(screen(out.str(), 130).back(), ContainsSubstring("evaluating"));
  now = 2;
  console.on_event(eval("distributed", 1));
  console.on_tick();
  CHECK_THAT(screen(out.str(), 130).back(), !ContainsSubstring("evaluating"));
}

TEST_CASE("nothing is silent while the overhead is measured") {
  double now = 0;
  ConsoleOptions options = with_clock(now);
  std::vector<Event> events = {{{"event", "overhead"}, {"run", "overhead"}, {"step", 0}, {"steps", 210}},
                               {{"event", "overhead"}, {"run", "overhead"}, {"step", 70}, {"steps", 210}}};
  CHECK(shown(options, events) ==
        "measuring what the strategy adds to a step where there is nothing to distribute: 210 steps with it "
        "and "
        "as many without, in turn\n");
  options.is_terminal = true;
  std::ostringstream out;
  Console console(out, options);
  for (const Event& event : events) console.on_event(event), now += 1;
  CHECK_THAT(screen(out.str(), 80).back(),
             ContainsSubstring("overhead [===") && ContainsSubstring(" 70/210"));
  console.on_event(
      {{"event", "overhead"}, {"run", "overhead"}, {"step", 210}, {"steps", 210}, {"overhead", 0.1}});
  console.on_tick();
  CHECK(screen(out.str(), 80).back().empty());
  options.json = true;
  CHECK(shown(options, events).empty());
  options.json = false;
  options.quiet = true;
  CHECK(shown(options, events).empty());
}

TEST_CASE("a job on one device speaks of no replicas") {
  ConsoleOptions options;
  options.alone = true;
  std::vector<Event> events = one_run();
  events[0] = run_start("distributed", 1);
  events[0]["skipped_steps"] = events.back()["skipped_steps"] = 0;
  const std::string text = shown(options, events);
  CHECK_THAT(text, !ContainsSubstring("replica") && !ContainsSubstring("distributed"));
  CHECK_THAT(text, !ContainsSubstring("the first 0") && !ContainsSubstring("1 accumulation"));
  CHECK_THAT(text, ContainsSubstring("run: mnist_mirrored\n  strategy      one_device, on cpu with 1 thread\n"
                                     "  batch         128\n") &&
                       ContainsSubstring("BEGIN training\n") &&
                       ContainsSubstring("END training: completed") &&
                       ContainsSubstring("median of all steps\n") && ContainsSubstring("a step (medians)\n"));
}

TEST_CASE("on a terminal of 80 columns no line is wider, and none is broken within a word") {
  ConsoleOptions options;
  options.is_terminal = true;
  std::vector<Event> events = one_run();
  events[0]["strategy"] = "multi_worker_mirrored";
  events[0]["learning_rate_derivation"] =
      "0.001 x 128/64 (linear) = 0.002; 0.0002 after 3 epochs (1,407 steps), which is not reached, 2e-05 "
      "after 7 "
      "epochs (3,283 steps), which is not reached";
  events.push_back({{"event", "warning"},
                    {"text", "a long warning " + std::string(30, 'w') + " that goes on " +
                                 std::string(40, 'x') + " to its end"}});
  events.push_back({{"event", "message"}, {"text", "a message " + std::string(60, 'y') + " of many words"}});
  Event compared = comparison();
  compared["distributed"]["strategy"] = "multi_worker_mirrored";
  compared["overhead"] = -0.0123;
  compared["overhead_uncertainty"] = 0.151;
  events.push_back(compared);
  std::string text;
  for (const std::string& line : screen(shown(options, events), 80)) text += line + "\n";  // none wraps
  CHECK(widest_line(text) <= 80);
  CHECK_THAT(text, ContainsSubstring("(1,407 steps),\n                which is not reached") ||
                       ContainsSubstring("\n                "));
  // Where there is no terminal, lines stay whole.
  CHECK(widest_line(shown(ConsoleOptions(), events)) > 100);
}

TEST_CASE("quiet shows the fallback note once, failures and the comparison") {
  ConsoleOptions options;
  options.quiet = true;
  options.is_terminal = true;
  std::vector<Event> events = one_run();
  for (const Event& event : one_run()) events.push_back(event);
  events.push_back(comparison());
  const std::string text = shown(options, events);
  const std::string note = "NOTE: dataset mnist was not found";
  CHECK(text.substr(0, note.size()) == note);
  CHECK(text.find(note, 1) == std::string::npos);
  CHECK(text.find("BEGIN") == std::string::npos);
  CHECK(text.find("1/2") == std::string::npos);
  CHECK_THAT(text, ContainsSubstring("1.60 x"));
}

TEST_CASE("a failure shows its exit code, quiet or not; its error is for stderr") {
  Event end = {{"event", "run_end"},
               {"run", "distributed"},
               {"status", "failed"},
               {"exit_code", 4},
               {"steps", 12},
               {"seconds", 3.5},
               {"error", "replica 1 was killed\nits log: logs/1\x1b[2J"}};
  for (const bool quiet : {false, true}) {
    ConsoleOptions options;
    options.quiet = quiet;
    CHECK(shown(options, {end}) ==
          std::string("END distributed: failed, exit code 4, 12 steps in 3.5 s\n") + (quiet ? "" : "\n"));
  }
}

TEST_CASE("how far a run came that was stopped is not known, and not said") {
  const Event stopped = {{"event", "run_end"}, {"run", "baseline"}, {"status", "stopped"}, {"exit_code", 75}};
  CHECK(shown(ConsoleOptions(), {stopped}) == "END baseline: stopped\n\n");
}

TEST_CASE("json is the events and nothing else, even when quiet") {
  ConsoleOptions options;
  options.json = true;
  options.quiet = true;
  options.is_terminal = true;
  std::istringstream lines(shown(options, one_run()));
  std::vector<Event> read;
  for (std::string line; std::getline(lines, line);) read.push_back(Event::parse(line));
  std::vector<Event> expected = one_run();
  expected.erase(expected.begin() + 1);  // progress
  CHECK(read == expected);
}

TEST_CASE("losses that are not numbers are shown as such, from events and from their text") {
  Event diverged = epoch("distributed", 1);
  diverged["loss"] = std::nan("");
  const Event read = Event::parse(event_text(diverged));
  for (const Event& event : {diverged, read}) {
    CHECK_THAT(shown(ConsoleOptions(), {run_start("distributed", 2), event, run_end("distributed")}),
               ContainsSubstring("      1/2       nan    0.9000         -         -"));
  }
}

TEST_CASE("a spec's text cannot control the terminal") {
  Event start = run_start("distributed", 2);
  for (const char* key : {"run", "name", "strategy", "dataset", "dataset_source", "dataset_requested",
                          "dtype", "learning_rate_derivation", "dtrain", "libtorch"}) {
    start[key] = "\x1b]0;x\x07\r\n";
  }
  start["devices"] = Event::array({"\x1b[2J", "cpu"});
  start["seed"] = "\x1b[2J";
  const std::string text = shown(ConsoleOptions(), {start});
  CHECK(text.find('\x1b') == std::string::npos);
  CHECK(text.find('\r') == std::string::npos);
  CHECK(text.find('\x07') == std::string::npos);
}

TEST_CASE("events with fields missing, of other types, or unknown do no harm") {
  ConsoleOptions options;
  options.is_terminal = true;
  for (const char* kind :
       {"run_start", "step", "progress", "epoch", "eval", "run_end", "comparison", "surprise"}) {
    CHECK_NOTHROW(shown(options, {run_start("baseline", 1), Event{{"event", kind}}}));
    CHECK_NOTHROW(
        shown(options,
              {Event{{"event", kind}, {"devices", "cpu"}, {"epoch", "x"}, {"loss", {1}}, {"baseline", 3}}}));
  }
  CHECK(shown(options, {Event(), Event(1), Event::array(), Event{{"event", 5}}}).empty());
}

TEST_CASE("different devices are all named") {
  Event start = run_start("distributed", 2);
  start["devices"] = Event::array({"cuda:0", "cuda:1"});
  CHECK_THAT(shown(ConsoleOptions(), {start}),
             ContainsSubstring("2 replicas on cuda:0, cuda:1, 1 thread each"));
}

TEST_CASE("the fallback note is there only for a fallback") {
  Event start = run_start("distributed", 2);
  start.erase("dataset_requested");
  CHECK(shown(ConsoleOptions(), {start}).find("NOTE") == std::string::npos);
}
