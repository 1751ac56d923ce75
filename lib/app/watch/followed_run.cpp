#include "watch/followed_run.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <fstream>
#include <memory>
#include <set>
#include <system_error>

#include "core/clock.h"
#include "core/error.h"
#include "core/files.h"
#include "core/text.h"
#include "host/machine.h"
#include "job_file/load.h"
#include "runs/run_directory.h"

namespace dtrain {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMostPoints = 1024;       // of a curve
constexpr size_t kLongestLine = 16 << 20;  // bytes
constexpr size_t kBlock = 256 << 10;       // bytes that are read at once
constexpr double kQuiet = 20;              // seconds: a run adds `machine` to its events every 5,
constexpr double kQuietLaunched = 300;     // but not one whose processes a launcher has started
constexpr int64_t kMostSteps = 1LL << 53;  // whole numbers up to it are exact as double

// The board of the supervisor that has the run's folder; nullptr: there is none on this host that this user
// may look at. Costs some milliseconds: the kernel lists processes and their files as folders.
std::unique_ptr<StatusBoard> find_board(const fs::path& folder) {
  for (const fs::path& process : paths_in("/proc")) {
    std::string name;
    if (!std::getline(std::ifstream(process / "comm"), name) || !name.starts_with("dtrain")) continue;
    fs::path board;
    bool has_folder = false;
    for (const fs::path& file : paths_in(process / "fd")) {
      std::error_code closed;
      const std::string target = fs::read_symlink(file, closed).string();
      if (target.starts_with("/memfd:dtrain-status")) board = file;
      if (target == folder) has_folder = true;
    }
    if (!has_folder || board.empty()) continue;
    Descriptor descriptor(::open(board.c_str(), O_RDWR | O_CLOEXEC));
    try {
      auto found = StatusBoard::open(descriptor.get());
      descriptor.release();
      return found;
    } catch (const Error&) {  // it has just gone
    }
  }
  return nullptr;
}

// A count from a file: one that no run has would overflow what is computed with it.
int64_t sane(int64_t count) { return std::clamp<int64_t>(count, 0, kMostSteps); }

// The number of steps in so many epochs.
int64_t steps_in(int64_t epochs, int64_t steps_per_epoch) {
  const double steps = static_cast<double>(epochs) * static_cast<double>(steps_per_epoch);
  return static_cast<int64_t>(std::min(steps, static_cast<double>(kMostSteps)));
}

// Whether there is a checkpoint to go on from. A complete one has its manifest (checkpoint/checkpoint.h,
// which needs LibTorch); one that is being written has a name that begins with a dot.
bool has_checkpoint(const fs::path& run) {
  return std::ranges::any_of(paths_in(run / "checkpoints"), [](const fs::path& path) {
    std::error_code gone;
    return path.filename().string().starts_with("step-") && fs::is_regular_file(path / "manifest.json", gone);
  });
}

[[noreturn]] void cannot_read(const fs::path& path, int error) {
  const bool denied = error == EACCES || error == EPERM;
  throw Error(denied ? ExitCode::kUsage : ExitCode::kDisk, "cannot read {}: {}; {}", path.string(),
              std::generic_category().message(error),
              denied ? "ask its owner for the permission to read it" : "check the disk, and run it again");
}

// The loss if the spec cannot be read: a newer dtrain may have written it. Who watches a run does not run its
// plug-ins: their kinds and fields are problems of the spec, which do not matter here.
BestCheckpointSpec deciding_metric_in(const fs::path& run) {
  const fs::path spec = run / "spec.yaml";
  const Overrides without_plugins({}, {"plugins", "plugin_versions"});
  try {
    std::error_code none;
    if (fs::is_regular_file(spec, none)) return deciding_metric(load_spec(spec, without_plugins).spec);
  } catch (const Error&) {  // the rest of the run can be shown
  }
  return deciding_metric(JobSpec());
}

void add_to(Curves& curves, const RunState& state, const MetricValues& metrics) {
  for (const std::string& name : std::set<std::string>{"loss", state.metric}) {
    if (const auto value = find_metric(metrics, name))
      curves[name].add(static_cast<double>(state.step), *value);
  }
}

void take_start(RunState& state, const RunStartEvent& begin) {
  RunState fresh;
  // What a resumed run did before stays in its curves.
  if (begin.resumed_step && begin.run == state.start.run) fresh = state;
  fresh.start = begin;
  for (auto* count : {&fresh.start.epochs, &fresh.start.steps_per_epoch, &fresh.start.total_steps})
    if (*count) *count = sane(**count);
  fresh.end.reset();
  fresh.best_by = state.best_by;
  fresh.note = state.note;
  fresh.machine = state.machine;
  fresh.is_measured = state.is_measured && !begin.resumed_step;  // a launcher may have, without these events
  fresh.pace = Pace();
  if (const auto at = seconds_of(begin.time.value_or("")))
    fresh.pace.see(sane(begin.resumed_step.value_or(0)), *at);
  state = std::move(fresh);
}

// A line, an epoch or an evaluation.
void take_progress(RunState& state, const Event& event, bool is_epoch) {
  const EventPlace place = place_of(event);
  const int64_t per_epoch = state.start.steps_per_epoch.value_or(0);
  state.epoch = sane(place.epoch.value_or(state.epoch));
  const int64_t unknown = is_epoch ? steps_in(state.epoch, per_epoch) : state.step;
  state.step = std::max(state.step, sane(place.step.value_or(unknown)));
  state.is_evaluating = is_epoch;
  if (const auto at = seconds_of(text_at(event, "time").value_or(""))) state.pace.see(state.step, *at);
}

void take_training(RunState& state, const MetricValues& values) {
  state.training = values;
  add_to(state.training_curves, state, values);
}

void take_epoch(RunState& state, const EpochEvent& epoch) {
  if (main_metric_of(epoch.metrics) != "loss") state.metric = main_metric_of(epoch.metrics);
  const auto& points = state.training_curves["loss"].points();
  const int64_t before = std::max<int64_t>(state.epoch - 1, 0);
  const auto began = static_cast<double>(steps_in(before, state.start.steps_per_epoch.value_or(1)));
  // A short epoch may have no events of steps.
  if (points.empty() || points.back().first <= began) take_training(state, epoch.metrics);
  if (epoch.speed.examples_per_second) state.speed = epoch.speed;
  if (epoch.device.device_memory_bytes) state.device = epoch.device;
}

void take_evaluation(RunState& state, const EvalEvent& test) {
  state.evaluation = test.metrics;
  state.part = test.part.value_or(kTestPart);
  // Of the final test alone, after evaluations of the validation part, there is no curve.
  if (test.part == kTestPart && state.during == kValidationPart) return;
  state.during = state.part;
  add_to(state.evaluation_curves, state, state.evaluation);
  const BestCheckpointSpec& by = state.best_by;
  const EvaluationPoint point{state.epoch, state.evaluation, 0};
  const double value = point.value(*by.metric);
  if (std::isfinite(value) &&
      (!state.best || is_better(*by.metric, by.mode, value, state.best->value(*by.metric))))
    state.best = point;
}

void take_end(RunState& state, RunEndEvent over) {
  state.step = sane(over.steps.value_or(state.step));
  if (!over.metrics.empty()) state.evaluation = over.metrics;
  state.part = over.part.value_or(state.part);
  if (over.speed.examples_per_second) state.speed = over.speed;
  state.end = std::move(over);
}

}  // namespace

void Curve::add(double x, double y) {
  if (!std::isfinite(y)) return;
  if (in_last_ < group_ && !points_.empty()) {
    const auto share = 1 / static_cast<double>(++in_last_);
    points_.back().first += (x - points_.back().first) * share;
    points_.back().second += (y - points_.back().second) * share;
    return;
  }
  if (points_.size() == kMostPoints) {
    for (size_t i = 0; i < kMostPoints / 2; ++i) {
      const auto &left = points_[2 * i], &right = points_[2 * i + 1];
      points_[i] = {(left.first + right.first) / 2, (left.second + right.second) / 2};
    }
    points_.resize(kMostPoints / 2);
    group_ *= 2;
  }
  points_.emplace_back(x, y);
  in_last_ = 1;
}

std::vector<double> Curve::sampled(double end, size_t count, bool joined) const {
  std::vector<double> values(count, std::nan("")), weights(count, 0);
  const auto column_of = [&](double x) {
    return std::min(static_cast<size_t>(std::max(0.0, x / end) * static_cast<double>(count)), count - 1);
  };
  for (size_t i = 0; i < points_.size(); ++i) {
    const size_t column = column_of(points_[i].first);
    weights[column] += 1;
    values[column] = weights[column] == 1
                         ? points_[i].second
                         : values[column] + (points_[i].second - values[column]) / weights[column];
  }
  std::optional<size_t> before;
  for (size_t column = 0; joined && column < count; ++column) {
    if (weights[column] == 0) continue;
    for (size_t between = before.value_or(column) + 1; before && between < column; ++between) {
      const double part = static_cast<double>(between - *before) / static_cast<double>(column - *before);
      values[between] = values[*before] + part * (values[column] - values[*before]);
    }
    before = column;
  }
  return values;
}

void RunState::take(const Event& event) {
  if (const auto begin = decode<RunStartEvent>(event)) return take_start(*this, *begin);
  if (const auto text = note_of(event)) note = *text;
  if (decode<MessageEvent>(event)) is_measured = false;  // a launcher may resume it, which says so first
  if (const auto load = decode<MachineEvent>(event)) machine = load, is_measured = true;
  if (const auto comparison = decode<ComparisonEvent>(event)) verdict = comparison->verdict.value_or("");
  if (place_of(event).run != start.run) return;
  const auto line = decode<StepEvent>(event);
  const auto whole = decode<EpochEvent>(event);
  const auto test = decode<EvalEvent>(event);
  if (line || whole || test) take_progress(*this, event, whole.has_value());
  if (line) {
    if (main_metric_of(line->metrics) != "loss") metric = main_metric_of(line->metrics);
    speed = line->speed;
    learning_rate = line->learning_rate;
    take_training(*this, line->metrics);
  }
  if (whole) take_epoch(*this, *whole);
  if (test) take_evaluation(*this, *test);
  if (auto over = decode<RunEndEvent>(event)) take_end(*this, std::move(*over));
}

int64_t WatchedRun::step() const {
  int64_t furthest = state.step;
  for (const ReplicaStatus& replica : replicas) furthest = std::max(furthest, replica.step);
  const int64_t total = state.start.total_steps.value_or(furthest);
  return std::min(furthest, std::max(total, state.step));
}

std::optional<double> WatchedRun::seconds_left() const {
  if (!is_going_on() || state.end || !state.start.total_steps) return std::nullopt;
  return state.pace.seconds_left(step(), *state.start.total_steps);
}

FollowedRun::FollowedRun(fs::path folder) : folder_(std::move(folder)) {
  std::error_code none;
  if (fs::is_regular_file(folder_ / "metrics.jsonl", none)) return;
  const bool is_sweep = fs::exists(folder_ / "sweep.json", none) || fs::exists(folder_ / "tune.json", none);
  throw Error(ExitCode::kUsage, "{} holds no run (metrics.jsonl){}", folder_.string(),
              is_sweep ? "; for what is in it: dtrain report " + shell_word(folder_.string()) : "");
}

bool FollowedRun::read(int64_t bytes) {
  const fs::path path = folder_ / "metrics.jsonl";
  struct stat there {};
  if (::stat(path.c_str(), &there) != 0) return false;  // it is being replaced
  const bool same = there.st_ino == inode_ && there.st_dev == device_;
  const bool is_open = file_.get() >= 0;
  if (same && !is_open && there.st_size == size_ && there.st_mtime == modified_) return false;
  modified_ = there.st_mtime;
  if (!same || !is_open || there.st_size < offset_) {
    Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    if (file.get() < 0 && errno == ENOENT) return false;
    struct stat ours {};
    if (file.get() < 0 || ::fstat(file.get(), &ours) != 0) cannot_read(path, errno);
    file_ = std::move(file);
    inode_ = ours.st_ino;
    device_ = ours.st_dev;
    offset_ = 0;
    rest_.clear();
    skips_ = false;
    state_ = RunState();
    const double age = static_cast<double>(::time(nullptr) - there.st_mtime);
    changed_at_ = steady_seconds() - std::max(0.0, age);
  } else if (there.st_size != size_) {
    changed_at_ = steady_seconds();
  }
  size_ = there.st_size;
  std::string block(kBlock, '\0');
  const int64_t before = offset_;
  for (int64_t left = bytes; left > 0;) {
    const ssize_t got = ::pread(file_.get(), block.data(), block.size(), offset_);
    // A file that was replaced on another host is stale here until it is opened again.
    if (got < 0 && errno != EINTR && errno != EAGAIN && errno != ESTALE) cannot_read(path, errno);
    if (got <= 0) break;
    offset_ += got;
    left -= got;
    take_lines({block.data(), static_cast<size_t>(got)});
  }
  size_ = std::max(size_, offset_);
  return offset_ > before;
}

void FollowedRun::take_lines(std::string_view text) {
  while (!text.empty()) {
    const size_t end = text.find('\n');
    if (!skips_) rest_ += text.substr(0, end);
    if (rest_.size() > kLongestLine) {
      skips_ = true;
      rest_.clear();
    }
    if (end == std::string_view::npos) return;
    const Event event = Event::parse(rest_, nullptr, /*allow_exceptions=*/false);
    if (event.is_object()) {
      if (decode<RunStartEvent>(event)) state_.best_by = deciding_metric_in(folder_);
      state_.take(event);
    }
    rest_.clear();
    skips_ = false;
    text.remove_prefix(end + 1);
  }
}

WatchedRun FollowedRun::look(int64_t bytes) {
  const bool locked =
      is_in_use(folder_);  // before the events are read: if it ends in between, its end is there
  const bool has_read = read(bytes);
  // Locks do not reach over hosts everywhere. There the events tell, to which a run adds all the time. Before
  // its start nobody knows its host.
  const bool is_away = state_.start.host != own_host_name();
  const double quiet = state_.is_measured ? kQuiet : kQuietLaunched;
  const bool in_use = locked || (is_away && steady_seconds() - changed_at_ < quiet);
  WatchedRun run{.path = folder_.string(), .state = state_};
  run.read = size_ > 0 ? static_cast<double>(offset_) / static_cast<double>(size_) : 1;
  run.reads = has_read && run.read < 1;
  run.now = steady_seconds();
  const auto how_to_go_on = [&] {
    return has_checkpoint(folder_) ? "to go on: dtrain run --resume " + shell_word(folder_.string())
                                   : "it has no checkpoint; start it again: dtrain run SPEC";
  };
  std::string end = state_.end ? state_.end->status.value_or("completed") : "";
  if (!end.empty() && end != "completed" && end != "stopped") end = "failed";
  const bool is_last = state_.start.run == "distributed" || (!end.empty() && end != "completed");
  if (!end.empty() && is_last) {
    run.status = end;
    if (end == "stopped") run.hint = how_to_go_on();
    if (run.read >= 1) file_.reset();
  } else if (in_use || run.read < 1) {
    run.status = state_.start.run ? "running" : "starting";
  } else {
    run.status = "interrupted";
    run.hint =
        (is_away ? fmt::format("no events for more than {:.0f} s from {} (look there whether dtrain runs)",
                               quiet, state_.start.host.value_or("its host"))
                 : "it was killed") +
        "; " + how_to_go_on();
  }
  std::error_code none;
  const fs::path whole = fs::canonical(folder_, none);
  const auto board = run.is_going_on() && !none ? find_board(whole) : nullptr;
  for (int rank = 0; board && rank < board->replicas(); ++rank) run.replicas.push_back(board->get(rank));
  return run;
}

}  // namespace dtrain
