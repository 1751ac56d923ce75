#include "images/image_set.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <algorithm>
#include <mutex>

#include "core/files.h"
#include "core/parallel.h"
#include "core/text.h"

extern "C" void omp_set_num_threads(int threads);  // of the runtime that LibTorch has loaded

namespace dtrain {
namespace {

constexpr size_t kMostExpected = 4096;  // images that are streamed

// LibTorch's loops in this thread use no other threads: images are read in parallel, not parts of one.
// at::set_num_threads() would be for threads that start later, too.
void compute_alone() {
  at::get_num_threads();  // the first call in a thread sets its number
  omp_set_num_threads(1);
}

void read_fitted(const ImageSet& set, const ImageFile& file, uint8_t* out) {
  const SmallestSize smallest{.height = set.shape[1], .width = set.shape[2]};
  const at::Tensor image = read_image(set.root, file, set.scaled_decoding ? smallest : SmallestSize());
  try {
    const at::Tensor fitted = fit_images(image, set.shape, set.fit);
    if (out != nullptr) std::copy_n(fitted.const_data_ptr<uint8_t>(), fitted.numel(), out);
  } catch (const Error& error) {
    throw Error(error.code(), title_of(set.root, file) + ": " + error.what());
  }
}

}  // namespace

std::vector<int64_t> places_without(int64_t images, const BadImages& bad) {
  std::vector<int64_t> places;
  auto next = bad.begin();
  for (int64_t index = 0; index < images; ++index) {
    if (next != bad.end() && next->index == index)
      ++next;
    else
      places.push_back(index);
  }
  return places;
}

ImageSet without(const ImageSet& set, const BadImages& bad) {
  ImageSet others{
      .root = set.root, .shape = set.shape, .fit = set.fit, .scaled_decoding = set.scaled_decoding};
  for (const int64_t index : places_without(std::ssize(set.files), bad))
    others.files.push_back(set.files[static_cast<size_t>(index)]);
  return others;
}

std::string title_of(const std::filesystem::path& root, const ImageFile& file) {
  const std::string path = printable((root / file.path).string(), 1000);
  return file.member.empty() ? path : path + ": " + printable(file.member, 1000);
}

std::string fault_of(const Error& error, const std::string& title) {
  const std::string what = error.what(), name = title + ": ";
  return what.starts_with(name) ? what.substr(name.size()) : what;
}

std::string read_image_bytes(const std::filesystem::path& root, const ImageFile& file) {
  if (file.member.empty()) return read_file(root / file.path, kMaxImageFileBytes, ExitCode::kData);
  try {
    if (!file.archive) return read_file_part(root / file.path, file.offset, file.bytes, ExitCode::kData);
    return file.archive->read(file.offset, file.bytes);
  } catch (const Error& error) {
    const std::string archive = printable((root / file.path).string(), 1000);
    throw Error(error.code(), title_of(root, file) + ": " + fault_of(error, archive));
  }
}

at::Tensor read_image(const std::filesystem::path& root, const ImageFile& file, SmallestSize smallest) {
  const std::string bytes = read_image_bytes(root, file);
  try {
    return decode_image_file(bytes, smallest);
  } catch (const Error& error) {
    throw Error(error.code(), title_of(root, file) + ": " + error.what());
  }
}

std::shared_ptr<const void> expect_images(const ImageSet& set, std::span<const int64_t> indices,
                                          bool counts) {
  const ArchiveBytes* const first = set.files.empty() ? nullptr : set.files.front().archive.get();
  if (first == nullptr || first->content().empty()) return nullptr;
  auto all = std::make_shared<std::vector<std::shared_ptr<const void>>>();
  for (const int64_t index : indices) {
    const ImageFile& file = set.files[static_cast<size_t>(index)];
    all->push_back(file.archive->expect(file.offset, file.bytes, counts));
  }
  return all;
}

void for_each_image(int64_t count, int64_t threads, const std::function<void(int64_t at)>& work) {
  for_each_in_threads(count, threads, [&work](int64_t at) {
    compute_alone();
    work(at);
  });
}

void read_image_set(const ImageSet& set, std::span<const int64_t> indices, uint8_t* out, int64_t threads,
                    const ImageCalls& calls) {
  std::mutex mutex;  // for the calls
  const auto read_one = [&](int64_t at) {
    const ImageFile& file = set.files[static_cast<size_t>(indices[static_cast<size_t>(at)])];
    try {
      read_fitted(set, file, out == nullptr ? nullptr : out + at * set.bytes_of_one());
    } catch (const Error& error) {
      if (!calls.on_bad || error.code() != ExitCode::kData) throw;
      const std::lock_guard lock(mutex);
      calls.on_bad(at, fault_of(error, title_of(set.root, file)));
    }
    if (!calls.on_image) return;
    const std::lock_guard lock(mutex);
    calls.on_image(at);
  };
  // Those that are streamed are fetched meanwhile and before, but remembering all of a set takes memory.
  const size_t most = expect_images(set, {}) ? kMostExpected : std::max<size_t>(indices.size(), 1);
  const auto part_from = [&](size_t first) {
    return indices.subspan(std::min(first, indices.size()),
                           std::min(most, indices.size() - std::min(first, indices.size())));
  };
  std::shared_ptr<const void> expected = expect_images(set, part_from(0), /*counts=*/false), next;
  for (size_t first = 0; first < indices.size(); first += most) {
    next = expect_images(set, part_from(first + most), /*counts=*/false);
    for_each_image(std::ssize(part_from(first)), threads,
                   [&](int64_t at) { read_one(static_cast<int64_t>(first) + at); });
    expected = std::move(next);
  }
}

}  // namespace dtrain
