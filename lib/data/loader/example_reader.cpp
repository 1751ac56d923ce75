#include "loader/example_reader.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <map>
#include <utility>

#include "core/error.h"
#include "core/parallel.h"
#include "data/pixel_values.h"

namespace dtrain {
namespace {

constexpr int64_t kBytesOfThread = 64 << 10;  // of pixels, for which another thread pays

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

uint8_t* row_of(const at::Tensor& pixels, int64_t row) {
  return pixels.mutable_data_ptr<uint8_t>() + row * pixels.stride(0);
}

PictureShape picture_shape(const ExampleSource& source) {
  if (!source.has_pixels() || source.shape().size() != 3)
    throw Error(ExitCode::kBug, "ShareLoader: only pictures are augmented");
  return {source.shape()[0], source.shape()[1], source.shape()[2]};
}

std::span<const int64_t> own_examples(const ExamplePlace& place) {
  return place.step.subspan(static_cast<size_t>(place.own.begin), static_cast<size_t>(place.own.size()));
}

}  // namespace

Showing ExamplePlace::at(int64_t position) const {
  const auto index = static_cast<size_t>(position);
  return {epoch, step[index], repeats.empty() ? 0 : repeats[index]};
}

ExampleReader::ExampleReader(ExampleSourcePtr source, const LoaderOptions& options)
    : source_(std::move(source)), options_(options) {
  if (options_.assembly == Assembly::kOnHost && source_->has_pixels())
    values_ = normalised_values(options_.format, source_->shape()[0]);
  if (!options_.augment.empty()) augmenter_.emplace(options_.augment, picture_shape(*source_), options_.seed);
}

MicroBatch ExampleReader::read(const ExamplePlace& place) const {
  Batch batch;
  if (augmenter_) {
    batch = augmenter_->mixes() ? read_mixed(place) : read_augmented(place);
  } else {
    const bool stays_stored = !values_.defined() && source_->has_pixels();
    ExampleSlot slot = slot_of(place.own.size(), stays_stored ? at::kByte : options_.format.dtype);
    source_->read(own_examples(place), values_, slot);
    batch = {std::move(slot.inputs), std::move(slot.targets)};
  }
  return MicroBatch(std::move(batch), options_.format);
}

ExampleSlot ExampleReader::slot_of(int64_t count, at::ScalarType dtype) const {
  std::vector<int64_t> shape = source_->shape().vec();
  shape.insert(shape.begin(), count);
  const auto memory = at::TensorOptions().pinned_memory(!options_.device.is_cpu());
  const int64_t numbers = source_->targets();
  return {at::empty(shape, memory.dtype(dtype)),
          numbers > 0 ? at::empty({count, numbers}, memory.dtype(options_.format.dtype))
                      : at::empty({count}, memory.dtype(at::kLong))};
}

Batch ExampleReader::read_augmented(const ExamplePlace& place) const {
  const std::span<const int64_t> examples = own_examples(place);
  ExampleSlot slot = slot_of(std::ssize(examples), at::kByte);
  source_->read(examples, {}, slot);
  const at::Tensor numbers = numbers_for(slot.inputs);
  for_each(std::ssize(examples), [&](int64_t row) {
    augmenter_->change(place.at(place.own.begin + row), row_of(slot.inputs, row));
    normalise(slot.inputs, row, numbers);
  });
  return {numbers, slot.targets};
}

// What the examples of a micro-batch are mixed with.
struct ExampleReader::Partners {
  std::vector<int64_t> examples;   // those of the micro-batch, then partners that are not among them
  std::vector<int64_t> positions;  // theirs in the step
  std::vector<std::optional<Mixture>> mixtures;  // of each of the micro-batch
  std::vector<int64_t> rows;                     // of its partner in `examples`
};

ExampleReader::Partners ExampleReader::partners_of(const ExamplePlace& place) const {
  Partners partners;
  std::map<int64_t, int64_t> row_at;  // by the position in the step
  const auto row_of_position = [&](int64_t position) {
    const auto [at, is_new] = row_at.emplace(position, std::ssize(partners.examples));
    if (is_new) {
      partners.examples.push_back(place.step[static_cast<size_t>(position)]);
      partners.positions.push_back(position);
    }
    return at->second;
  };
  for (int64_t position = place.own.begin; position < place.own.end; ++position) row_of_position(position);
  for (int64_t position = place.own.begin; position < place.own.end; ++position) {
    partners.mixtures.push_back(augmenter_->mixture(place.at(position), std::ssize(place.step)));
    const auto& mixture = partners.mixtures.back();
    partners.rows.push_back(mixture ? row_of_position(mixture->partner) : 0);
  }
  return partners;
}

std::vector<int64_t> ExampleReader::needed_for(const ExamplePlace& place) const {
  if (augmenter_ && augmenter_->mixes()) return partners_of(place).examples;
  const std::span<const int64_t> own = own_examples(place);
  return {own.begin(), own.end()};
}

// A partner that another replica has is read and changed here too: to the same pixels, without a message.
Batch ExampleReader::read_mixed(const ExamplePlace& place) const {
  const Partners partners = partners_of(place);
  const int64_t count = place.own.size();
  ExampleSlot all = slot_of(std::ssize(partners.examples), at::kByte);
  source_->read(partners.examples, {}, all);
  for_each(std::ssize(partners.examples), [&](int64_t row) {
    augmenter_->change(place.at(partners.positions[static_cast<size_t>(row)]), row_of(all.inputs, row));
  });
  const ExampleSlot mixed = slot_of(count, at::kByte);
  Batch batch{numbers_for(mixed.inputs), mixed.targets, at::empty_like(mixed.targets),
              at::empty_like(mixed.targets, options_.format.dtype)};
  std::vector<double> shares(static_cast<size_t>(count));
  const PictureShape shape = picture_shape(*source_);
  const int64_t* const labels = all.targets.const_data_ptr<int64_t>();
  int64_t* const targets = batch.targets.mutable_data_ptr<int64_t>();
  int64_t* const other_targets = batch.other_targets.mutable_data_ptr<int64_t>();
  for_each(count, [&](int64_t row) {
    const Mixture mixture = partners.mixtures[static_cast<size_t>(row)].value_or(Mixture());
    const int64_t partner = partners.rows[static_cast<size_t>(row)];
    const uint8_t* const picture = row_of(all.inputs, row);
    if (mixture.mix != nullptr)
      mixture.mix(mixture, shape, picture, row_of(all.inputs, partner), row_of(mixed.inputs, row));
    else
      std::copy_n(picture, shape.bytes(), row_of(mixed.inputs, row));
    normalise(mixed.inputs, row, batch.inputs);
    const bool heavier = mixture.share >= 0.5;
    targets[row] = labels[heavier ? row : partner];
    other_targets[row] = labels[heavier ? partner : row];
    shares[static_cast<size_t>(row)] = heavier ? mixture.share : 1 - mixture.share;
  });
  batch.shares.copy_(at::tensor(shares, at::kDouble));
  return batch;
}

// Memory for what normalise() makes of the pixels: where the device normalises, these themselves.
at::Tensor ExampleReader::numbers_for(const at::Tensor& pixels) const {
  return values_.defined() ? at::empty(pixels.sizes(), options_.format.dtype) : pixels;
}

void ExampleReader::normalise(const at::Tensor& pixels, int64_t row, const at::Tensor& numbers) const {
  if (values_.defined()) map_pixels(row_of(pixels, row), pixels.stride(0), values_, numbers, row);
}

// Threads are started for each batch, which takes some ten microseconds each: small batches have none.
void ExampleReader::for_each(int64_t count, const std::function<void(int64_t index)>& work) const {
  const int64_t bytes = count * picture_shape(*source_).bytes();
  const int64_t threads = std::min(options_.threads, 1 + bytes / kBytesOfThread);
  if (threads > 1) return for_each_in_threads(count, threads, work);
  for (int64_t index = 0; index < count; ++index) work(index);
}

}  // namespace dtrain
