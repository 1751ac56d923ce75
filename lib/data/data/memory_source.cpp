#include "data/memory_source.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "core/cache_lines.h"
#include "core/error.h"
#include "data/pixel_values.h"

namespace dtrain {
namespace {

void require_sound(bool holds, const char* what) {
  if (!holds) throw Error(ExitCode::kBug, std::string("examples in memory: ") + what);
}

constexpr int64_t kAhead = 2;  // rows

// The processor cannot predict the addresses of rows in random order: without prefetching, half the time of a
// batch is spent waiting for memory.
void fetch_ahead(const uint8_t* data, int64_t bytes) {
  for (int64_t offset = 0; offset < bytes; offset += static_cast<int64_t>(kCacheLine))
    __builtin_prefetch(data + offset);
}

template <typename T>
void normalise_rows(const at::Tensor& images, const int64_t* rows, const at::Tensor& values,
                    at::Tensor& out) {
  const int64_t pixels = images[0].numel();
  const uint8_t* source = images.const_data_ptr<uint8_t>();
  T* target = out.mutable_data_ptr<T>();
  for (int64_t row = 0; row < out.size(0); ++row) {
    if (row + kAhead < out.size(0)) fetch_ahead(source + rows[row + kAhead] * pixels, pixels);
    map_pixels(source + rows[row] * pixels, pixels, values.const_data_ptr<T>(), values.size(0),
               target + row * pixels);
  }
}

void copy_rows(const at::Tensor& images, const int64_t* rows, at::Tensor& out) {
  const int64_t pixels = images[0].numel();
  const uint8_t* source = images.const_data_ptr<uint8_t>();
  uint8_t* target = out.mutable_data_ptr<uint8_t>();
  for (int64_t row = 0; row < out.size(0); ++row)
    std::copy_n(source + rows[row] * pixels, pixels, target + row * pixels);
}

class MemorySource : public ExampleSource {
 public:
  MemorySource(StoredExamples all, NamesOf names, BeforeReading before_reading)
      : all_(std::move(all)), names_(std::move(names)), before_reading_(std::move(before_reading)) {
    require_sound(all_.inputs.defined() && all_.targets.defined(), "no images or no labels");
    require_sound(
        all_.inputs.scalar_type() == at::kByte && all_.inputs.dim() == 4 && all_.inputs.is_contiguous(),
        "images must be contiguous uint8 [n, channels, height, width]");
    require_sound(
        all_.targets.scalar_type() == at::kLong && all_.targets.dim() == 1 && all_.targets.is_contiguous(),
        "labels must be contiguous int64 [n]");
    require_sound(all_.inputs.size(0) == all_.targets.size(0), "as many images as labels are needed");
  }

  int64_t size() const override { return all_.size(); }
  at::IntArrayRef shape() const override { return all_.inputs.sizes().slice(1); }
  at::Tensor classes() const override { return all_.targets; }
  std::optional<StoredExamples> in_memory() const override {
    std::vector<int64_t> indices(before_reading_ ? static_cast<size_t>(size()) : 0);
    std::iota(indices.begin(), indices.end(), int64_t{0});
    if (before_reading_) before_reading_(indices);
    return all_;
  }
  std::vector<ExampleName> names_of(std::span<const int64_t> indices) const override {
    return names_ ? names_(indices) : ExampleSource::names_of(indices);
  }

  void read(std::span<const int64_t> indices, const at::Tensor& values, ExampleSlot& slot) const override {
    if (before_reading_) before_reading_(indices);
    const int64_t* rows = indices.data();
    if (!values.defined()) {
      copy_rows(all_.inputs, rows, slot.inputs);
    } else if (values.scalar_type() == at::kFloat) {
      normalise_rows<float>(all_.inputs, rows, values, slot.inputs);
    } else {
      normalise_rows<double>(all_.inputs, rows, values, slot.inputs);
    }
    const int64_t* labels = all_.targets.const_data_ptr<int64_t>();
    std::transform(indices.begin(), indices.end(), slot.targets.mutable_data_ptr<int64_t>(),
                   [labels](int64_t row) { return labels[row]; });
  }

 private:
  const StoredExamples all_;
  const NamesOf names_;
  const BeforeReading before_reading_;
};

}  // namespace

ExampleSourcePtr make_memory_source(StoredExamples images, NamesOf names, BeforeReading before_reading) {
  return std::make_shared<MemorySource>(std::move(images), std::move(names), std::move(before_reading));
}

StoredExamples stored_examples_of(const ExampleSource& source) {
  const std::optional<StoredExamples> all = source.in_memory();
  require_sound(all.has_value(), "these examples are not in memory");
  return *all;
}

}  // namespace dtrain
