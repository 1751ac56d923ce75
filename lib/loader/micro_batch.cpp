#include "loader/micro_batch.h"

#include <ATen/ATen.h>

namespace dtrain {
namespace {

at::Tensor normalised(const at::Tensor& pixels, const PixelFormat& format) {
  const auto layout = format.channels_last ? at::MemoryFormat::ChannelsLast : at::MemoryFormat::Contiguous;
  at::Tensor numbers = at::empty(pixels.sizes(), pixels.options().dtype(format.dtype), layout);
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
  return numbers;
}

}  // namespace

Batch MicroBatch::assemble() const {
  Batch batch{images_, labels_};
  if (rows_.defined()) batch = {images_.index_select(0, rows_), labels_.index_select(0, rows_)};
  if (images_.scalar_type() == at::kByte) batch.inputs = normalised(batch.inputs, format_);
  return batch;
}

MicroBatch MicroBatch::copy() const {
  MicroBatch copy = *this;
  if (rows_.defined()) {
    copy.rows_ = rows_.clone();
  } else {
    copy.images_ = images_.clone();
    copy.labels_ = labels_.clone();
  }
  return copy;
}

void MicroBatch::copy_from(const MicroBatch& other) {
  if (rows_.defined()) {
    rows_.copy_(other.rows_, /*non_blocking=*/true);
  } else {
    images_.copy_(other.images_, /*non_blocking=*/true);
    labels_.copy_(other.labels_, /*non_blocking=*/true);
  }
}

MicroBatch MicroBatch::to(at::Device device) const {
  return {images_.to(device, /*non_blocking=*/true), labels_.to(device, /*non_blocking=*/true), format_};
}

}  // namespace dtrain
