#include "parameter_server/update_ledger.h"

#include <fmt/format.h>

#include <bit>
#include <numeric>

#include "core/error.h"

namespace dtrain {

void StalenessHistogram::add(int64_t staleness) {
  const auto number = static_cast<size_t>(staleness);
  ++counts_[number < kExact ? number : kExact + static_cast<size_t>(std::bit_width(number)) - 7];
  sum_ += staleness;
  maximum_ = std::max(maximum_, staleness);
}

void StalenessHistogram::add(const StalenessHistogram& other) {
  for (size_t i = 0; i < kClasses; ++i) counts_[i] += other.counts_[i];
  sum_ += other.sum_;
  maximum_ = std::max(maximum_, other.maximum_);
}

int64_t StalenessHistogram::updates() const {
  return std::accumulate(counts_.begin(), counts_.end(), int64_t{0});
}

double StalenessHistogram::mean() const {
  const int64_t all = updates();
  return all == 0 ? 0 : static_cast<double>(sum_) / static_cast<double>(all);
}

std::string StalenessHistogram::name_of(size_t index) {
  if (index < kExact) return std::to_string(index);
  const size_t power = index - kExact + 6;
  return fmt::format("{}-{}", uint64_t{1} << power, (uint64_t{1} << (power + 1)) - 1);
}

double WorkerRecord::updates_per_second() const {
  if (updates < 2 || last_update <= first_update) return 0;
  return static_cast<double>(updates - 1) / (last_update - first_update);
}

std::vector<double> WorkersReport::values() const {
  std::vector<double> values(staleness.counts_.begin(), staleness.counts_.end());
  values.push_back(static_cast<double>(staleness.sum_));
  values.push_back(static_cast<double>(staleness.maximum_));
  for (const WorkerRecord& worker : workers) {
    values.insert(values.end(), {static_cast<double>(worker.updates), static_cast<double>(worker.examples),
                                 worker.first_update, worker.last_update, worker.lost ? 1.0 : 0.0,
                                 static_cast<double>(worker.returns)});
  }
  return values;
}

WorkersReport WorkersReport::from_values(const std::vector<double>& values) {
  WorkersReport report;
  auto next = values.begin();
  for (int64_t& count : report.staleness.counts_) count = static_cast<int64_t>(*next++);
  report.staleness.sum_ = static_cast<int64_t>(*next++);
  report.staleness.maximum_ = static_cast<int64_t>(*next++);
  while (next != values.end()) {
    WorkerRecord& worker = report.workers.emplace_back();
    worker.updates = static_cast<int64_t>(*next++);
    worker.examples = static_cast<int64_t>(*next++);
    worker.first_update = *next++;
    worker.last_update = *next++;
    worker.lost = *next++ != 0;
    worker.returns = static_cast<int64_t>(*next++);
  }
  return report;
}

void WorkersReport::add(const WorkersReport& other) {
  staleness.add(other.staleness);
  if (workers.empty()) workers = other.workers;
  for (size_t i = 0; i < workers.size(); ++i) {
    workers[i].lost = workers[i].lost || other.workers[i].lost;
    workers[i].returns = std::max(workers[i].returns, other.workers[i].returns);
  }
}

UpdateLedger::UpdateLedger(int workers, std::optional<int64_t> max_staleness)
    : max_staleness_(max_staleness), workers_(static_cast<size_t>(workers)) {
  if (max_staleness && *max_staleness < workers - 1)
    throw Error(ExitCode::kBug, "max_staleness below workers - 1");  // specs are checked earlier
}

int64_t UpdateLedger::read(int worker) {
  of(worker).computes_from = version_;
  return version_;
}

// After this update, the other computing workers must be able to update one after the other within the bound,
// the first of them at `version + 1`. They are tried in the order in which they read, because what was read
// becomes too stale first (Jackson 1955, earliest due date: if any order meets all bounds, this does).
bool UpdateLedger::may_update(int worker) const {
  if (!max_staleness_) return true;
  std::vector<int64_t> read;
  for (const Worker& other : workers_) {
    if (&other != &of(worker) && other.computes_from) read.push_back(*other.computes_from);
  }
  std::ranges::sort(read);
  int64_t version = version_;
  return std::ranges::all_of(read, [&](int64_t from) { return ++version - from <= *max_staleness_; });
}

int64_t UpdateLedger::update(int worker, int64_t sequence, int64_t examples, double now) {
  Worker& own = of(worker);
  if (!own.computes_from || sequence != own.done + 1)
    throw Error(ExitCode::kBug, "update {} of worker {} out of turn", sequence, worker);
  const int64_t staleness = version_ - *own.computes_from;
  ++version_;
  staleness_.add(staleness);
  own.computes_from.reset();
  own.done = sequence;
  if (own.record.updates++ == 0) own.record.first_update = now;
  own.record.last_update = now;
  own.record.examples += examples;
  return staleness;
}

void UpdateLedger::take_back(int worker) {
  if (!is_lost(worker)) return;
  of(worker).record.lost = false;
  of(worker).phase = 0;  // it says anew which one it has reached
  ++of(worker).record.returns;
}

bool UpdateLedger::is_training(int worker) const { return !of(worker).ended && !of(worker).record.lost; }

bool UpdateLedger::all_others_have_ended(int worker) const {
  for (int other = 0; other < static_cast<int>(workers_.size()); ++other) {
    if (other != worker && is_training(other)) return false;
  }
  return true;
}

WorkersReport UpdateLedger::report() const {
  WorkersReport report{staleness_, {}};
  for (const Worker& worker : workers_) report.workers.push_back(worker.record);
  return report;
}

}  // namespace dtrain
