#include "step/receipts.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <array>

#include "core/checksum.h"

namespace dtrain {
namespace {

uint64_t hash_of(const std::array<uint64_t, 3>& words) { return checksum_number(words.data(), sizeof words); }

// Of values at a place: `index` and `begin` say where.
uint64_t hash_of(size_t index, int64_t begin, const at::Tensor& values) {
  if (!values.defined()) return 0;
  const at::Tensor bytes = values.detach().cpu().contiguous();
  return hash_of(
      {index, static_cast<uint64_t>(begin), checksum_number(bytes.const_data_ptr(), bytes.nbytes())});
}

// Adds up what the ranks have, modulo 2^64: in halves, whose sums are exact.
void add_up(ProcessGroup& group, std::vector<uint64_t>& sums) {
  if (group.size() == 1) return;
  constexpr uint64_t kLow = 0xffffffff;
  at::Tensor halves = at::empty({std::ssize(sums), 2}, at::kLong);
  auto* const half = halves.mutable_data_ptr<int64_t>();
  for (size_t i = 0; i < sums.size(); ++i) {
    half[2 * i] = static_cast<int64_t>(sums[i] & kLow);
    half[2 * i + 1] = static_cast<int64_t>(sums[i] >> 32);
  }
  group.all_reduce_sum(halves);
  for (size_t i = 0; i < sums.size(); ++i)
    sums[i] = static_cast<uint64_t>(half[2 * i]) + (static_cast<uint64_t>(half[2 * i + 1]) << 32);
}

std::string text_of(uint64_t hash) { return fmt::format("{:016x}", hash); }

}  // namespace

std::function<void(const GradientReducer&, ProcessGroup&)> Receipts::begin(int64_t step, const Share& share,
                                                                           const ReceiptParts& parts) {
  step_.emplace(UnderWay{step, parts, trained_parameters(parts.model), {}});
  const VirtualReplicas& replicas = parts.replicas;
  step_->sums.resize(1 + step_->replicas() + 2 * step_->parameters.size());
  auto position =
      static_cast<uint64_t>(share_of({0, share.global_examples}, replicas.own.begin, replicas.count).begin);
  for (const int64_t index : share.indices)
    step_->sums[0] += hash_of({static_cast<uint64_t>(share.epoch), position++, static_cast<uint64_t>(index)});
  return [this](const GradientReducer& reducer, ProcessGroup&) {
    for (const ParameterPart& part : reducer.parts()) {
      if (step_->counts_parts())
        step_->gradient(part.parameter) += hash_of(part.parameter, part.begin, part.values.grad());
    }
  };
}

void Receipts::add_replica(size_t number) {
  if (!step_ || step_->parts.reducer.sums_early()) return;
  uint64_t& sum = step_->replica(static_cast<size_t>(step_->parts.replicas.own.begin) + number);
  for (size_t i = 0; i < step_->parameters.size(); ++i)
    sum += hash_of(i, 0, step_->parameters[i].second.grad());
}

void Receipts::end() {
  for (const ParameterPart& part : step_->parts.reducer.parts()) {
    if (step_->counts_parts())
      step_->weights(part.parameter) += hash_of(part.parameter, part.begin, part.values);
  }
  add_up(step_->parts.group, step_->sums);
  if (step_->parts.group.rank() == 0) take_(step_->receipt());
  step_.reset();
}

// Each element is to be counted once, also if several ranks have it.
bool Receipts::UnderWay::counts_parts() const { return parts.group.rank() < parts.reducer.shards(); }

Event Receipts::UnderWay::receipt() {
  Event replicas_alone = Event::array(), gradients = Event::object(), all_weights = Event::object();
  for (size_t i = 0; i < replicas() && !parts.reducer.sums_early(); ++i)
    replicas_alone.push_back(text_of(replica(i)));
  for (size_t i = 0; i < parameters.size(); ++i) {
    gradients[parameters[i].first] = text_of(gradient(i));
    all_weights[parameters[i].first] = text_of(weights(i));
  }
  return {{"step", step},
          {"examples", text_of(sums[0])},
          {"replicas", replicas_alone},
          {"gradient", gradients},
          {"weights", all_weights}};
}

}  // namespace dtrain
