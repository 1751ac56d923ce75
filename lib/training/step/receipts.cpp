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

}  // namespace

GradientLook Receipts::begin(int64_t step, const Share& share, ReceiptParts parts) {
  step_ = step;
  parts_.emplace(std::move(parts));
  sums_.assign(weights() + parts_->parameters.size(), 0);
  const VirtualReplicas& replicas = parts_->replicas;
  int64_t position = share_of({0, share.global_examples}, replicas.own.begin, replicas.count).begin;
  for (const int64_t index : share.indices)
    sums_[0] += hash_of({static_cast<uint64_t>(share.epoch), static_cast<uint64_t>(position++),
                         static_cast<uint64_t>(index)});
  return [this](const GradientReducer& reducer, ProcessGroup&) {
    for (const ParameterPart& part : reducer.parts()) add(gradient(), part, part.values.grad());
  };
}

void Receipts::add_replica(size_t number) {
  if (!parts_) return;
  uint64_t& sum = sums_[replica() + static_cast<size_t>(parts_->replicas.own.begin) + number];
  for (size_t i = 0; i < parts_->parameters.size(); ++i)
    sum += hash_of(i, 0, parts_->parameters[i].second.grad());
}

void Receipts::end() {
  for (const ParameterPart& part : parts_->reducer.parts()) add(weights(), part, part.values);
  add_up(parts_->group, sums_);
  if (parts_->group.rank() == 0) take_(receipt());
  parts_.reset();
}

void Receipts::add(size_t first, const ParameterPart& part, const at::Tensor& values) {
  if (parts_->group.rank() < parts_->reducer.shards())
    sums_[first + part.parameter] += hash_of(part.parameter, part.begin, values);
}

Event Receipts::receipt() const {
  const auto text_of = [this](size_t sum) { return fmt::format("{:016x}", sums_[sum]); };
  Event receipt = {{"step", step_},
                   {"examples", text_of(0)},
                   {"replicas", Event::array()},
                   {"gradient", Event::object()},
                   {"weights", Event::object()}};
  for (size_t i = replica(); i < gradient() && !parts_->reducer.sums_early(); ++i)
    receipt["replicas"].push_back(text_of(i));
  for (size_t i = 0; i < parts_->parameters.size(); ++i) {
    const std::string& name = parts_->parameters[i].first;
    receipt["gradient"][name] = text_of(gradient() + i);
    receipt["weights"][name] = text_of(weights() + i);
  }
  return receipt;
}

}  // namespace dtrain
