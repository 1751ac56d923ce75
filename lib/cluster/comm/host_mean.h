// The mean of numbers that hosts have, exchanged in few bytes.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>

#include "comm/process_group.h"

namespace dtrain {

// How numbers are sent.
enum class Encoding {
  kWhole,  // as they are
  kBf16,
  kFp16,
  kInt8,  // blocks of 256, each with a scale: its largest magnitude is 127 (Dettmers et al. 2021,
          // arXiv:2110.02861)
};
// "none", "bf16", "fp16" or "int8".
Encoding encoding_from_name(const std::string& name);

// Each host sums a slice: it gets this slice from every other host, and sends its mean to all of them. So a
// host sends and receives 2 (hosts - 1) / hosts times all numbers, as in a ring, and the bits of the mean do
// not depend on who sums. A host adds the rounding errors of what it sends, and of the means that it
// computes, to what it encodes the next time (error feedback: Seide et al. 2014, 1-Bit Stochastic Gradient
// Descent; Karimireddy et al. 2019, arXiv:1901.09847).
class HostMean {
 public:
  // `hosts`: ProcessGroup::between(); it must outlive this. `count` numbers of type float or double.
  HostMean(ProcessGroup& hosts, int64_t count, at::ScalarType type, Encoding encoding);

  // Replaces `numbers` [count] by their mean over the hosts, in which a host weighs `weight`, 0 or more. All
  // hosts get the same bits. A single host keeps its numbers. Collective.
  void replace(const at::Tensor& numbers, double weight);

  // The rounding errors that this host will still add, as one tensor; empty: the encoding does not round.
  at::Tensor lost() const { return lost_; }

 private:
  at::Tensor encoded(const at::Tensor& numbers, const at::Tensor& lost) const;
  at::Tensor decoded(const at::Tensor& bytes) const;

  ProcessGroup& hosts_;
  int64_t count_;
  int64_t slice_;  // numbers; a multiple of a block
  at::ScalarType type_;
  Encoding encoding_;
  at::Tensor lost_;  // of all that this host sends, then of its slice of the mean
};

}  // namespace dtrain
