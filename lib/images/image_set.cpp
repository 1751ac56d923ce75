#include "images/image_set.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <dlfcn.h>

#include <algorithm>
#include <mutex>

#include "core/error.h"
#include "core/parallel.h"
#include "core/text.h"
#include "images/image_file.h"

namespace dtrain {
namespace {

// LibTorch's loops in this thread use no other threads: images are read in parallel, not parts of one.
// at::set_num_threads() would be for threads that start later, too.
void compute_alone() {
  at::internal::lazy_init_num_threads();
  static const auto set = reinterpret_cast<void (*)(int)>(::dlsym(RTLD_DEFAULT, "omp_set_num_threads"));
  if (set != nullptr) set(1);
}

void read_image(const ImageSet& set, int64_t index, uint8_t* out) {
  const std::filesystem::path path = set.root / set.files[static_cast<size_t>(index)];
  const at::Tensor image = read_image_file(path);
  try {
    const at::Tensor fitted = fit_images(image, set.shape, set.fit);
    std::copy_n(fitted.const_data_ptr<uint8_t>(), fitted.numel(), out);
  } catch (const Error& error) {
    throw Error(error.code(), printable(path.string(), 1000) + ": " + error.what());
  }
}

}  // namespace

void read_image_set(const ImageSet& set, std::span<const int64_t> indices, uint8_t* out, int64_t threads,
                    const std::function<void()>& on_image) {
  std::mutex mutex;  // for on_image
  for_each_in_threads(std::ssize(indices), threads, [&](int64_t at) {
    compute_alone();
    read_image(set, indices[static_cast<size_t>(at)], out + at * set.bytes_of_one());
    if (!on_image) return;
    const std::lock_guard lock(mutex);
    on_image();
  });
}

}  // namespace dtrain
