#include "parameter_server/served_values.h"

#include <ATen/ATen.h>

#include <numeric>
#include <string>
#include <utility>

#include "core/error.h"
#include "step/sentinel.h"

namespace dtrain {

std::vector<TrainedRange> trained_ranges(const OptimizerSpec& optimizer, const Model& model,
                                         const ServerPart& part) {
  const std::vector<at::Tensor> parameters = model.parameters();
  std::vector<TrainedRange> ranges;
  for (const Piece& piece : part.pieces) {
    const at::Tensor& parameter = parameters[piece.parameter];
    if (!parameter.requires_grad()) continue;
    const bool decays_here = optimizer.weight_decay == 0 || decays(optimizer, parameter);
    const bool continues = !ranges.empty() && ranges.back().begin + ranges.back().length == piece.offset &&
                           ranges.back().decays == decays_here;
    if (!continues) ranges.push_back({piece.offset, 0, decays_here});
    ranges.back().length += piece.length;
  }
  return ranges;
}

ServedValues::ServedValues(at::Tensor values, const OptimizerSpec& optimizer, double clip_norm,
                           int64_t check_every)
    : values_(std::move(values)), spec_(optimizer), clip_norm_(clip_norm), check_every_(check_every) {}

void ServedValues::begin_phase(const std::vector<TrainedRange>& ranges) {
  optimizer_.reset();
  pieces_.clear();
  lengths_.clear();
  std::vector<bool> decayed;
  for (const TrainedRange& range : ranges) {
    pieces_.push_back(values_.narrow(0, range.begin, range.length));
    lengths_.push_back(range.length);
    decayed.push_back(range.decays);
  }
  if (pieces_.empty()) return;
  optimizer_ = std::make_unique<WatchedOptimizer>(make_optimizer(spec_, pieces_, decayed), pieces_,
                                                  GrowthBound(spec_, clip_norm_));
  optimizer_->begin();
}

int64_t ServedValues::trained_elements() const {
  return std::accumulate(lengths_.begin(), lengths_.end(), int64_t{0});
}

void ServedValues::copy_trained(at::Tensor& to) const {
  if (!pieces_.empty()) at::cat_out(to, pieces_);
}

void ServedValues::update(const at::Tensor& gradient, double learning_rate, int64_t version) {
  if (!optimizer_) return;
  const std::vector<at::Tensor> gradients = gradient.split_with_sizes(lengths_);
  for (size_t i = 0; i < pieces_.size(); ++i) pieces_[i].mutable_grad() = gradients[i];
  optimizer_->step(learning_rate);
  if (check_every_ == 0) return;
  require_unbroken();  // a seal is tested by the next update, or by a collection of the values before it
  if (version % check_every_ != 0) return;
  optimizer_->check_growth();  // implausible growth stays visible until the next collection
  optimizer_->seal();
}

Growth ServedValues::check_growth() {
  if (!optimizer_ || check_every_ == 0) return {};
  require_unbroken();
  return optimizer_->check_growth();
}

void ServedValues::require_unbroken() {
  optimizer_->test_seals();
  if (!optimizer_->broken()) return;
  throw Error(ExitCode::kDisagree,
              std::string("memory of this server is corrupt: variables or what the optimizer remembers of "
                          "them are no longer what the last update made them") +
                  kAfterCorruption);
}

std::vector<at::Tensor> ServedValues::memories() const {
  std::vector<at::Tensor> copies;
  if (!optimizer_) return copies;
  for (const OptimizerMemory& memory : optimizer_->memory()) copies.push_back(at::cat(memory.tensors));
  return copies;
}

void ServedValues::restore(const at::Tensor& all, const std::vector<at::Tensor>& memories,
                           int64_t optimizer_steps) {
  values_.copy_(all);
  if (!optimizer_) return;
  const std::vector<OptimizerMemory> own = optimizer_->memory();
  for (size_t i = 0; i < memories.size(); ++i) {
    const auto pieces = memories[i].split_with_sizes(lengths_);
    for (size_t piece = 0; piece < pieces.size(); ++piece) own[i].tensors[piece].copy_(pieces[piece]);
  }
  optimizer_->set_steps(optimizer_steps);
  optimizer_->begin();
}

}  // namespace dtrain
