#include "data/image_source.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <algorithm>
#include <utility>

#include "data/pixel_values.h"

namespace dtrain {
namespace {

class ImageSource : public ExampleSource {
 public:
  ImageSource(ImageSet set, at::Tensor labels)
      : set_(std::move(set)), labels_(std::move(labels)), threads_(at::get_num_threads()) {}

  int64_t size() const override { return labels_.size(0); }
  at::IntArrayRef shape() const override { return set_.shape; }
  at::Tensor classes() const override { return labels_; }

  void read(std::span<const int64_t> indices, const at::Tensor& values, ExampleSlot& slot) const override {
    at::Tensor images = slot.inputs;
    if (values.defined()) images = at::empty(slot.inputs.sizes(), at::kByte);
    read_image_set(set_, indices, images.mutable_data_ptr<uint8_t>(), threads_);
    const int64_t* label = labels_.const_data_ptr<int64_t>();
    int64_t* target = slot.targets.mutable_data_ptr<int64_t>();
    for (const int64_t index : indices) *target++ = label[index];
    if (!values.defined()) return;
    values.scalar_type() == at::kFloat ? normalise<float>(images, values, slot.inputs)
                                       : normalise<double>(images, values, slot.inputs);
  }

  std::vector<ExampleName> names_of(std::span<const int64_t> indices) const override {
    std::vector<ExampleName> names;
    for (const int64_t index : indices)
      names.push_back({.file = title_of({}, set_.files[static_cast<size_t>(index)])});
    return names;
  }

 private:
  template <typename T>
  static void normalise(const at::Tensor& images, const at::Tensor& values, at::Tensor& numbers) {
    const int64_t pixels = images.numel() / std::max<int64_t>(1, images.size(0));
    for (int64_t row = 0; row < images.size(0); ++row)
      map_pixels(images.const_data_ptr<uint8_t>() + row * pixels, pixels, values.const_data_ptr<T>(),
                 values.size(0), numbers.mutable_data_ptr<T>() + row * pixels);
  }

  const ImageSet set_;
  const at::Tensor labels_;  // int64 [n]
  const int64_t threads_;
};

}  // namespace

ExampleSourcePtr make_image_source(ImageSet set, at::Tensor labels) {
  return std::make_shared<ImageSource>(std::move(set), std::move(labels));
}

}  // namespace dtrain
