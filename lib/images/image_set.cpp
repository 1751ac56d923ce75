#include "images/image_set.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <dlfcn.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>

#include "core/error.h"
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

void for_each_image(size_t count, int64_t threads, const std::function<void(size_t at)>& work) {
  std::atomic<size_t> next = 0;
  std::mutex mutex;
  std::exception_ptr failure;
  const auto run = [&] {
    try {
      compute_alone();
      for (size_t at = next++; at < count; at = next++) work(at);
    } catch (...) {
      next = count;  // the others need not go on
      const std::lock_guard lock(mutex);
      if (!failure) failure = std::current_exception();
    }
  };
  {
    std::vector<std::jthread> workers;  // joined at the end of the scope
    for (int64_t thread = 0; thread < std::min(threads, static_cast<int64_t>(count)); ++thread)
      workers.emplace_back(run);
  }
  if (failure) std::rethrow_exception(failure);
}

void read_image_set(const ImageSet& set, std::span<const int64_t> indices, uint8_t* out, int64_t threads,
                    const std::function<void()>& on_image) {
  std::mutex mutex;  // for on_image
  for_each_image(indices.size(), threads, [&](size_t at) {
    read_image(set, indices[at], out + static_cast<int64_t>(at) * set.bytes_of_one());
    if (!on_image) return;
    const std::lock_guard lock(mutex);
    on_image();
  });
}

}  // namespace dtrain
