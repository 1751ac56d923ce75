#include "loader/batches.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <exception>
#include <future>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

#include "core/error.h"
#include "loader/example_order.h"
#include "loader/example_reader.h"

namespace dtrain {
namespace {

void require(bool holds, const char* what) {
  if (!holds) throw Error(ExitCode::kBug, std::string("ShareLoader: ") + what);
}

void check(const ExampleSource* source, const LoaderOptions& options) {
  require(source != nullptr, "no examples");
  const at::ScalarType dtype = options.format.dtype;
  require(dtype == at::kFloat || dtype == at::kDouble, "dtype must be float32 or float64");
  require(options.assembly != Assembly::kOnHost || options.device.is_cpu(), "a device assembles its own");
  const BatchPlan& plan = options.plan;
  require(plan.global > 0 && plan.per_replica > 0, "the batch plan must be resolved");
  require(0 <= options.own.begin && options.own.size() > 0 && options.own.end <= plan.parts,
          "parts out of range");
  require(options.prefetch >= 0, "prefetch must not be negative");
  require(options.augment.empty() || options.assembly != Assembly::kResident,
          "resident examples are not augmented");
}

}  // namespace

class ShareLoader::Implementation {
 public:
  Implementation(ExampleSourcePtr source, const LoaderOptions& options)
      : source_(std::move(source)), options_(options), examples_(order_by(source_.get(), options_)) {
    if (options_.assembly != Assembly::kResident) reader_.emplace(source_, options_);
    if (options_.assembly == Assembly::kResident) {
      const std::optional<StoredExamples> all = source_->in_memory();
      require(all.has_value(), "only examples in memory can be resident");
      stored_ = {on_device(all->inputs), on_device(all->targets)};
      if (options_.holds_numbers) stored_.inputs = MicroBatch(stored_, options_.format).assemble().inputs;
    }
    next_step_ = end_ = steps();
    looks_ahead_ = source_->expect({}) != nullptr;
  }

  const ExampleSource& source() const { return *source_; }
  bool fetches() const { return looks_ahead_; }
  int64_t steps() const { return options_.plan.steps_per_epoch(source_->size()); }
  int64_t ready() {
    const std::lock_guard lock(mutex_);
    return std::ssize(ready_);
  }

  void start_epoch(int64_t epoch, int64_t first_step, int64_t most_steps) {
    require(first_step >= 0, "first_step must not be negative");
    producer_ = {};  // asked to stop, and joined
    ready_.clear();
    expected_.clear();
    failure_ = nullptr;
    epoch_ = epoch;
    PreparedOrder prepared = order_of(epoch);
    order_ = std::move(prepared.order);
    if (options_.assembly == Assembly::kResident) {
      rows_ = with_classes(prepared.rows.to(options_.device, /*non_blocking=*/true));
      prepare_order(epoch + 1);
    }
    next_step_ = first_step;
    end_ = std::min(steps(), first_step + std::min(most_steps, steps()));
    if (options_.prefetch > 0 && first_step < end_) {
      producer_ =
          std::jthread([this, first_step](const std::stop_token& stop) { produce(stop, first_step); });
    }
  }

  std::optional<Share> next() {
    if (next_step_ >= end_) return std::nullopt;
    Share share = options_.prefetch > 0 ? take() : assemble(next_step_);
    ++next_step_;
    if (options_.assembly == Assembly::kUploaded) upload(share);
    return share;
  }

 private:
  struct PreparedOrder {
    EpochOrder order;
    at::Tensor rows = {};  // kResident: the examples, in memory that the device reads without anybody waiting
  };

  static ExampleOrder order_by(const ExampleSource* source, const LoaderOptions& options) {
    check(source, options);
    return {*source, options};
  }

  PreparedOrder order_of(int64_t epoch) {
    if (next_order_.valid() && next_epoch_ == epoch) return next_order_.get();
    return prepared(epoch);
  }

  PreparedOrder prepared(int64_t epoch) const {
    PreparedOrder made{.order = examples_.of(epoch)};
    if (options_.assembly != Assembly::kResident) return made;
    made.rows = at::empty({std::ssize(made.order.examples)},
                          at::TensorOptions(at::kLong).pinned_memory(!options_.device.is_cpu()));
    std::copy(made.order.examples.begin(), made.order.examples.end(), made.rows.mutable_data_ptr<int64_t>());
    return made;
  }

  // What MicroBatch takes as rows.
  at::Tensor with_classes(const at::Tensor& rows) const {
    const at::Tensor& targets = stored_.targets;
    if (targets.dim() != 1 || targets.scalar_type() != at::kLong) return rows;
    return at::stack({rows, targets.index_select(0, rows)});
  }

  // Runs during the current epoch: between two epochs the device would have to wait for it.
  void prepare_order(int64_t epoch) {
    if (!examples_.changes()) return;
    next_epoch_ = epoch;
    next_order_ = std::async(std::launch::async, [this, epoch] { return prepared(epoch); });
  }

  // Numbers are stored as the model computes with them.
  at::Tensor on_device(const at::Tensor& stored) const {
    const at::ScalarType type = stored.is_floating_point() ? options_.format.dtype : stored.scalar_type();
    return stored.to(options_.device, type);
  }

  Share take() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return !ready_.empty() || failure_; });
    if (ready_.empty()) std::rethrow_exception(failure_);
    Share share = std::move(ready_.front());
    ready_.pop_front();
    lock.unlock();
    changed_.notify_all();
    return share;
  }

  // The prefetch thread: assembles the steps until end_, at most `prefetch` shares ahead of next().
  void produce(const std::stop_token& stop, int64_t first_step) {
    try {
      for (int64_t step = first_step; step < end_; ++step) {
        {
          std::unique_lock lock(mutex_);
          const auto has_room = [this] { return static_cast<int64_t>(ready_.size()) < options_.prefetch; };
          if (!changed_.wait(lock, stop, has_room) || stop.stop_requested()) return;
        }
        Share share = assemble(step);
        const std::lock_guard lock(mutex_);
        ready_.push_back(std::move(share));
        changed_.notify_all();
      }
    } catch (...) {
      const std::lock_guard lock(mutex_);
      failure_ = std::current_exception();
      changed_.notify_all();
    }
  }

  // Has the source fetch the examples of this step and of those that follow it.
  void look_ahead(int64_t step) {
    const BatchPlan& plan = options_.plan;
    expected_.erase(expected_.begin(), expected_.lower_bound(step));
    const int64_t last = std::min(end_ - 1, step + std::max<int64_t>(1, options_.prefetch));
    for (int64_t next = expected_.empty() ? step : expected_.rbegin()->first + 1; next <= last; ++next) {
      const Range whole = plan.step_range(next, source_->size());
      std::vector<int64_t> needed;
      for (const Range positions : own_micro_batches(whole)) {
        const std::vector<int64_t> more = reader_->needed_for(place_of(whole, positions));
        needed.insert(needed.end(), more.begin(), more.end());
      }
      expected_[next] = source_->expect(needed);
    }
  }

  // The positions of this replica's micro-batches in the step `whole`.
  std::vector<Range> own_micro_batches(Range whole) const {
    const BatchPlan& plan = options_.plan;
    const int64_t largest = share_of(whole, 0, plan.parts).size();
    std::vector<Range> all;
    for (int64_t part = options_.own.begin; part < options_.own.end; ++part) {
      const Range mine = share_of(whole, part, plan.parts);
      for (int64_t done = 0; done < largest; done += plan.per_replica) {
        const int64_t begin = std::min(mine.begin + done, mine.end);
        all.push_back({begin, std::min(begin + plan.per_replica, mine.end)});
      }
    }
    return all;
  }

  Share assemble(int64_t step) {
    if (looks_ahead_) look_ahead(step);
    const Range whole = options_.plan.step_range(step, source_->size());
    Share share;
    share.parts = static_cast<size_t>(options_.own.size());
    share.global_examples = whole.size();
    share.epoch = epoch_;
    share.step = step;
    for (const Range positions : own_micro_batches(whole)) {
      const auto first = order_.examples.begin();
      share.indices.insert(share.indices.end(), first + positions.begin, first + positions.end);
      share.micro_batches.push_back(micro_batch(whole, positions));
    }
    return share;
  }

  // Empty if there are no entries.
  static std::span<const int64_t> part_of(std::span<const int64_t> entries, Range range) {
    if (entries.empty()) return {};
    return entries.subspan(static_cast<size_t>(range.begin), static_cast<size_t>(range.size()));
  }

  // The examples at `positions` of the order, which are within the step `whole`.
  MicroBatch micro_batch(Range whole, Range positions) const {
    if (!reader_) return {stored_, options_.format, rows_.narrow(-1, positions.begin, positions.size())};
    return reader_->read(place_of(whole, positions));
  }

  ExamplePlace place_of(Range whole, Range positions) const {
    return {epoch_,
            part_of(order_.examples, whole),
            part_of(order_.repeats, whole),
            {positions.begin - whole.begin, positions.end - whole.begin}};
  }

  // Called by the training thread: each thread has its own queue on the device.
  void upload(Share& share) const {
    for (MicroBatch& batch : share.micro_batches) batch = batch.to(options_.device);
  }

  const ExampleSourcePtr source_;
  const LoaderOptions options_;
  const ExampleOrder examples_;
  std::optional<ExampleReader> reader_;  // nullopt: kResident
  Batch stored_;                         // kResident: on the device
  at::Tensor rows_;                      // kResident: order_, on the device; of classes, with each row's
  EpochOrder order_;                     // of this epoch; written only while no thread runs
  int64_t epoch_ = 0;
  int64_t next_step_ = 0;   // the step that next() returns
  int64_t end_ = 0;         // the step before which it ends; no later one is fetched
  int64_t next_epoch_ = 0;  // its order is prepared in next_order_
  std::future<PreparedOrder> next_order_;
  bool looks_ahead_ = false;                                 // the examples are elsewhere
  std::map<int64_t, std::shared_ptr<const void>> expected_;  // by step; used by what assembles

  std::mutex mutex_;                     // guards ready_ and failure_
  std::condition_variable_any changed_;  // notified when ready_ or failure_ changes
  std::deque<Share> ready_;
  std::exception_ptr failure_;
  std::jthread producer_;  // last, so that it is joined before what it uses is destroyed
};

ShareLoader::ShareLoader(ExampleSourcePtr source, const LoaderOptions& options)
    : implementation_(std::make_unique<Implementation>(std::move(source), options)) {}

ShareLoader::~ShareLoader() = default;

void ShareLoader::start_epoch(int64_t epoch, int64_t first_step, int64_t most_steps) {
  implementation_->start_epoch(epoch, first_step, most_steps);
}

std::optional<Share> ShareLoader::next() { return implementation_->next(); }

int64_t ShareLoader::steps_per_epoch() const { return implementation_->steps(); }

bool ShareLoader::fetches() const { return implementation_->fetches(); }

int64_t ShareLoader::ready() const { return implementation_->ready(); }

const ExampleSource& ShareLoader::source() const { return implementation_->source(); }

}  // namespace dtrain
