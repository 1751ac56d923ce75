// Frames of recorded events, on terminals of several sizes.
#include "watch/watch.h"

#include <algorithm>
#include <cmath>

#include "catch.h"
#include "core/text.h"
#include "display/terminal_screen.h"
#include "metrics/sample_events.h"
#include "sanitized.h"

namespace dtrain {
namespace {

// A run of two epochs in the middle of the second one, on two replicas.
WatchedRun half_way(const std::string& path = "runs/mnist_mirrored-20260131-120000", double rate = 1) {
  WatchedRun run{.path = path};
  Event start = run_start("distributed", 2);
  start["time"] = "2026-01-31T12:00:00.000Z";
  run.state.take(start);
  for (int number = 1; number <= 70; ++number) {
    Event event = step("distributed", number > 46 ? 2 : 1, 10 * number);
    event["time"] = fmt::format("2026-01-31T12:{:02}:{:02}.000Z", number / 60, number % 60);
    event["loss"] = 0.2 + 2 * std::exp(-rate * number / 12);
    event["accuracy"] = 0.9 - 0.8 * std::exp(-rate * number / 12);
    run.state.take(event);
    if (number == 46) {
      Event whole = epoch("distributed", 1);
      run.state.take(whole);
      run.state.take(eval("distributed", 1));
    }
  }
  run.state.take({{"event", "machine"},
                  {"run", "distributed"},
                  {"processors", 0.874},
                  {"memory_bytes", int64_t{5} << 30},
                  {"memory_total_bytes", int64_t{16} << 30}});
  run.status = "running";
  run.now = 100;
  run.replicas = {{Activity::kComputing, 702, 99.99}, {Activity::kWaitingForData, 702, 88}};
  return run;
}

std::string shown(const std::vector<WatchedRun>& runs, const FrameOptions& options) {
  return "\n" + join(watch_frame(runs, options), "\n") + "\n";
}

const char* const kAt60 = R"(
runs/mnist_mirrored-20260131-120000                  running
epoch 2/2 [====================>......] 702/938 23.6 s left
training   loss 0.2059, accuracy 0.8977
test       loss 0.0715, accuracy 0.9760; best loss 0.0715 in
           epoch 1
speed      mirrored, 2 replicas, 64,000 examples/s, 2.000 ms
           a step, learning rate 0.002
replicas   0 computing, 1 waiting for data for 12.0 s
machine    87 % of the processors, 5.0 GiB of 16.0 GiB in
           use
loss: * training, o test
     2.04 |***
          |   ******
          |         *******
    0.382 |                **********
          |                          **********************
          |
   0.0715 |                                o
          +------------------------------------------------
          0                   epochs                   1.49
accuracy: * training, o test
    0.976 |                                o
          |               *********************************
          |         ******
     0.57 |      ***
          |   ***
          |  *
    0.164 |**
          +------------------------------------------------
          0                   epochs                   1.49
)";
const char* const kAt80 = R"(
runs/mnist_mirrored-20260131-120000                                      running
epoch 2/2 [======================>.......] 702/938 23.6 s left
training   loss 0.2059, accuracy 0.8977
test       loss 0.0715, accuracy 0.9760; best loss 0.0715 in epoch 1
speed      mirrored, 2 replicas, 64,000 examples/s, 2.000 ms a step, learning
           rate 0.002
replicas   0 computing, 1 waiting for data for 12.0 s
machine    87 % of the processors, 5.0 GiB of 16.0 GiB in use
loss: * training, o test
     2.04 |******
          |      *************
          |                   ***********************
          |                                          **************************
   0.0715 |                                             o
          +--------------------------------------------------------------------
          0                             epochs                             1.49
accuracy: * training, o test
    0.976 |                                        *****o**********************
          |               *************************
          |       ********
          |  *****
    0.164 |**
          +--------------------------------------------------------------------
          0                             epochs                             1.49
)";
const char* const kAt120 = R"(
runs/mnist_mirrored-20260131-120000                                                                              running
epoch 2/2 [======================>.......] 702/938 23.6 s left
training   loss 0.2059, accuracy 0.8977
test       loss 0.0715, accuracy 0.9760; best loss 0.0715 in epoch 1
speed      mirrored, 2 replicas, 64,000 examples/s, 2.000 ms a step, learning rate 0.002
replicas   0 computing, 1 waiting for data for 12.0 s
machine    87 % of the processors, 5.0 GiB of 16.0 GiB in use
loss: * training, o test                                     accuracy: * training, o test
     2.04 |**                                                    0.976 |                               o
          |  **                                                        |                               ****************
          |    ***                                                     |                   ************
          |       **                                                   |              *****
          |         ***                                                |           ***
          |            ***                                             |         **
          |               ****                                         |       **
    0.336 |                   ******                             0.539 |      *
          |                         *********                          |     *
          |                                  *************             |    *
          |                                                            |   *
          |                                                            |  *
          |                                                            | *
   0.0715 |                               o                      0.164 |*
          +-----------------------------------------------             +-----------------------------------------------
          0                  epochs                   1.49             0                  epochs                   1.49
)";

}  // namespace

TEST_CASE("a run at 60 columns, whole") { CHECK(shown({half_way()}, {60, 30}) == kAt60); }
TEST_CASE("a run at 80 columns, whole") { CHECK(shown({half_way()}, {80, 24}) == kAt80); }
TEST_CASE("a run at 120 columns, whole") { CHECK(shown({half_way()}, {120, 24}) == kAt120); }

TEST_CASE("no frame is larger than its terminal, and colours change no character") {
  for (const size_t count : {1U, 2U, 3U, 4U, 5U, 12U, 40U}) {
    std::vector<WatchedRun> runs;
    for (size_t i = 0; i < count; ++i) runs.push_back(half_way(fmt::format("runs/a-name-{}", i), 1 + i));
    runs.back().state.take(run_end("distributed"));
    runs.back().status = "failed";
    for (int width = 40; width <= 260; width += kSanitized ? 37 : 7) {
      for (int height = 5; height <= 70; height += kSanitized ? 15 : 5) {
        const std::string plain = shown(runs, {width, height});
        INFO(plain);
        CHECK(widest_line(plain) <= static_cast<size_t>(width));
        CHECK(std::ranges::count(plain, '\n') <= height + 1);
        CHECK(plain.find('\x1b') == std::string::npos);
        CHECK(without_colours(shown(runs, {width, height, true})) == plain);
      }
    }
  }
}

TEST_CASE("two runs are beside each other where both fit") {
  const std::vector<WatchedRun> runs = {half_way("runs/first"), half_way("runs/second")};
  const auto first_lines = [&](int width) { return watch_frame(runs, {width, 50}).front(); };
  CHECK_THAT(first_lines(120), ContainsSubstring("runs/first") && ContainsSubstring("runs/second"));
  CHECK_THAT(first_lines(110), !ContainsSubstring("runs/second"));
  CHECK_THAT(shown(runs, {110, 50}), ContainsSubstring("\nruns/second"));
}

TEST_CASE("twelve runs on a small terminal are a table with a chart of all") {
  std::vector<WatchedRun> runs;
  for (int i = 0; i < 12; ++i)
    runs.push_back(half_way(fmt::format("runs/job-20260131-1200{:02}", i), 0.2 + 0.1 * i));
  const std::string text = shown(runs, {60, 24});
  INFO(text);
  for (int i = 0; i < 12; ++i) CHECK_THAT(text, ContainsSubstring(fmt::format("00{:02}  ", i)));
  CHECK_THAT(text, ContainsSubstring("23.6 s left") && ContainsSubstring("test loss"));
}

TEST_CASE("ends are told in words, with the error and what to do") {
  WatchedRun failed = half_way();
  Event end = run_end("distributed");
  end["status"] = "failed";
  end["exit_code"] = 6;
  end["error"] = "the loss is not finite";
  failed.state.take(end);
  failed.status = "failed";
  CHECK_THAT(shown({failed}, {80, 24}),
             ContainsSubstring("failed (exit code 6) after 938 of 938 steps in 2.2 s") &&
                 ContainsSubstring("the loss is not finite") && !ContainsSubstring("left"));
  WatchedRun killed = half_way();
  killed.replicas.clear();
  killed.status = "interrupted";
  killed.hint = "it was killed; to go on: dtrain run --resume runs/mine";
  CHECK_THAT(shown({killed}, {80, 24}),
             ContainsSubstring("interrupted\n") && ContainsSubstring("700 of 938 steps were made") &&
                 ContainsSubstring("dtrain run --resume runs/mine") && !ContainsSubstring("left"));
  CHECK(shown({WatchedRun{.path = "new", .status = "starting"}}, {40, 24}) ==
        "\nnew                             starting\n");
}

TEST_CASE("with a validation part, the curves stay those of it when the test comes at the end") {
  WatchedRun run{.path = "run", .status = "completed"};
  for (const Event& event :
       {run_start("distributed", 1), step("distributed", 1, 400),
        eval_of("validation", "distributed", 1, 0.3, 0.9), eval_of("validation", "distributed", 2, 0.2, 0.8),
        eval_of("test", "distributed", 2, 0.4, 0.7), split_run_end("distributed", 0.7)})
    run.state.take(event);
  CHECK_THAT(shown({run}, {110, 30}),
             ContainsSubstring(
                 "test       loss 0.0715, accuracy 0.7000; best validation loss 0.2000 in epoch 2\n") &&
                 ContainsSubstring("loss: * training, o validation\n"));
  CHECK(run.state.evaluation_curves.at("accuracy").points().size() == 2);
}

TEST_CASE("a long status, and codes for a terminal in the events, harm no frame") {
  const std::string codes =
      "\x1b]0;x\x07\x1b[2J\xc2\x9b"
      "2J";
  WatchedRun run{.path = "run" + codes, .status = std::string(300, 's') + codes};
  Event start = run_start("distributed", 2);
  start["strategy"] = codes;
  Event line = step("distributed", 1, 10);
  line[codes] = 0.5;
  Event end = run_end("distributed");
  end["part"] = codes;
  end["error"] = codes;
  const Event test = eval_of(codes, "distributed", 1, 0.3, 0.9);
  const Event warning = {{"event", "warning"}, {"text", codes}};
  for (const Event& event : {start, line, step("distributed", 1, 20), test, warning, end})
    run.state.take(event);
  run.state.during = codes;
  run.hint = codes;
  run.state.verdict = codes;
  WatchedRun between = run;  // a part of a job that is done, with a name from the file
  between.status = "running";
  between.state.start.run = codes + std::string(300, 'r');
  for (const auto& runs :
       {std::vector{run}, std::vector{between}, std::vector(6, run), std::vector(6, between)}) {
    for (const int width : {40, 58, 80, 120}) {
      const std::string text = shown(runs, {width, 24});
      INFO(text);
      CHECK(widest_line(text) <= static_cast<size_t>(width));
      CHECK(std::ranges::none_of(text, [](char c) { return c != '\n' && (c < ' ' || c == '\x7f'); }));
    }
  }
}

TEST_CASE("a part of any name replaces nothing in the document for programs") {
  WatchedRun run = half_way("runs/mine");
  run.state.take(eval_of("path", "distributed", 1, 0.3, 0.9));
  const Event document = watch_document({run}).at("runs").at(0);
  CHECK(document.at("path") == "runs/mine");
  CHECK(document.at("evaluation").at("part") == "path");
}

TEST_CASE("many replicas are counted by what they do") {
  WatchedRun run = half_way();
  run.replicas = std::vector<ReplicaStatus>(64, {Activity::kComputing, 701, 99});
  run.replicas[5].activity = Activity::kSaving;
  CHECK_THAT(shown({run}, {80, 24}), ContainsSubstring("replicas   63 computing, 1 saving a checkpoint\n"));
}

TEST_CASE("the document for programs has what the frame shows") {
  WatchedRun watched = half_way();
  watched.state.note = "a note";
  watched.state.verdict = "a verdict";
  const Event run = watch_document({watched}).at("runs").at(0);
  CHECK(run.at("status") == "running");
  CHECK(run.at("strategy") == "mirrored");
  CHECK(run.at("learning_rate").is_number());
  CHECK(run.at("best") == Event{{"part", "test"}, {"epoch", 1}, {"metric", "loss"}, {"value", 0.0715}});
  CHECK(run.at("memory_total_bytes") == int64_t{16} << 30);
  CHECK(run.at("note") == "a note");
  CHECK(run.at("comparison") == "a verdict");
  CHECK_FALSE(run.contains("seconds"));  // it has not ended
  CHECK(run.at("step") == 702);
  CHECK(run.at("total_steps") == 938);
  CHECK(run.at("seconds_left").get<double>() == Approx(236 * 0.1));
  CHECK(run.at("evaluation").at("part") == "test");
  CHECK(run.at("evaluation").at("metrics").at("accuracy") == 0.976);
  CHECK(run.at("replicas").at(1).at("activity") == "waiting for data");
  CHECK(run.at("replicas").at(1).at("seconds") == 12);
}

}  // namespace dtrain
