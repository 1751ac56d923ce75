#include <ATen/ATen.h>

#include <algorithm>
#include <deque>
#include <iterator>
#include <utility>

#include "comm/gloo_group.h"
#include "comm/sharded_reducer.h"
#include "core/cache_lines.h"
#include "core/error.h"
#include "core/range.h"
#include "shared_memory/shared_segment.h"
#include "shared_memory/slice_sum.h"

namespace dtrain {
namespace {

constexpr int64_t kMostUnderWay = 2;  // chunks: one travels, and the next one is ready to
const char* const kExchanging = "exchanging gradients";

at::ScalarType type_of(const std::vector<at::Tensor>& parameters) {
  const at::ScalarType type = parameters.empty() ? at::kFloat : parameters.front().scalar_type();
  for (const at::Tensor& parameter : parameters) {
    if (!parameter.is_contiguous() || !parameter.device().is_cpu())
      throw Error(ExitCode::kBug, "hosts divide the update of contiguous CPU parameters only");
    if (parameter.scalar_type() != type || (type != at::kFloat && type != at::kDouble))
      throw Error(ExitCode::kUsage,
                  "strategy.shard_optimizer takes models whose parameters are all float32, or all float64; "
                  "leave it out");
  }
  return type;
}

// The parameters, laid out one after the other, are cut into chunks, and each chunk into a piece for each
// host. When all gradients of a chunk are there, the ranks of a host sum them, and the host sends each host
// its piece, which that host sums and its ranks update. Then the hosts gather the pieces. So each host sends
// and receives as much as in an all-reduce. The ranks of a host have one copy of the parameters.
class HostShardedReducer : public GradientReducer {
 public:
  HostShardedReducer(const std::vector<at::Tensor>& parameters, const ReducerOptions& options,
                     ReducerMeeting meeting)
      : GradientReducer(parameters),
        hosts_(options.hosts),
        type_(type_of(parameters)),
        wire_type_(options.wire_type.value_or(type_)),
        meeting_(std::move(meeting)),
        rank_(meeting_.group.rank()),
        size_(meeting_.group.size()) {
    int64_t numbers = 0;
    for (const at::Tensor& parameter : parameters_) {
      begins_.push_back(numbers);
      numbers += in_lines(parameter.numel());
    }
    const int64_t bucket = std::max<int64_t>(1, options.bucket_bytes / element());
    const int64_t chunks = std::max<int64_t>(1, (numbers + bucket - 1) / bucket);
    piece_ = in_lines((numbers + chunks * hosts_.count - 1) / (chunks * hosts_.count));
    // What hosts are still being sent must outlive this object, and keeps the segment.
    const std::vector<int64_t> sizes = {size_ + 1, chunks, hosts_.count, piece_};
    const auto segment = std::make_shared<SharedSegment>(
        meeting_.store, meeting_.name, rank_, size_,
        static_cast<size_t>((size_ + 1) * chunks * chunk_numbers() * element()), meeting_.timeout);
    areas_ = at::from_blob(
        segment->data(), sizes, [segment](void*) {}, type_);
    if (hosts_.group != nullptr) {
      const std::vector<int64_t> places = {kMostUnderWay, hosts_.count, piece_};
      received_ = at::empty(places, type_);
      if (wire_type_ != type_) packed_ = at::empty(places, wire_type_);
    }
    parts_.clear();
    move_parameters();
    make_parts();
    begin_step();
  }

  // The ranks of the host end at different times, and a model may have another reducer next.
  ~HostShardedReducer() override {
    const at::NoGradGuard no_grad;
    zero_gradients();
    for (at::Tensor& parameter : parameters_) parameter.set_data(parameter.detach().clone());
  }

  int shards() const override { return hosts_.count * size_; }
  bool sums_early() const override { return true; }

  std::vector<at::Tensor> places_for_gradients() const override {
    std::vector<at::Tensor> places;
    for (size_t i = 0; i < parameters_.size(); ++i) places.push_back(place(rank_, i));
    return places;
  }

  void put_gradient(size_t parameter, const at::Tensor& gradient) override {
    GradientReducer::put_gradient(parameter, gradient);
    keep_gradient(parameter);
    const Range chunks = chunks_of(parameter);
    for (int64_t chunk = chunks.begin; chunk < chunks.end; ++chunk) --missing_[static_cast<size_t>(chunk)];
    if (next_ == 0 || missing_[static_cast<size_t>(next_ - 1)] > 0) return;
    meeting_.clock.enter(StepTime::kCommunicate);
    while (next_ > 0 && missing_[static_cast<size_t>(next_ - 1)] == 0) start_next();
    meeting_.clock.enter(StepTime::kCompute);
  }

  void finish(const PartsSummed& summed) override {
    const at::NoGradGuard no_grad;
    meeting_.group.notify_wait();
    for (size_t i = 0; next_ == chunks() && i < parameters_.size(); ++i) keep_gradient(i);  // autograd's
    for (int64_t chunk = chunks(); chunk-- > 0;) {
      while (next_ > std::max<int64_t>(0, chunk + 1 - kMostUnderWay)) start_next();
      if (!under_way_.empty() && under_way_.front().chunk == chunk) end_first();
      meeting_.wait_for_peers();
      const std::vector<size_t>& parts = parts_of_chunks_[static_cast<size_t>(chunk)];
      if (summed && !parts.empty()) summed(parts);
    }
    begin_step();
  }

  void share_update() override { gather(areas_[size_]); }

  // Through the memory of gradients, which nobody needs between two steps.
  void gather_parts(size_t /*memory*/, const std::vector<at::Tensor>& of_parts,
                    const std::vector<at::Tensor>& whole) override {
    for (size_t i = 0; i < parts_.size(); ++i) parts_[i].values.grad().copy_(of_parts[i].view(-1));
    gather(areas_[0]);
    for (size_t i = 0; i < whole.size(); ++i) whole[i].copy_(place(0, i));
    meeting_.wait_for_peers();
  }

 private:
  struct Exchange {
    int64_t chunk;
    at::Tensor received;  // [hosts, piece]
    GlooGroup::Transfers transfers;
  };

  int64_t element() const { return static_cast<int64_t>(at::elementSize(type_)); }
  int64_t in_lines(int64_t numbers) const {
    return static_cast<int64_t>(whole_lines(static_cast<size_t>(numbers * element()))) / element();
  }
  int64_t chunk_numbers() const { return hosts_.count * piece_; }
  int64_t chunks() const { return areas_.size(1); }
  Range chunks_of(size_t parameter) const {
    const int64_t begin = begins_[parameter], end = begin + parameters_[parameter].numel();
    return {begin / chunk_numbers(), (end + chunk_numbers() - 1) / chunk_numbers()};
  }
  // Of `numbers`, those of this rank among the host's.
  Range own_of(int64_t numbers) const {
    const Slice own = slice_of(static_cast<size_t>(numbers * element()), rank_, size_);
    return {static_cast<int64_t>(own.begin) / element(), static_cast<int64_t>(own.end) / element()};
  }
  // Of parameter `parameter`, in an area: a rank's gradients (of 0 the sums), or (`size_`) parameters.
  at::Tensor place(int area, size_t parameter) const {
    const at::Tensor& like = parameters_[parameter];
    return areas_[area].view(-1).narrow(0, begins_[parameter], like.numel()).view(like.sizes());
  }

  void move_parameters() {
    const at::NoGradGuard no_grad;
    for (size_t i = 0; i < parameters_.size(); ++i) {
      const at::Tensor own = place(size_, i);
      if (rank_ == 0) own.copy_(parameters_[i]);
      parameters_[i].set_data(own);
    }
    meeting_.wait_for_peers();
  }

  void make_parts() {
    const at::Tensor sums = areas_[0].view(-1);
    const Range own = own_of(piece_);
    parts_of_chunks_.resize(static_cast<size_t>(chunks()));
    for (size_t i = 0; i < parameters_.size(); ++i) {
      const at::Tensor flat = parameters_[i].detach().view(-1);
      const Range in = chunks_of(i);
      for (int64_t chunk = in.begin; chunk < in.end; ++chunk) {
        const int64_t piece = chunk * chunk_numbers() + hosts_.index * piece_;
        const int64_t begin = std::max(begins_[i], piece + own.begin);
        const int64_t count = std::min(begins_[i] + flat.numel(), piece + own.end) - begin;
        if (count <= 0) continue;
        at::Tensor values = flat.narrow(0, begin - begins_[i], count);
        values.mutable_grad() = sums.narrow(0, begin, count);
        parts_of_chunks_[static_cast<size_t>(chunk)].push_back(parts_.size());
        parts_.push_back({i, begin - begins_[i], std::move(values)});
      }
    }
  }

  void begin_step() {
    next_ = chunks();
    missing_.assign(static_cast<size_t>(next_), 0);
    for (size_t i = 0; i < parameters_.size(); ++i) {
      const Range in = chunks_of(i);
      for (int64_t chunk = in.begin; chunk < in.end; ++chunk) ++missing_[static_cast<size_t>(chunk)];
    }
  }

  // Autograd leaves none for a parameter that took no part.
  void keep_gradient(size_t parameter) const {
    const at::Tensor &gradient = parameters_[parameter].grad(), own = place(rank_, parameter);
    if (!gradient.defined()) {
      own.zero_();
    } else if (gradient.data_ptr() != own.data_ptr()) {
      own.copy_(gradient);
    }
  }

  // Sums a chunk over the ranks of the host, and begins to exchange it.
  void start_next() {
    const int64_t chunk = --next_;
    if (size_ > 1) {
      meeting_.wait_for_peers();
      const Range own = own_of(chunk_numbers());
      at::Tensor sum = areas_[0][chunk].view(-1).narrow(0, own.begin, own.size());
      for (int other = 1; other < size_; ++other)
        sum.add_(areas_[other][chunk].view(-1).narrow(0, own.begin, own.size()));
      meeting_.wait_for_peers();
    }
    if (hosts_.group == nullptr) return;
    if (std::ssize(under_way_) == kMostUnderWay) end_first();
    at::Tensor sent = areas_[0][chunk], received = received_[chunk % kMostUnderWay];
    if (packed_.defined()) {
      sent = packed_[chunk % kMostUnderWay].copy_(sent);
      const at::Tensor bytes = received.view(-1).view(at::kByte);
      received = bytes.narrow(0, 0, sent.nbytes()).view(wire_type_).view_as(sent);
    }
    start(chunk, sent.unbind(), received);
  }

  // Sums in the order of the hosts, so that the same gradients always give the same bits.
  void end_first() {
    const Exchange first = end_exchange();
    at::Tensor sum = areas_[0][first.chunk][hosts_.index];
    if (hosts_.index > 0) {
      at::Tensor before = first.received[0].to(type_);
      for (int host = 1; host < hosts_.index; ++host) before.add_(first.received[host]);
      sum.add_(before);
    }
    for (int host = hosts_.index + 1; host < hosts_.count; ++host) sum.add_(first.received[host]);
  }

  // Each host's pieces, straight to all others. Returns when all ranks of this host can read them.
  void gather(const at::Tensor& area) {
    meeting_.wait_for_peers();
    for (int64_t chunk = 0; hosts_.group != nullptr && chunk < chunks(); ++chunk) {
      if (std::ssize(under_way_) == kMostUnderWay) end_exchange();
      const std::vector<at::Tensor> own(static_cast<size_t>(hosts_.count), area[chunk][hosts_.index]);
      start(chunk, own, area[chunk]);
    }
    while (!under_way_.empty()) end_exchange();
    meeting_.wait_for_peers();
  }

  // Sends each host its piece, and gets a row from each.
  void start(int64_t chunk, const std::vector<at::Tensor>& sent, const at::Tensor& received) {
    with_peer_errors(kExchanging, [&] {
      under_way_.push_back({chunk, received, hosts_.group->start_exchange(sent, received.unbind())});
    });
  }

  Exchange end_exchange() {
    Exchange first = std::move(under_way_.front());
    under_way_.pop_front();
    with_peer_errors(kExchanging, [&] {
      for (const auto& transfer : first.transfers) transfer->wait();
    });
    return first;
  }

  ReducerHosts hosts_;
  at::ScalarType type_, wire_type_;
  ReducerMeeting meeting_;
  int rank_;  // among the `size_` ranks of this host
  int size_;
  std::vector<int64_t> begins_;  // of each parameter, among the numbers of an area
  int64_t piece_;                // numbers of a chunk for each host
  at::Tensor areas_;             // [ranks + 1, chunks, hosts, piece]
  at::Tensor received_, packed_;
  std::vector<std::vector<size_t>> parts_of_chunks_;
  // Of the step: chunks go from the last to the first, as backward makes gradients.
  int64_t next_;                 // chunks that are not started yet
  std::vector<size_t> missing_;  // gradients, by chunk
  std::deque<Exchange> under_way_;
};

}  // namespace

std::unique_ptr<GradientReducer> make_host_sharded_reducer(const std::vector<at::Tensor>& parameters,
                                                           const ReducerOptions& options,
                                                           ReducerMeeting meeting) {
  return std::make_unique<HostShardedReducer>(parameters, options, std::move(meeting));
}

}  // namespace dtrain
