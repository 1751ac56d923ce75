#include "experiments/tune.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <functional>
#include <limits>
#include <list>
#include <thread>

#include "checkpoint/checkpoint.h"
#include "core/descriptor.h"
#include "core/files.h"
#include "core/signals.h"
#include "core/text.h"
#include "display/tune.h"
#include "experiments/child_run.h"
#include "initial_state/resume.h"
#include "job/restarts.h"
#include "metrics/show.h"
#include "runs/finished_run.h"
#include "traits/objectives.h"

namespace dtrain {
namespace {

namespace fs = std::filesystem;

Descriptor locked(const fs::path& folder) {
  Descriptor lock(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  // File systems without locks answer with other errors.
  if (::flock(lock.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
    throw Error(ExitCode::kUsage, folder.string() + ": another dtrain tune works in this folder");
  return lock;
}

struct RunningTrial {
  size_t trial = 0;
  ChildRun run;
};

class TuneRunner {
 public:
  TuneRunner(const fs::path& folder, std::ostream& progress)
      : lock_(locked(folder)), folder_(folder), tune_(read_tune(folder / "tune.json")), progress_(progress) {
    tune_.directory = folder.string();  // it may have moved
    if (tune_.search == "tpe") planner_.emplace(planner_of(tune_));
    fs::create_directory(folder_ / "logs");
    for (TuneTrial& trial : tune_.trials) {
      const ExitCode code = trial.exit_code;
      if (code != ExitCode::kStopped && code != ExitCode::kDisk && !may_end_otherwise(code)) continue;
      trial.error.clear();  // it is tried again
      trial.exit_code = ExitCode::kDone;
    }
  }

  ExitCode run() {
    catch_stop_signals();
    signals_passed_on_ = stop_signals_received();
    write_files();
    for (rung_ = 0; rung_ < (tune_.asynchronous ? 1 : tune_.epochs.size()); ++rung_) {
      if (run_rung()) continue;
      if (!disk_failed_) return ExitCode::kStopped;
      with_room([this] { write_files(); });  // there may be some again
      return ExitCode::kDisk;
    }
    const Tune whole = combined(tune_);
    if (best_trial(whole)) return ExitCode::kDone;
    return whole.trials.empty() ? ExitCode::kBug : whole.trials.front().exit_code;
  }

 private:
  // Does it. If the disk has no room for that, the tune ends once the trials that run have ended.
  void with_room(const std::function<void()>& work) {
    try {
      work();
    } catch (const Error& error) {
      if (error.code() != ExitCode::kDisk) throw;
      disk_failed_ = true;
      progress_ << printable_lines(error.what()) << std::endl;
    }
  }

  // What may be trained now and does not run yet, in the order in which it starts: of this rung, or of all,
  // the last one first, where they wait for nothing.
  std::vector<size_t> ready(const std::list<RunningTrial>& running) const {
    std::vector<size_t> trials;
    const size_t first = tune_.asynchronous ? 0 : rung_;
    for (size_t rung = tune_.asynchronous ? tune_.epochs.size() : rung_ + 1; rung-- > first;) {
      for (const size_t i : trials_of_rung(tune_, rung)) {
        const auto is_this = [&](const RunningTrial& each) { return each.trial == i; };
        const TuneTrial& trial = tune_.trials[i];
        if (trial.error.empty() && trial.scores.size() == rung && std::ranges::none_of(running, is_this))
          trials.push_back(i);
      }
    }
    // Where too few are left of a rung for one of them to go on, the best one does all the same.
    const auto best = best_trial(tune_);
    if (tune_.asynchronous && trials.empty() && running.empty() && best &&
        tune_.trials[*best].scores.size() < tune_.epochs.size())
      trials.push_back(*best);
    return trials;
  }

  // Returns false if a signal stopped it, or a disk on which later trials would fail, too.
  bool run_rung() {
    std::list<RunningTrial> running;
    announce(ready(running).size() + to_propose());
    bool stops = false;
    do {
      if (stop_signals_received() > signals_passed_on_) {
        signals_passed_on_ = stop_signals_received();
        stops = true;
        for (const RunningTrial& each : running) each.run.tell(last_stop_signal());
      }
      for (auto each = running.begin(); each != running.end();) {
        const std::optional<ChildRunEnd> end = each->run.ended();
        if (end) take(each->trial, *end, stops);
        each = end ? running.erase(each) : std::next(each);
      }
      with_room([&] {
        while (!stops && !disk_failed_ && stop_signals_received() == signals_passed_on_ &&
               std::ssize(running) < tune_.at_once) {
          std::vector<size_t> next = ready(running);
          if (next.empty() && to_propose() > 0) next = proposed();
          if (next.empty()) break;
          start(next.front(), running);
        }
      });
      if (!running.empty()) std::this_thread::sleep_for(std::chrono::milliseconds(10));
    } while (!running.empty());
    return !stops && !disk_failed_ && stop_signals_received() == signals_passed_on_;
  }

  // How many trials of --tpe are still to be proposed.
  size_t to_propose() const {
    if (tune_.search != "tpe") return 0;
    return static_cast<size_t>(
        std::max<int64_t>(0, tune_.combinations * tune_.trials_each() - std::ssize(tune_.trials)));
  }

  // The trials of one more combination, which are then in tune.json; none if all have been tried.
  std::vector<size_t> proposed() {
    std::vector<TriedValues> tried;
    const Tune whole = combined(tune_);
    for (const TuneTrial& trial : whole.trials) tried.push_back({trial.values, loss_of(trial)});
    const auto combination = propose_trial(planner_->fields(), tried, static_cast<uint64_t>(tune_.seed));
    std::vector<size_t> added;
    if (!combination) {
      tune_.combinations = std::ssize(tried);
      progress_ << fmt::format("no other combination is left to try; the tune ends with {}",
                               show_counted(tune_.combinations, "combination"))
                << std::endl;
    }
    for (int64_t i = 0; combination && i < tune_.trials_each(); ++i) {
      TuneTrial trial{.values = tune_.trials[static_cast<size_t>(i)].values, .scores = {}};
      std::ranges::copy(*combination, trial.values.begin());  // before its fold and seed
      added.push_back(tune_.trials.size());
      tune_.trials.push_back(std::move(trial));
    }
    write_files();
    return added;
  }

  // The lower the better, infinite for one that failed, nullopt for one that has not ended.
  std::optional<double> loss_of(const TuneTrial& trial) const {
    if (!trial.error.empty()) return std::numeric_limits<double>::infinity();
    if (!trial.has_result()) return std::nullopt;
    return trial.scores.back() * (metric_info(tune_.metric).higher_is_better ? -1 : 1);
  }

  // Plans a proposed trial. Returns false if it does not fit the job: then it has failed. Throws
  // Error(kUsage) if the first trial, which fitted, does not either: then something else is wrong.
  bool add_spec(size_t index) {
    ChildRunEnd end{ExitCode::kUsage, ""};
    std::vector<Problem> problems;
    try {
      if (const auto planned = planner_->plan(tune_.trials[index].values, problems)) {
        write_file_durably(spec_file(index), planned->spec);
        return true;
      }
      end.reason = problems.front().to_string();
    } catch (const Error& error) {
      if (error.code() == ExitCode::kDisk) throw;
      end = {error.code(), error.what()};
    }
    problems.clear();
    if (!planner_->plan(tune_.trials.front().values, problems))
      throw Error(ExitCode::kUsage, problems.front().to_string());
    take(index, end, false);
    return false;
  }

  fs::path spec_file(size_t trial) const { return folder_ / "specs" / (trial_folder(trial) + ".yaml"); }

  void announce(size_t left) {
    done_ = 0;
    of_ = left;
    if (left == 0) return;
    std::string text = fmt::format("tune of {}", show_counted(static_cast<int64_t>(left), "trial"));
    if (tune_.epochs.size() > 1 && !tune_.asynchronous)
      text +=
          fmt::format(", rung {} of {}: to epoch {}", rung_ + 1, tune_.epochs.size(), tune_.epochs[rung_]);
    progress_ << text << ", in " << printable(folder_.string(), 1000) << std::endl;
  }

  void start(size_t index, std::list<RunningTrial>& running) {
    if (planner_ && !fs::exists(spec_file(index)) && !add_spec(index)) return;
    const fs::path run = folder_ / trial_folder(index);
    std::vector<std::string> arguments = {spec_file(index).string()};
    if (!list_checkpoints(checkpoint_folder(run)).empty()) {
      arguments.insert(arguments.end(), {"--resume", run.string()});
    } else {
      arguments.insert(arguments.end(), {"--run-dir", run.string()});
      if (fs::exists(run / "metrics.jsonl")) arguments.emplace_back("--overwrite");
    }
    TuneTrial& trial = tune_.trials[index];
    trial.rung = trial.scores.size();
    if (tune_.asynchronous) write_files();  // it goes on after a --resume, too
    const int64_t epochs = tune_.epochs[trial.rung];
    if (epochs > 0) arguments.insert(arguments.end(), {"--set", fmt::format("train.epochs={}", epochs)});
    const fs::path log = folder_ / "logs" / (trial_folder(index) + ".log");
    running.push_back({index, ChildRun(arguments, run, log)});
  }

  void take(size_t index, ChildRunEnd end, bool stops) {
    TuneTrial& trial = tune_.trials[index];
    if (end.code == ExitCode::kDone) end = read_result(index, trial);
    std::string text = end.reason;
    if (end.code == ExitCode::kDone) {
      text = fmt::format("{} {} after {}, {}", tune_.metric, show_metric(trial.scores.back()),
                         show_counted(trial.epochs, "epoch"), show_seconds(trial.seconds));
    } else if (!stops || end.code != ExitCode::kStopped) {
      trial.exit_code = end.code;
      trial.error = end.reason;
      disk_failed_ = disk_failed_ || end.code == ExitCode::kDisk;
      text = "failed, " + end.reason;
    }
    std::vector<std::string> values;
    for (size_t i = 0; i < tune_.fields.size(); ++i)
      values.push_back(tune_.fields[i] + "=" + trial.values[i]);
    const std::string of = tune_.asynchronous ? "" : fmt::format("/{}", of_);  // that depends on the results
    progress_ << fmt::format("[{}{}] {}, {}: {}", ++done_, of, trial_folder(index), printable(join(values)),
                             printable(text))
              << std::endl;
    with_room([this] { write_files(); });
  }

  // Of a run that has completed.
  ChildRunEnd read_result(size_t index, TuneTrial& trial) const {
    try {
      const FinishedRun run = read_finished_run(folder_ / trial_folder(index));
      const std::optional<double> score = run.last(tune_.metric);
      if (!score || !std::isfinite(*score) || run.points.empty())
        return {ExitCode::kData, fmt::format("its evaluations have no finite {}", tune_.metric)};
      trial.scores.push_back(*score);
      trial.epochs = run.points.back().epoch;
      trial.seconds = run.points.back().seconds;
      trial.course.clear();
      for (const EvaluationPoint& point : run.points)
        trial.course.emplace_back(point.epoch, point.value(tune_.metric));
      return {};
    } catch (const Error& error) {
      return {error.code(), error.what()};
    }
  }

  void write_files() const {
    write_file_durably(folder_ / "tune.json", event_text(tune_document(tune_), 2) + "\n");
    write_file_atomically(folder_ / "tune.csv", tune_csv(tune_));
    write_file_atomically(folder_ / "tune.svg", tune_chart(tune_));
  }

  const Descriptor lock_;
  const fs::path folder_;
  Tune tune_;
  std::optional<TrialPlanner> planner_;  // of tpe
  std::ostream& progress_;
  const ReapingScope reaping_;
  size_t rung_ = 0;
  size_t done_ = 0;  // of the rung, since this process began it
  size_t of_ = 0;
  int signals_passed_on_ = 0;
  bool disk_failed_ = false;
};

}  // namespace

ExitCode run_tune(const fs::path& folder, std::ostream& progress) {
  return TuneRunner(folder, progress).run();
}

}  // namespace dtrain
