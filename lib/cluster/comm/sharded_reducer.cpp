#include "comm/sharded_reducer.h"

#include <ATen/ATen.h>

#include <atomic>
#include <cstring>
#include <numeric>
#include <optional>
#include <utility>

#include "comm/gloo_group.h"
#include "comm/replica_areas.h"
#include "comm/replica_tree.h"
#include "core/error.h"
#include "parallel/parallel_blocks.h"
#include "shared_memory/shared_segment.h"
#include "shared_memory/slice_sum.h"

namespace dtrain {
namespace {

// The size of an area, in which each parameter begins a cache line.
size_t bytes_of(const std::vector<at::Tensor>& parameters) {
  size_t bytes = 0;
  for (const at::Tensor& parameter : parameters) {
    if (!parameter.is_contiguous() || !parameter.device().is_cpu())
      throw Error(ExitCode::kBug, "shared memory takes contiguous CPU parameters only");
    bytes += whole_lines(parameter.nbytes());
  }
  return bytes;
}

std::byte* data_of(const at::Tensor& tensor) { return static_cast<std::byte*>(tensor.data_ptr()); }

// All parameters, laid out one after the other, are cut into one slice for each rank. After backward, each
// rank puts its gradients for the others' slices into shared memory, adds the others' gradients for its own
// slice, and updates that slice. Then every rank reads the slices that the others updated. This moves two
// thirds of the bytes of an all-reduce followed by an update on every rank, and divides the optimizer's work.
// If the same cores compute and reduce, it is also faster than overlapping with backward.
//
// With virtual replicas, a rank puts the sums of its largest nodes (comm/replica_tree.h) into areas of their
// own. Slices are made of whole blocks, which LibTorch's loops do not cut further, so that an update has the
// same bits whoever makes it; with ReducerOptions::whole_parameters, of whole parameters. Hosts make their
// roots of the areas, and exchange slices of these, and rows.
class ShardedReducer : public GradientReducer {
 public:
  ShardedReducer(const std::vector<at::Tensor>& parameters, const ReducerOptions& options,
                 ReducerMeeting meeting)
      : GradientReducer(parameters),
        placement_(meeting.group.size() > 1 ? options.placement : Placement::kCopies),
        meeting_(std::move(meeting)),
        rank_(meeting_.group.rank()),
        size_(meeting_.group.size()),
        whole_(options.whole_parameters),
        virtual_(options.virtual_replicas > 0
                     ? std::optional<ReplicaAreas>(std::in_place, options, rank_, size_)
                     : std::nullopt),
        roots_(hosts() > 1 ? virtual_->roots_of(options.hosts.index) : std::vector<Range>()),
        area_bytes_(bytes_of(parameters)),
        host_slice_(whole_lines((area_bytes_ + hosts() - 1) / hosts())),
        row_numbers_(options.row_numbers),
        row_bytes_(whole_lines(static_cast<size_t>(row_numbers_) * sizeof(double))),
        segment_(meeting_.store, meeting_.name, rank_, size_, segment_bytes(), meeting_.timeout) {
    for (const at::Tensor& parameter : parameters) {
      const at::ScalarType own = parameter.scalar_type();
      if (virtual_ && (own != type() || (own != at::kFloat && own != at::kDouble)))
        throw Error(
            ExitCode::kUsage,
            "strategy.virtual_replicas takes models whose parameters are all float32, or all float64; "
            "leave it out");
    }
    parts_.clear();
    lay_out();
    if (placement_ == Placement::kShared) move_into_shared_memory();
    make_parts();
    if (virtual_ && virtual_->adder().steps().size() > 1) {
      for (size_t place = virtual_->adder().nodes().size(); place <= virtual_->adder().places(); ++place)
        own_memory_.push_back(at::zeros({static_cast<int64_t>(area_bytes_)}, at::kByte));
    }
  }

  // No tensor may outlive the segment whose memory it uses.
  ~ShardedReducer() override {
    zero_gradients();
    for (ParameterPart& part : parts_) part.values.mutable_grad() = at::Tensor();
    if (placement_ != Placement::kShared) return;
    for (at::Tensor& parameter : parameters_) parameter.set_data(parameter.detach().clone());
  }

  // Those of this rank's area. Several virtual replicas take turns in memory of this rank alone.
  std::vector<at::Tensor> places_for_gradients() const override {
    std::vector<at::Tensor> places;
    std::byte* place = own_memory_.empty() ? gradients(rank_) : data_of(own_memory_.back());
    for (const at::Tensor& parameter : parameters_) {
      places.push_back(at::from_blob(place, parameter.sizes(), parameter.options().requires_grad(false)));
      place += whole_lines(parameter.nbytes());
    }
    return places;
  }

  void end_replica() override {
    if (!virtual_) return;
    const ReplicaAdder::Step& step = virtual_->adder().steps()[replica_++];
    std::byte* place = place_of(step.place);
    for (size_t i = 0; i < parameters_.size(); ++i) {
      const at::Tensor local = local_gradient(i);
      if (step.adds) {
        add_numbers(type(), place, data_of(local), local.nbytes());
      } else if (data_of(local) != place) {
        copy_numbers(place, data_of(local), local.nbytes());
      }
      place += whole_lines(local.nbytes());
    }
    for (const ReplicaAdder::Addition& addition : step.then)
      add_numbers(type(), place_of(addition.to), place_of(addition.from), area_bytes_);
  }

  at::Tensor rows() override {
    if (!virtual_) return {};
    return at::from_blob(row(0), {virtual_->whole().size(), row_numbers_},
                         {static_cast<int64_t>(row_bytes_ / sizeof(double)), 1}, at::kDouble);
  }

  void finish(const PartsSummed& summed) override {
    virtual_ ? sum_replicas() : sum_ranks();
    GradientReducer::finish(summed);
  }

  void share_update() override {
    if (size_ == 1) return;
    const bool copies = placement_ == Placement::kCopies;
    for (const Piece& piece : pieces_) {
      if (copies && piece.owner == rank_)
        std::memcpy(variables() + piece.offset, values_of(piece), piece.bytes);
    }
    meeting_.wait_for_peers();  // all slices are updated, and no rank reads gradients any more
    for (const Piece& piece : pieces_) {
      if (copies && piece.owner != rank_)
        std::memcpy(values_of(piece), variables() + piece.offset, piece.bytes);
    }
  }

  void share_memories(const std::vector<std::vector<at::Tensor>>& of_parts) override {
    if (!virtual_ || size_ == 1 || of_parts.empty()) return;
    memories_.emplace(meeting_.store, meeting_.name + "-memories", rank_, size_,
                      area_bytes_ * of_parts.size(), meeting_.timeout);
    std::byte* area = memories_->data();
    for (const std::vector<at::Tensor>& memory : of_parts) {
      auto own = memory.begin();
      for (const Piece& piece : pieces_) {
        if (piece.owner != rank_) continue;
        at::Tensor tensor = *own++;
        const at::Tensor place = at::from_blob(area + piece.offset, tensor.sizes(), tensor.options());
        tensor.set_data(place.copy_(tensor));
      }
      area += area_bytes_;
    }
  }

  // Those that are not shared go through the areas of gradients, which nobody needs between two steps.
  void gather_parts(size_t memory, const std::vector<at::Tensor>& of_parts,
                    const std::vector<at::Tensor>& whole) override {
    auto own = of_parts.begin();
    for (const Piece& piece : pieces_) {
      if (piece.owner == rank_ && !memories_)
        std::memcpy(gradients(rank_) + piece.offset, data_of(*own++), piece.bytes);
    }
    if (!lost_) meeting_.group.notify_wait();
    if (!lost_) meeting_.meet();
    for (const Piece& piece : pieces_) {
      if (whole.empty()) break;
      const std::byte* area = memories_ ? memories_->data() + area_bytes_ * memory : gradients(piece.owner);
      std::memcpy(data_of(whole[piece.parameter]) + piece.within, area + piece.offset, piece.bytes);
    }
    if (!lost_) meeting_.meet();
  }

  void lose_step(const std::string& failure) override {
    if (virtual_) decide(/*made=*/false, failure);
  }
  bool has_lost_step() const override { return lost_; }

  int shards() const override { return size_; }
  int64_t blocks() const override { return virtual_ ? std::ssize(pieces_) : 0; }

 private:
  // The bytes of parameter `parameter` that `owner` updates.
  struct Piece {
    size_t parameter;
    int owner;
    size_t within;  // their first byte within the parameter
    size_t offset;  // their first byte within an area
    size_t bytes;
  };

  static constexpr size_t kBlock = 8192;  // numbers

  size_t hosts() const { return virtual_ ? static_cast<size_t>(virtual_->hosts().count) : 1; }
  size_t inputs() const { return virtual_ ? virtual_->inputs().size() : static_cast<size_t>(size_); }
  // Of virtual replicas' numbers: of all parameters.
  at::ScalarType type() const { return parameters_.empty() ? at::kFloat : parameters_.front().scalar_type(); }

  // An area for each input; one for the variables; with several hosts, larger ones for each root of this host
  // and for the sum over all; with virtual replicas, a row for each, and the line of decision().
  size_t segment_bytes() const {
    return bytes_of_areas() + (virtual_ ? row_offset(virtual_->whole().end) : 0);
  }
  size_t bytes_of_areas() const {
    return area_bytes_ * (inputs() + 1) + (hosts() > 1 ? hosts() * host_slice_ * (roots_.size() + 1) : 0);
  }
  size_t row_offset(int64_t replica) const { return kCacheLine + row_bytes_ * static_cast<size_t>(replica); }

  void lay_out() {
    std::vector<size_t> sizes;
    for (const at::Tensor& parameter : parameters_) sizes.push_back(parameter.nbytes());
    const std::vector<int> owners = owners_of(sizes, size_);
    size_t offset = 0;
    for (size_t i = 0; i < parameters_.size(); ++i) {
      const Slice whole{offset, offset + sizes[i]};
      if (whole_)
        pieces_.push_back({i, owners[i], 0, offset, whole.size()});
      else
        virtual_ ? cut_into_blocks(i, whole) : cut_into_slices(i, whole);
      offset += whole_lines(whole.size());
    }
  }

  void cut_into_slices(size_t parameter, Slice whole) {
    for (int owner = 0; owner < size_; ++owner) {
      const Slice piece = common(whole, slice_of(area_bytes_, owner, size_));
      if (piece.size() > 0)
        pieces_.push_back({parameter, owner, piece.begin - whole.begin, piece.begin, piece.size()});
    }
  }

  // A block belongs to the rank in whose slice it begins.
  void cut_into_blocks(size_t parameter, Slice whole) {
    const size_t block = kBlock * parameters_[parameter].element_size();
    const size_t slice = std::max<size_t>(1, slice_of(area_bytes_, 0, size_).size());
    for (size_t begin = whole.begin; begin < whole.end; begin += block)
      pieces_.push_back({parameter, static_cast<int>(begin / slice), begin - whole.begin, begin,
                         std::min(block, whole.end - begin)});
  }

  void make_parts() {
    for (size_t i = 0; i < pieces_.size(); ++i) {
      const Piece& piece = pieces_[i];
      if (piece.owner != rank_) continue;
      const at::Tensor flat = parameters_[piece.parameter].detach().view(-1);
      const auto element = static_cast<int64_t>(flat.element_size());
      const auto begin = static_cast<int64_t>(piece.within) / element;
      const auto count = static_cast<int64_t>(piece.bytes) / element;
      at::Tensor values = whole_ ? parameters_[piece.parameter].detach() : flat.narrow(0, begin, count);
      // No other rank reads this part of this rank's area.
      std::byte* const sums = hosts() > 1 ? sum_over_all() : gradients(rank_);
      values.mutable_grad() =
          at::from_blob(sums + piece.offset, values.sizes(), values.options().requires_grad(false));
      parts_.push_back({piece.parameter, begin, std::move(values), static_cast<int64_t>(i)});
    }
  }

  // From here on the parameters of all ranks are the same memory.
  void move_into_shared_memory() {
    const at::NoGradGuard no_grad;
    size_t offset = 0;
    for (at::Tensor& parameter : parameters_) {
      const at::Tensor place =
          at::from_blob(variables() + offset, parameter.sizes(), parameter.options().requires_grad(false));
      if (rank_ == 0) place.copy_(parameter);
      parameter.set_data(place);
      offset += whole_lines(parameter.nbytes());
    }
    meeting_.meet();
  }

  std::byte* area(size_t index) const { return segment_.data() + area_bytes_ * index; }
  // The first area of a rank.
  std::byte* gradients(int rank) const {
    return area(virtual_ ? virtual_->first_of(rank) : static_cast<size_t>(rank));
  }
  std::byte* variables() const { return area(inputs()); }
  std::byte* root(size_t index) const { return area(inputs() + 1) + hosts() * host_slice_ * index; }
  std::byte* sum_over_all() const { return root(roots_.size()); }
  std::atomic<uint64_t>& decision() const {
    return *reinterpret_cast<std::atomic<uint64_t>*>(segment_.data() + bytes_of_areas());
  }
  std::byte* row(int64_t replica) const { return segment_.data() + bytes_of_areas() + row_offset(replica); }

  // Of the rank's own additions.
  std::byte* place_of(size_t place) const {
    const size_t nodes = virtual_->adder().nodes().size();
    return place < nodes ? gradients(rank_) + area_bytes_ * place : data_of(own_memory_[place - nodes]);
  }

  std::byte* values_of(const Piece& piece) const {
    return data_of(parameters_[piece.parameter]) + piece.within;
  }

  // The gradient as autograd left it. It may be undefined (the parameter took no part), or have another
  // memory layout than the parameter.
  at::Tensor local_gradient(size_t parameter) const {
    const at::Tensor& gradient = parameters_[parameter].grad();
    return gradient.defined() ? gradient.contiguous() : at::zeros_like(parameters_[parameter]).detach();
  }

  void sum_ranks() {
    std::vector<at::Tensor> local;
    for (size_t i = 0; i < parameters_.size(); ++i) local.push_back(local_gradient(i));
    for (const Piece& piece : pieces_) {
      std::byte* const from = data_of(local[piece.parameter]) + piece.within;
      std::byte* const to = gradients(rank_) + piece.offset;
      if (piece.owner != rank_ && from != to) std::memcpy(to, from, piece.bytes);
    }
    meeting_.group.notify_wait();
    // Then the others' gradients for this rank are there, and all have finished the last step.
    meeting_.wait_for_peers();
    for (const Piece& piece : pieces_) {
      if (piece.owner == rank_) sum(piece, data_of(local[piece.parameter]) + piece.within);
    }
  }

  void sum_replicas() {
    replica_ = 0;
    meeting_.group.notify_wait();
    wait_for_all();  // the others' sums are there, and all have finished the last step
    run_blocks(std::ssize(pieces_), [this](int64_t piece) {
      if (pieces_[static_cast<size_t>(piece)].owner == rank_)
        sum_virtual(pieces_[static_cast<size_t>(piece)]);
    });
    std::string failure;
    if (hosts() > 1) {
      wait_for_all();  // the roots of this host are complete
      failure = sum_over_hosts();
    }
    wait_for_all();  // all are alive, and about to update
    decide(/*made=*/true, failure);
  }

  void wait_for_all() {
    try {
      meeting_.wait_for_peers();
    } catch (const Error& error) {
      decide(/*made=*/false, error.what());
      throw;  // the others make the step
    }
  }

  // Before the update, the ranks of the host decide whether they make the step: as the first one says. So one
  // that is lost before its update leaves the others with the variables before the step. Throws StepLost.
  void decide(bool made, const std::string& failure) {
    vote(made);
    if (decision().load() == 2 * steps_ + 2) {
      steps_ += made ? 1 : 0;
      return;
    }
    lost_ = true;
    throw StepLost(ExitCode::kPeerLost, failure.empty() ? "a peer was lost" : failure);
  }

  void vote(bool made) {
    uint64_t undecided = 2 * steps_;
    decision().compare_exchange_strong(undecided, undecided + (made ? 2 : 1));
  }

  // Sums in the order of the ranks, so that the same gradients always give the same bits.
  void sum(const Piece& piece, const std::byte* own) {
    std::vector<const std::byte*> inputs;
    for (int other = 0; other < size_; ++other)
      inputs.push_back(other == rank_ ? own : gradients(other) + piece.offset);
    const at::ScalarType type = parameters_[piece.parameter].scalar_type();
    sum_arrays(type, inputs, {gradients(rank_) + piece.offset}, piece.bytes / at::elementSize(type));
  }

  // What this host's ranks have of a piece: the sum over all virtual replicas, or the host's roots.
  void sum_virtual(const Piece& piece) const {
    const size_t count = piece.bytes / at::elementSize(type());
    const std::vector<Range> nodes = hosts() > 1 ? roots_ : std::vector<Range>{virtual_->whole()};
    size_t next = 0;
    for (size_t i = 0; i < nodes.size(); ++i) {
      std::vector<NodeSum> sums;
      for (; next < inputs() && virtual_->inputs()[next].end <= nodes[i].end; ++next)
        sums.push_back({virtual_->inputs()[next], area(next) + piece.offset});
      sum_nodes(type(), nodes[i], sums, (hosts() > 1 ? root(i) : gradients(rank_)) + piece.offset, count);
    }
  }

  // Each host sums a slice of all roots, and gathers the others' slices. Returns why that was impossible.
  std::string sum_over_hosts() {
    try {
      if (virtual_->hosts().group != nullptr) exchange(*virtual_->hosts().group);
      return "";
    } catch (const Error& error) {
      if (error.code() != ExitCode::kPeerLost) throw;
      vote(/*made=*/false);
      return error.what();
    }
  }

  // To each host goes its slice of this host's roots, then this host's rows.
  void exchange(GlooGroup& group) const {
    const int64_t slice = static_cast<int64_t>(host_slice_), count = virtual_->hosts().count;
    const auto rows_of = [this](int host) {
      const Range replicas = virtual_->replicas_on(host);
      return at::from_blob(row(replicas.begin), {replicas.size() * static_cast<int64_t>(row_bytes_)},
                           at::kByte);
    };
    const at::Tensor own_rows = rows_of(virtual_->hosts().index);
    const at::Tensor roots = at::from_blob(root(0), {std::ssize(roots_), count, slice}, at::kByte);
    const at::Tensor sent =
        at::cat({roots.transpose(0, 1).reshape({count, -1}), own_rows.expand({count, -1})}, 1);
    std::vector<int64_t> received_bytes;
    for (int host = 0; host < count; ++host)
      received_bytes.push_back(std::ssize(virtual_->roots_of(host)) * slice + rows_of(host).numel());
    at::Tensor received =
        at::empty({std::accumulate(received_bytes.begin(), received_bytes.end(), int64_t{0})}, at::kByte);
    group.exchange(sent.view(-1), std::vector<int64_t>(hosts(), sent.size(1)), received, received_bytes);
    std::vector<NodeSum> sums;
    const std::byte* next = data_of(received);
    for (int host = 0; host < count; ++host) {
      for (const Range node : virtual_->roots_of(host)) {
        sums.push_back({node, next});
        next += slice;
      }
      const at::Tensor rows = rows_of(host);
      std::memcpy(rows.data_ptr(), next, rows.nbytes());
      next += rows.nbytes();
    }
    const at::Tensor own = at::empty({slice}, at::kByte);
    const auto size = static_cast<int64_t>(at::elementSize(type()));
    run_ranges(slice / size, kNumbersATask, [&](int64_t begin, int64_t end) {
      std::vector<NodeSum> part = sums;
      for (NodeSum& sum : part) sum.numbers += begin * size;
      sum_nodes(type(), virtual_->whole(), part, data_of(own) + begin * size,
                static_cast<size_t>(end - begin));
    });
    group.gather(own, at::from_blob(sum_over_all(), {count * slice}, at::kByte));
  }

  Placement placement_;
  ReducerMeeting meeting_;
  int rank_;
  int size_;
  bool whole_;  // each parameter is one piece
  std::optional<ReplicaAreas> virtual_;
  std::vector<Range> roots_;  // of this host, if there are several: the largest nodes that it has
  std::vector<Piece> pieces_;
  size_t area_bytes_ = 0;
  size_t host_slice_ = 0;  // bytes
  int64_t row_numbers_;
  size_t row_bytes_;
  SharedSegment segment_;                  // segment_bytes()
  std::optional<SharedSegment> memories_;  // of optimizers: an area for each
  // Made so far. decision() is twice as much while the next is undecided, 1 more: it is lost, 2 more: made.
  uint64_t steps_ = 0;
  bool lost_ = false;
  std::vector<at::Tensor>
      own_memory_;      // of several virtual replicas: the adder's places, then their gradients
  size_t replica_ = 0;  // the next to end in this step
};

}  // namespace

std::unique_ptr<GradientReducer> make_sharded_reducer(const std::vector<at::Tensor>& parameters,
                                                      const ReducerOptions& options, ReducerMeeting meeting) {
  if (options.virtual_replicas == 0 && options.hosts.count > 1)
    return make_host_sharded_reducer(parameters, options, std::move(meeting));
  return std::make_unique<ShardedReducer>(parameters, options, std::move(meeting));
}

}  // namespace dtrain
