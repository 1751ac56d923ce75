#include "loader/example_reader.h"

#include <ATen/ATen.h>

#include <utility>

#include "core/error.h"
#include "core/parallel.h"
#include "data/pixel_values.h"

namespace dtrain {
namespace {

// The normalised value of each of the 256 pixel values, [1, 256] or for each channel [channels, 256]: exactly
// the values of that arithmetic on a tensor.
at::Tensor normalised_values(const PixelFormat& format, int64_t channels) {
  const Normalisation& by = format.normalisation;
  std::vector<at::Tensor> tables;
  for (int64_t channel = 0; channel < (by.is_uniform() ? 1 : channels); ++channel)
    tables.push_back(at::arange(256, format.dtype)
                         .div_(255)
                         .sub_(by.mean_of(channel))
                         .div_(by.standard_deviation_of(channel)));
  return at::stack(tables);
}

template <typename T>
void normalise_row(const at::Tensor& pixels, int64_t row, const at::Tensor& values, at::Tensor& numbers) {
  const int64_t count = pixels.numel() / pixels.size(0);
  map_pixels(pixels.const_data_ptr<uint8_t>() + row * count, count, values.const_data_ptr<T>(),
             values.size(0), numbers.mutable_data_ptr<T>() + row * count);
}

PictureShape picture_shape(const ExampleSource& source) {
  if (!source.has_pixels() || source.shape().size() != 3)
    throw Error(ExitCode::kBug, "ShareLoader: only pictures are augmented");
  return {source.shape()[0], source.shape()[1], source.shape()[2]};
}

}  // namespace

ExampleReader::ExampleReader(ExampleSourcePtr source, const LoaderOptions& options)
    : source_(std::move(source)), options_(options) {
  if (options_.assembly == Assembly::kOnHost && source_->has_pixels())
    values_ = normalised_values(options_.format, source_->shape()[0]);
  if (!options_.augment.empty()) augmenter_.emplace(options_.augment, picture_shape(*source_), options_.seed);
}

MicroBatch ExampleReader::read(int64_t epoch, std::span<const int64_t> examples) const {
  const bool on_host = options_.assembly == Assembly::kOnHost;
  ExampleSlot slot;
  if (augmenter_) {
    slot = read_augmented(epoch, examples);
  } else {
    const bool stored = !on_host && source_->has_pixels();
    slot = slot_of(std::ssize(examples), stored ? at::kByte : options_.format.dtype, /*for_device=*/true);
    source_->read(examples, values_, slot);
  }
  if (on_host) return MicroBatch(Batch{std::move(slot.inputs), std::move(slot.targets)});
  return {std::move(slot.inputs), std::move(slot.targets), options_.format};
}

ExampleSlot ExampleReader::slot_of(int64_t count, at::ScalarType dtype, bool for_device) const {
  std::vector<int64_t> shape = source_->shape().vec();
  shape.insert(shape.begin(), count);
  const auto memory = at::TensorOptions().pinned_memory(for_device && !options_.device.is_cpu());
  const int64_t numbers = source_->targets();
  return {at::empty(shape, memory.dtype(dtype)),
          numbers > 0 ? at::empty({count, numbers}, memory.dtype(options_.format.dtype))
                      : at::empty({count}, memory.dtype(at::kLong))};
}

ExampleSlot ExampleReader::read_augmented(int64_t epoch, std::span<const int64_t> examples) const {
  ExampleSlot pixels = slot_of(std::ssize(examples), at::kByte, /*for_device=*/true);
  source_->read(examples, {}, pixels);
  ExampleSlot read = pixels;
  if (values_.defined()) read.inputs = at::empty(pixels.inputs.sizes(), options_.format.dtype);
  uint8_t* const first = pixels.inputs.mutable_data_ptr<uint8_t>();
  const int64_t bytes = pixels.inputs.numel() / std::max<int64_t>(1, std::ssize(examples));
  for_each(std::ssize(examples), [&](int64_t row) {
    augmenter_->change(epoch, examples[static_cast<size_t>(row)], first + row * bytes);
    if (!values_.defined()) return;
    values_.scalar_type() == at::kFloat ? normalise_row<float>(pixels.inputs, row, values_, read.inputs)
                                        : normalise_row<double>(pixels.inputs, row, values_, read.inputs);
  });
  return read;
}

// Threads are started for each batch: that takes some ten microseconds, and one picture as long.
void ExampleReader::for_each(int64_t count, const std::function<void(int64_t)>& work) const {
  if (options_.threads > 1 && count > 1) return for_each_in_threads(count, options_.threads, work);
  for (int64_t index = 0; index < count; ++index) work(index);
}

}  // namespace dtrain
