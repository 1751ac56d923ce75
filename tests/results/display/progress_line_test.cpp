
#include <algorithm>
#include <cmath>
#include <sstream>

#include "catch.h"

#include "display/console.h"
#include "metrics/sample_events.h"

using namespace dtrain;

namespace {

Progress halfway() {
  Progress progress;
  progress.run = "distributed";
  progress.epoch = 2;
  progress.epochs = 5;
  progress.step = 469;
  progress.total_steps = 938;
  progress.loss = 0.25;
  progress.value = 0.9375;
  progress.examples_per_second = 64000;
  progress.seconds_left = 75;
  return progress;
}

}  // namespace

TEST_CASE("a wide terminal gets everything") {
  CHECK(progress_line(halfway(), 140) ==
        "distributed epoch 2/5 [===============>..............] 469/938 loss 0.2500 accuracy 0.9375 "
        "64,000 examples/s 1 min 15 s left");
}

TEST_CASE("a narrow terminal loses the least important first") {
  CHECK(progress_line(halfway(), 80) ==
        "epoch 2/5 [======>......] 469/938 loss 0.2500 64,000 examples/s 1 min 15 s left");
  CHECK(progress_line(halfway(), 33) == "epoch 2/5 [======>.....] 469/938");
  CHECK(progress_line(halfway(), 20) == "epoch 2/5 469/938");
  CHECK(progress_line(halfway(), 10) == "epoch 2/5");
}

TEST_CASE("no width makes the line reach the last column") {
  for (int width = -1; width <= 200; ++width) {
    CHECK(static_cast<int>(progress_line(halfway(), width).size()) <= std::max(0, width - 1));
  }
}

TEST_CASE("the bar stays inside its brackets for impossible positions") {
  Progress progress = halfway();
  progress.step = 2000;
  CHECK_THAT(progress_line(progress, 80), ContainsSubstring("==========]"));
  progress.step = -5;
  CHECK_THAT(progress_line(progress, 80), ContainsSubstring("[>........"));
  progress.total_steps = 0;
  CHECK_THAT(progress_line(progress, 80), ContainsSubstring("[>........"));
}

TEST_CASE("numbers that are not finite or not known yet") {
  Progress progress = halfway();
  progress.loss = std::nan("");
  progress.value.reset();
  progress.examples_per_second.reset();
  progress.seconds_left.reset();
  CHECK(progress_line(progress, 60) == "distributed epoch 2/5 [=========>........] 469/938 loss nan");
}

TEST_CASE("a terminal that stands still gets no progress line, and the newest one when it goes on") {
  bool has_room = false;
  ConsoleOptions options;
  options.is_terminal = true;
  options.has_room = [&has_room] { return has_room; };
  std::ostringstream out;
  Console console(out, options);
  console.on_event(run_start("distributed", 2));
  out.str("");
  for (int64_t at = 1; at <= 100; ++at) console.on_event(progress("distributed", 1, at));
  console.on_tick();
  CHECK(out.str().empty());
  has_room = true;
  console.on_tick();
  CHECK_THAT(out.str(), ContainsSubstring("100/938"));
}
