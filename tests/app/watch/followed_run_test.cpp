// A run's folder while it is written: what is read of it, and how it ends.
#include "watch/followed_run.h"

#include <atomic>
#include <cmath>
#include <thread>

#include "catch.h"
#include "core/error.h"
#include "files.h"
#include "host/machine.h"
#include "metrics/sample_events.h"
#include "runs/run_directory.h"
#include "sanitized.h"

namespace dtrain {
namespace {

namespace fs = std::filesystem;

// The start of a run on this host, or on another.
Event start_on(const std::string& host) {
  Event start = run_start("distributed", 2);
  start["time"] = "2026-01-31T12:00:00.000Z";
  start["host"] = host;
  return start;
}

std::string line(const Event& event) { return event_text(event) + "\n"; }

Event step_at(int64_t number, double loss, const std::string& time = "") {
  Event event = step("distributed", 1 + (number - 1) / 469, number);
  event["loss"] = loss;
  if (!time.empty()) event["time"] = time;
  return event;
}

struct WrittenRun {
  TemporaryFolder folder;
  fs::path events = folder / "metrics.jsonl";

  explicit WrittenRun(const std::string& text) { write_file(events, text); }
  void append(const std::string& text) const { std::ofstream(events, std::ios::app) << text; }
  // As a restart does: another file takes the place of this one.
  void replace(const std::string& text) const { fs::rename(folder.write("new", text), events); }
};

}  // namespace

TEST_CASE("a curve keeps its shape in bounded memory") {
  Curve line_of_ones;
  for (int i = 0; i < few_if_sanitized(1'000'000, 50'000); ++i) line_of_ones.add(i, 3 * i + 1);
  const auto& points = line_of_ones.points();
  CHECK(points.size() <= 1024);
  CHECK(points.size() >= 512);
  for (const auto& [x, y] : points) CHECK(y == Approx(3 * x + 1));  // means of points of a line are on it
  CHECK(std::ranges::is_sorted(points));

  Curve gaps;
  for (const auto& [x, y] : {std::pair{0.0, 1.0}, {1.0, 3.0}, {9.0, 7.0}, {5.0, std::nan("")}})
    gaps.add(x, y);
  const std::vector<double> joined = gaps.sampled(10, 5, true), apart = gaps.sampled(10, 5, false);
  CHECK(joined[0] == 2);  // the mean of two points
  CHECK(joined[4] == 7);
  CHECK(joined[2] == Approx(4.5));  // half way
  CHECK(apart[0] == 2);
  CHECK(std::isnan(apart[2]));
}

TEST_CASE("half a line waits for its end, and what is no event is left out") {
  const WrittenRun run(line(start_on(own_host_name())) + "garbage\n" + R"({"event":"step","run":"distri)");
  FollowedRun followed(run.folder.path());
  CHECK(followed.look().state.step == 0);
  run.append(R"(buted","epoch":1,"step":7,"loss":0.5,"accuracy":0.25})");
  CHECK(followed.look().state.step == 0);
  run.append("\n");
  const WatchedRun seen = followed.look();
  CHECK(seen.state.step == 7);
  CHECK(find_metric(seen.state.training, "loss") == 0.5);
  CHECK(seen.state.metric == "accuracy");
  // A line without an end that fills the memory: it is skipped, and the next one counts.
  for (int i = 0; i < 20; ++i) run.append(std::string(1 << 20, 'x'));
  run.append("\n" + line(step_at(8, 0.4)));
  CHECK(followed.look().state.step == 8);
}

TEST_CASE("a file that goes back to a checkpoint is read again, and little at a time if that is asked") {
  const std::string start = line(start_on(own_host_name()));
  std::string all = start;
  for (int number = 1; number <= 100; ++number) all += line(step_at(number, 1.0 / number));
  const WrittenRun run(all);
  FollowedRun followed(run.folder.path());
  CHECK(followed.look().state.step == 100);
  const std::string rewound = start + line(step_at(1, 1)) + line(step_at(2, 0.5));
  run.replace(
      rewound +
      line({{"event", "restart"}, {"run", "distributed"}, {"restart", 1}, {"step", 2}, {"error", "x"}}));
  const WatchedRun back = followed.look();
  CHECK(back.state.step == 2);
  CHECK(back.state.training_curves.at("loss").points().size() == 2);
  CHECK(back.state.note == "restart 1 from step 2: x");
  Event again = start_on(own_host_name());
  again["resumed_step"] = 2;
  run.append(line(again) + line(step_at(3, 0.25)));
  const WatchedRun on = followed.look();
  CHECK(on.state.step == 3);
  CHECK(on.state.training_curves.at("loss").points().size() == 3);  // with what it did before

  run.replace(rewound);
  fs::resize_file(run.events, start.size());
  CHECK(followed.look().state.step == 0);
  FollowedRun slow(run.folder.path());
  run.append(std::string(3 << 20, ' '));
  CHECK(slow.look(1 << 20).read < 1);
  CHECK(slow.look(4 << 20).read == 1);
}

TEST_CASE("who holds the folder's lock is running; without one, a run without an end was killed") {
  const TemporaryFolder folder;
  std::optional<RunDirectory> owner = RunDirectory::create({.name = "x", .directory = folder / "run"});
  FollowedRun followed(folder / "run");
  CHECK(followed.look().status == "starting");
  std::ofstream(owner->metrics_file()) << line(start_on(own_host_name()));
  CHECK(followed.look().status == "running");
  owner.reset();
  CHECK(followed.look().status == "interrupted");
  const std::string again = "it was killed; it has no checkpoint; start it again: dtrain run SPEC";
  CHECK(followed.look().hint == again);
  fs::create_directories(folder / "run/checkpoints/.step-000000469.new.1");
  folder.write("run/checkpoints/.step-000000469.new.1/manifest.json", "{}");  // half-written
  fs::create_directory(folder / "run/checkpoints/step-000000469");
  CHECK(followed.look().hint == again);
  folder.write("run/checkpoints/step-000000469/manifest.json", "{}");
  CHECK_THAT(followed.look().hint, ContainsSubstring("to go on: dtrain run --resume "));
  std::ofstream(folder / "run/metrics.jsonl", std::ios::app) << line(run_end("distributed"));
  CHECK(followed.look().status == "completed");
  CHECK(followed.look().hint.empty());
}

TEST_CASE("looking at the lock does not keep a job from taking it") {
  const TemporaryFolder folder;
  { RunDirectory::create({.name = "x", .directory = folder / "run"}); }
  std::atomic<bool> done = false;
  std::thread watcher([&] {
    while (!done) is_in_use(folder / "run");
  });
  for (int i = 0; i < 200; ++i) CHECK_NOTHROW(RunDirectory::reopen(folder / "run"));
  done = true;
  watcher.join();
}

TEST_CASE("a run of another host is running as long as its events grow") {
  const WrittenRun run(line(start_on("another-host")));
  const auto after = [&](std::chrono::seconds silence) {
    fs::last_write_time(run.events, fs::file_time_type::clock::now() - silence);
    return FollowedRun(run.folder.path()).look();
  };
  FollowedRun fresh(run.folder.path());
  CHECK(fresh.look().status == "running");
  // One that a launcher has started writes nothing about the machine.
  CHECK(after(std::chrono::seconds(120)).status == "running");
  CHECK(after(std::chrono::seconds(600)).status == "interrupted");
  FollowedRun old(run.folder.path());
  CHECK(old.look().status == "interrupted");
  run.append(line({{"event", "machine"}, {"run", "distributed"}, {"processors", 0.5}}));
  CHECK(old.look().status == "running");
  CHECK(after(std::chrono::seconds(10)).status == "running");
  const WatchedRun silent = after(std::chrono::seconds(120));
  CHECK(silent.status == "interrupted");
  CHECK(silent.hint ==
        "no events for more than 20 s from another-host (look there whether dtrain runs); "
        "it has no checkpoint; start it again: dtrain run SPEC");
  Event resumed = start_on("another-host");  // by a launcher
  resumed["resumed_step"] = 5;
  run.append(line(resumed));
  CHECK(after(std::chrono::seconds(120)).status == "running");
}

TEST_CASE("a run that a launcher has resumed may be silent for longer than before") {
  const WrittenRun run(line(start_on("another-host")) +
                       line({{"event", "machine"}, {"run", "distributed"}, {"processors", 0.5}}));
  const auto status = [&] {
    fs::last_write_time(run.events, fs::file_time_type::clock::now() - std::chrono::minutes(2));
    return FollowedRun(run.folder.path()).look().status;
  };
  CHECK(status() == "interrupted");
  run.append(line({{"event", "message"}, {"run", "distributed"}, {"text", "resuming it from step 2"}}));
  CHECK(status() == "running");  // it loads its data
  Event again = start_on("another-host");
  again["resumed_step"] = 2;
  run.append(line(again));
  CHECK(status() == "running");
  run.append(line({{"event", "machine"}, {"run", "distributed"}, {"processors", 0.5}}));
  CHECK(status() == "interrupted");
}

TEST_CASE("a run that has not begun may be on any host") {
  const WrittenRun run("");
  CHECK(FollowedRun(run.folder.path()).look().status == "starting");
  run.append(line({{"event", "machine"}, {"run", "distributed"}, {"processors", 0.5}}));
  CHECK(FollowedRun(run.folder.path()).look().status == "starting");
  fs::last_write_time(run.events, fs::file_time_type::clock::now() - std::chrono::minutes(2));
  CHECK(FollowedRun(run.folder.path()).look().status == "interrupted");
}

TEST_CASE("the time left is that of the steps so far, evaluations included") {
  const WrittenRun run(line(start_on("another-host")) + line(step_at(100, 1, "2026-01-31T12:00:10.000Z")) +
                       line(step_at(200, 0.5, "2026-01-31T12:00:40.000Z")));
  // 200 steps took 40 s, and 738 are to come.
  CHECK(*FollowedRun(run.folder.path()).look().seconds_left() == Approx(738 * 0.2));
}

TEST_CASE("a baseline that is done is not the end of its job") {
  const TemporaryFolder folder;
  std::optional<RunDirectory> owner = RunDirectory::create({.name = "x", .directory = folder / "run"});
  std::ofstream(owner->metrics_file())
      << line(run_start("baseline", 1)) << line(step("baseline", 1, 10)) << line(run_end("baseline"));
  FollowedRun followed(folder / "run");
  CHECK(followed.look().status == "running");
  std::ofstream(owner->metrics_file(), std::ios::app) << line(start_on(own_host_name()));
  const WatchedRun next = followed.look();
  CHECK(next.state.start.run == "distributed");
  CHECK(next.state.training_curves.empty());  // they were the baseline's
}

TEST_CASE("an end of an unknown kind is a failure") {
  for (const auto& [status, shown] : std::vector<std::pair<std::string, std::string>>{
           {"completed", "completed"}, {"stopped", "stopped"}, {std::string(300, 's'), "failed"}}) {
    Event end = run_end("distributed");
    end["status"] = status;
    const WrittenRun run(line(start_on(own_host_name())) + line(end));
    CHECK(FollowedRun(run.folder.path()).look().status == shown);
  }
}

TEST_CASE("counts that no run has overflow nothing") {
  Event start = start_on(own_host_name());
  start["steps_per_epoch"] = INT64_MAX;
  start["total_steps"] = INT64_MIN;
  Event whole = epoch("distributed", 1);
  for (const int64_t number : {INT64_MIN, INT64_MAX}) {
    whole["epoch"] = number;
    whole.erase("step");
    RunState state;
    for (const Event& event : {start, whole, eval("distributed", 1), whole}) state.take(event);
    CHECK(state.step >= 0);
    CHECK(state.step <= int64_t{1} << 53);
    CHECK(state.epoch >= 0);
  }
}

TEST_CASE("an ended run is read again only when its events change") {
  const std::string start = line(start_on(own_host_name()));
  const WrittenRun run(start + line(run_end("distributed")));
  FollowedRun followed(run.folder.path());
  CHECK(followed.look().status == "completed");
  CHECK(followed.look().status == "completed");
  Event again = start_on(own_host_name());
  again["resumed_step"] = 938;
  run.append(line(again) + line(step_at(940, 0.25)));
  const WatchedRun on = followed.look();
  CHECK(on.status == "interrupted");
  CHECK(on.state.step == 940);
}

TEST_CASE("events that cannot be read are an error, and only progress counts as reading") {
  const WrittenRun run(line(start_on(own_host_name())) + std::string(3 << 20, ' '));
  FollowedRun followed(run.folder.path());
  CHECK(followed.look(1 << 20).reads);
  CHECK_FALSE(followed.look(0).reads);
  CHECK_FALSE(followed.look().reads);  // there is no more
  fs::remove(run.events);
  fs::create_directory(run.events);  // root may read any file, but no one a folder
  CHECK_THROWS_WITH(followed.look(), ContainsSubstring("cannot read ") &&
                                         ContainsSubstring("metrics.jsonl") &&
                                         ContainsSubstring("Is a directory"));
}

TEST_CASE("the best evaluation is the one that the run itself calls the best") {
  const auto eval_at = [](int64_t epoch, double loss, double accuracy) {
    return line(eval_of("test", "distributed", epoch, loss, accuracy));
  };
  const WrittenRun run(line(start_on(own_host_name())) + line(step_at(7, 0.5)) + eval_at(1, 0.3, 0.9) +
                       eval_at(2, 0.2, 0.8));
  const WatchedRun by_loss = FollowedRun(run.folder.path()).look();  // without a spec
  REQUIRE(by_loss.state.best);
  CHECK(by_loss.state.best->epoch == 2);
  run.folder.write("spec.yaml",
                   "plugins: [/no/such/plugin.so]\nplugin_versions: [own 1.0.0]\n"  // nor is it looked for
                   "batch: {per_replica: 8}\ndata: {dataset: mnist}\nmodel: {kind: own, units: 5}\n"
                   "checkpoint: {every_epochs: 1, best: {metric: accuracy}}\n");
  const WatchedRun by_accuracy = FollowedRun(run.folder.path()).look();
  REQUIRE(by_accuracy.state.best);
  CHECK(by_accuracy.state.best_by.metric == "accuracy");
  CHECK(by_accuracy.state.best->epoch == 1);
}

TEST_CASE("a folder without a run is refused with what to do") {
  const TemporaryFolder folder;
  CHECK_THROWS_WITH(FollowedRun(folder.path()), ContainsSubstring("holds no run (metrics.jsonl)"));
  folder.write("sweep.json", "{}");
  CHECK_THROWS_WITH(FollowedRun(folder.path()), ContainsSubstring("dtrain report "));
}

}  // namespace dtrain
