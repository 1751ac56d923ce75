#include "data/picture_dataset.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <system_error>
#include <thread>
#include <utility>

#include "data/image_source.h"
#include "data/memory_source.h"
#include "data/split.h"
#include "images/image_cache.h"
#include "pictures/archives.h"
#include "pictures/image_folder.h"

namespace dtrain {
namespace {

namespace fs = std::filesystem;

constexpr const char* kTar = "tar";

DatasetInfo info_of(const PictureList& all, const fs::path& place, const DataSpec& spec) {
  DatasetInfo info;
  info.source = place.string();
  info.image_shape = {spec.image.channels, spec.image.size.at(0), spec.image.size.at(1)};
  info.classes = std::ssize(all.classes);
  info.class_names = all.classes;
  info.train_examples = std::ssize(all.train);
  info.validation_examples = std::ssize(all.validation);
  info.test_examples = std::ssize(all.test);
  return info;
}

// All pictures, whatever the job uses of them: jobs with other parts then share one file of the cache.
ImageSet image_set_of(const PictureList& all, const DatasetInfo& info, const DataSpec& spec) {
  ImageSet set{.root = all.root,
               .files = {},
               .shape = info.image_shape,
               .fit = fit_of(spec.image.fit),
               .scaled_decoding = spec.image.scaled_decoding};
  for (const ListedPicture& picture : all.pictures) set.files.push_back(picture.file);
  return set;
}

ImageCacheOptions cache_options(const DataSpec& spec) {
  return {.most_gigabytes = spec.cache_gigabytes,
          .threads = std::max<int64_t>(1, std::thread::hardware_concurrency())};
}

}  // namespace

bool is_picture_dataset(const std::string& name) { return name == "image_folder" || name == kTar; }

PictureList list_pictures(const DatasetInfo& info, const DataSpec& spec) {
  return info.name == kTar ? list_archives(info.source, spec) : list_image_folder(info.source, spec);
}

std::optional<DatasetInfo> find_image_folder(const fs::path& place, const DataSpec& spec) {
  std::error_code none;
  if (!fs::is_directory(place, none)) return std::nullopt;
  return info_of(list_image_folder(place, spec), place, spec);
}

std::optional<DatasetInfo> find_archives(const fs::path& place, const DataSpec& spec) {
  std::error_code none;
  if (!fs::exists(place, none)) return std::nullopt;
  return info_of(list_archives(place, spec), place, spec);
}

Dataset load_pictures(const DatasetInfo& info, const DataSpec& spec) {
  PictureList all = list_pictures(info, spec);
  ImageSet set = image_set_of(all, info, spec);
  at::Tensor labels = at::empty({std::ssize(all.pictures)}, at::kLong);
  std::transform(all.pictures.begin(), all.pictures.end(), labels.mutable_data_ptr<int64_t>(),
                 [](const ListedPicture& picture) { return picture.label; });
  const ExampleSourcePtr images = spec.cache == "none"
                                      ? make_image_source(std::move(set), labels)
                                      : make_memory_source({cached_images(set, cache_options(spec)), labels});
  Dataset dataset{info, make_selection(images, std::move(all.train)),
                  make_selection(images, std::move(all.test))};
  if (!all.validation.empty()) dataset.validation = make_selection(images, std::move(all.validation));
  return dataset;
}

void prepare_pictures(const DatasetInfo& info, const DataSpec& spec, const OnPrepared& on_progress) {
  if (spec.cache == "none") return;
  ImageCacheOptions options = cache_options(spec);
  options.on_progress = on_progress;
  cached_images(image_set_of(list_pictures(info, spec), info, spec), options);
}

bool can_cache_pictures(const DatasetInfo& info, const DataSpec& spec) {
  const ImageSet set = image_set_of(list_pictures(info, spec), info, spec);
  return can_cache_images(image_cache_bytes(std::ssize(set.files), set.bytes_of_one()), spec.cache_gigabytes,
                          set.root);
}

int64_t picture_cache_bytes(const DatasetInfo& info, const DataSpec& spec) {
  int64_t images = info.train_examples + info.validation_examples + info.test_examples;
  if (!info.source.empty()) images = std::ssize(list_pictures(info, spec).pictures);
  return image_cache_bytes(images, info.image_shape[0] * info.image_shape[1] * info.image_shape[2]);
}

}  // namespace dtrain
