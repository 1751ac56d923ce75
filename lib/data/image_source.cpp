#include "data/image_source.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <numeric>
#include <utility>
#include <vector>

#include "data/memory_source.h"

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
    std::vector<int64_t> rows(indices.size());
    std::iota(rows.begin(), rows.end(), int64_t{0});
    make_memory_source({images, slot.targets.clone()})->read(rows, values, slot);
  }

 private:
  const ImageSet set_;
  const at::Tensor labels_;  // int64 [n]
  const int64_t threads_;
};

}  // namespace

ExampleSourcePtr make_image_source(ImageSet set, at::Tensor labels) {
  return std::make_shared<ImageSource>(std::move(set), std::move(labels));
}

}  // namespace dtrain
