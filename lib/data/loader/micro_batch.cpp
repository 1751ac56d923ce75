#include "loader/micro_batch.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <array>

#include "parallel/parallel_blocks.h"

namespace dtrain {
namespace {

// Calls work(begin, count) for ranges of the examples: on a processor in the threads of our own loops, for
// LibTorch's own would be in their way.
template <class Work>
void for_ranges(const at::Tensor& examples, const Work& work) {
  const int64_t count = examples.size(0);
  if (!examples.is_cpu()) return work(0, count);
  const int64_t grain = kNumbersATask * count / std::max<int64_t>(examples.numel(), 1);
  run_ranges(count, std::max<int64_t>(grain, 1),
             [&](int64_t begin, int64_t end) { work(begin, end - begin); });
}

// Also where there is one channel, and both layouts have the same order.
bool lies_channels_last(const at::Tensor& images) {
  return images.dim() == 4 && images.stride(1) == 1 && images.is_contiguous(at::MemoryFormat::ChannelsLast);
}

at::Tensor rows_of(const at::Tensor& stored, const at::Tensor& rows) {
  at::DimVector sizes{rows.size(0)};
  sizes.append(stored.sizes().begin() + 1, stored.sizes().end());
  const at::Tensor chosen = at::empty(sizes, stored.options());
  for_ranges(chosen, [&](int64_t begin, int64_t count) {
    at::Tensor part = chosen.narrow(0, begin, count);
    at::index_select_out(part, stored, 0, rows.narrow(0, begin, count));
  });
  return chosen;
}

// In the layout of `stored`.
at::Tensor inputs_of(const at::Tensor& stored, const at::Tensor& rows) {
  if (!lies_channels_last(stored)) return rows_of(stored, rows);
  return rows_of(stored.permute({0, 2, 3, 1}), rows).permute({0, 3, 1, 2});
}

void normalise(const at::Tensor& pixels, at::Tensor numbers, const PixelFormat& format) {
  at::div_out(numbers, pixels, at::scalar_tensor(255, format.dtype));  // one pass, not two
  const Normalisation& by = format.normalisation;
  // By numbers, not by tensors: a step that is recorded reads nothing from the host's memory.
  const auto centre_and_scale = [&by](at::Tensor part, int64_t channel) {
    if (by.mean_of(channel) != 0) part.sub_(by.mean_of(channel));
    if (by.standard_deviation_of(channel) != 1) part.div_(by.standard_deviation_of(channel));
  };
  if (by.is_uniform()) {
    centre_and_scale(numbers, 0);
  } else {
    for (int64_t channel = 0; channel < numbers.size(1); ++channel)
      centre_and_scale(numbers.narrow(1, channel, 1), channel);
  }
}

at::Tensor normalised(const at::Tensor& pixels, const PixelFormat& format) {
  const auto layout = format.channels_last ? at::MemoryFormat::ChannelsLast : at::MemoryFormat::Contiguous;
  const at::Tensor numbers = at::empty(pixels.sizes(), pixels.options().dtype(format.dtype), layout);
  for_ranges(numbers, [&](int64_t begin, int64_t count) {
    normalise(pixels.narrow(0, begin, count), numbers.narrow(0, begin, count), format);
  });
  return numbers;
}

constexpr std::array kBatchTensors = {&Batch::inputs, &Batch::targets, &Batch::other_targets, &Batch::shares};

// The batch of what `change` makes of the tensors that are defined.
template <class Change>
Batch each_of(Batch batch, const Change& change) {
  for (const auto one : kBatchTensors)
    if ((batch.*one).defined()) batch.*one = change(batch.*one);
  return batch;
}

}  // namespace

Batch MicroBatch::assemble() const {
  Batch batch = stored_;
  if (rows_.defined()) {
    batch.inputs = inputs_of(stored_.inputs, rows());
    batch.targets = has_classes() ? rows_.select(0, 1) : stored_.targets.index_select(0, rows_);
  }
  if (stored_.inputs.scalar_type() == at::kByte) {
    batch.inputs = normalised(batch.inputs, format_);
  } else if (format_.channels_last && batch.inputs.dim() == 4 && !lies_channels_last(batch.inputs)) {
    batch.inputs = batch.inputs.clone(at::MemoryFormat::ChannelsLast);  // one channel's strides, too
  }
  return batch;
}

at::Tensor MicroBatch::rows() const { return has_classes() ? rows_.select(0, 0) : rows_; }

MicroBatch MicroBatch::copy() const {
  MicroBatch copy = *this;
  if (rows_.defined()) {
    copy.rows_ = rows_.clone();
  } else {
    copy.stored_ = each_of(stored_, [](const at::Tensor& tensor) { return tensor.clone(); });
  }
  return copy;
}

void MicroBatch::copy_from(const MicroBatch& other) {
  if (rows_.defined()) {
    rows_.copy_(other.rows_, /*non_blocking=*/true);
    return;
  }
  for (const auto one : kBatchTensors)
    if ((other.stored_.*one).defined()) (stored_.*one).copy_(other.stored_.*one, /*non_blocking=*/true);
}

MicroBatch MicroBatch::to(at::Device device) const {
  const auto send = [device](const at::Tensor& tensor) { return tensor.to(device, /*non_blocking=*/true); };
  return MicroBatch(each_of(stored_, send), format_);
}

}  // namespace dtrain
