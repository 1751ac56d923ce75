#include "data/picture_dataset.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <fmt/format.h>

#include <algorithm>
#include <system_error>
#include <thread>
#include <utility>

#include "core/addresses.h"
#include "core/checksum.h"
#include "core/data_errors.h"
#include "core/text.h"
#include "data/example_source.h"
#include "data/pixel_values.h"
#include "data/split.h"
#include "images/image_cache.h"
#include "pictures/archives.h"
#include "pictures/image_folder.h"
#include "pictures/parquet_pictures.h"

namespace dtrain {
namespace {

namespace fs = std::filesystem;

constexpr const char* kFolder = "image_folder";

constexpr size_t kMostNamed = 3;

// Where what is wrong with pictures is known from.
enum class Reading {
  kBefore,  // as far as they were read before
  kNow      // they are read, unless they were
};

struct ListedPictures {
  PictureList list;
  BadExamples bad;
};

// All pictures, whatever the job uses of them: jobs with other parts then share one file of the cache.
ImageSet image_set_of(const PictureList& all, const DataSpec& spec) {
  ImageSet set{.root = all.root,
               .shape = {spec.image.channels, spec.image.size.at(0), spec.image.size.at(1)},
               .fit = fit_of(spec.image.fit),
               .scaled_decoding = spec.image.scaled_decoding};
  for (const ListedPicture& picture : all.pictures) set.files.push_back(picture.file);
  return set;
}

ImageCacheOptions cache_options(const DataSpec& spec, const OnPrepared& on_progress = {}) {
  return {.most_gigabytes = spec.cache_gigabytes,
          .threads = std::max<int64_t>(1, std::thread::hardware_concurrency()),
          .on_progress = on_progress};
}

// Decodes the pictures of a job that caches them, unless they are there and as they were written.
void decode(const ImageSet& set, const DataSpec& spec, const OnPrepared& on_progress) {
  ImageCacheOptions options = cache_options(spec, on_progress);
  options.verify = true;
  spec.cache_in_use() == "memory" ? static_cast<void>(images_in_memory(set, options))
                                  : static_cast<void>(cached_images(set, options));
}

// Images with labels int64 [n], decoded when read, by as many threads as LibTorch has when this is made.
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
    const int64_t pixels = set_.bytes_of_one();
    for (int64_t row = 0; values.defined() && row < images.size(0); ++row)
      map_pixels(images.const_data_ptr<uint8_t>() + row * pixels, pixels, values, slot.inputs, row);
  }

  std::shared_ptr<const void> expect(std::span<const int64_t> indices) const override {
    return expect_images(set_, indices);
  }

  std::vector<ExampleName> names_of(std::span<const int64_t> indices) const override {
    std::vector<ExampleName> names;
    for (const int64_t index : indices)
      names.push_back({.file = title_of({}, set_.files.at(static_cast<size_t>(index)))});
    return names;
  }

 private:
  const ImageSet set_;
  const at::Tensor labels_;  // int64 [n]
  const int64_t threads_;
};

ExampleSourcePtr source_of(ImageSet set, const at::Tensor& labels, const NamesOf& names,
                           const DataSpec& spec) {
  if (spec.cache_in_use() == "none") return std::make_shared<ImageSource>(std::move(set), labels);
  if (spec.cache_in_use() == "memory")
    return make_memory_source({images_in_memory(set, cache_options(spec)), labels}, names);
  const std::shared_ptr<const ImageBlock> block = cached_images(set, cache_options(spec));
  return make_memory_source({block->images(), labels}, names,
                            [block](std::span<const int64_t> indices) { block->verify(indices); });
}

BadExamples described(const PictureList& all, const BadImages& bad) {
  BadExamples examples;
  examples.count = std::ssize(bad);
  Checksum names;
  for (const BadImage& one : bad) {
    const std::string title = title_of({}, all.pictures[static_cast<size_t>(one.index)].file);
    names.add(title.c_str(), title.size() + 1);
    if (examples.first.size() < kMostNamed)
      examples.first.push_back(title + ": " + printable(one.fault, 1000));
  }
  if (!bad.empty()) examples.names = names.text();
  return examples;
}

// Leaves out the pictures that cannot be read.
void leave_out_bad(ListedPictures& all, const DataSpec& spec, Reading reading,
                   const OnPrepared& on_progress) {
  const ImageSet set = image_set_of(all.list, spec);
  const std::optional<BadImages> bad =
      reading == Reading::kBefore
          ? known_bad_images(set)
          : find_bad_images(set, cache_options(spec, on_progress), spec.cache_in_use() == "disk");
  all.bad.known = bad.has_value();
  if (!bad || bad->empty()) return;
  all.bad = described(all.list, *bad);
  if (reading == Reading::kNow && all.bad.count > spec.bad_examples_allowed)
    refuse_file(all.list.root,
                bad_examples_text(all.bad) +
                    fmt::format("; data.bad_examples_allowed is {}: mend or remove them, or raise it",
                                with_separators(spec.bad_examples_allowed)));
  all.list = without(all.list, *bad);
}

ListedPictures listed(const std::string& name, const fs::path& place, const DataSpec& spec, Reading reading,
                      const OnPrepared& on_progress = {}) {
  ListedPictures all{name == kFolder ? list_image_folder(place, spec) : list_archives(place, spec), {}};
  if (spec.on_bad_example == "skip") leave_out_bad(all, spec, reading, on_progress);
  all.list = divided(std::move(all.list), spec);
  return all;
}

DatasetInfo info_of(const ListedPictures& all, const fs::path& place, const DataSpec& spec) {
  DatasetInfo info;
  info.source = place.string();
  info.example_shape = {spec.image.channels, spec.image.size.at(0), spec.image.size.at(1)};
  info.classes = std::ssize(all.list.classes);
  info.class_names = all.list.classes;
  info.train_examples = std::ssize(all.list.train);
  info.validation_examples = std::ssize(all.list.validation);
  info.test_examples = std::ssize(all.list.test);
  info.bad = all.bad;
  info.left_out = all.list.left_out;
  return info;
}

}  // namespace

PictureList list_pictures(const DatasetInfo& info, const DataSpec& spec) {
  const std::string place = is_address(info.source) ? *with_files_here(spec).path : info.source;
  return listed(info.name, place, spec, Reading::kNow).list;
}

std::optional<DatasetInfo> find_image_folder(const fs::path& place, const DataSpec& spec) {
  std::error_code none;
  if (!fs::is_directory(place, none)) return std::nullopt;
  return info_of(listed(kFolder, place, spec, Reading::kBefore), place, spec);
}

std::optional<DatasetInfo> find_archives(const fs::path& place, const DataSpec& spec) {
  std::error_code none;
  if (!spec.stream && !fs::exists(place, none)) return std::nullopt;
  return info_of(listed(spec.dataset, place, spec, Reading::kBefore), place, spec);
}

Dataset load_pictures(const DatasetInfo& info, const DataSpec& spec) {
  ListedPictures listed_now = listed(info.name, info.source, spec, Reading::kNow);
  DatasetInfo now = info_of(listed_now, info.source, spec);
  now.name = info.name;
  now.requested = info.requested;
  PictureList& all = listed_now.list;
  at::Tensor labels = at::empty({std::ssize(all.pictures)}, at::kLong);
  std::transform(all.pictures.begin(), all.pictures.end(), labels.mutable_data_ptr<int64_t>(),
                 [](const ListedPicture& picture) { return picture.label; });
  // Lists them again: decoded pictures are many, and few of them are ever named.
  const auto names = [info, spec](std::span<const int64_t> indices) {
    return ImageSource(image_set_of(list_pictures(info, spec), spec), {}).names_of(indices);
  };
  const ExampleSourcePtr images = source_of(image_set_of(all, spec), labels, names, spec);
  Dataset dataset{now, make_selection(images, std::move(all.train)),
                  make_selection(images, std::move(all.test))};
  if (!all.validation.empty()) dataset.validation = make_selection(images, std::move(all.validation));
  return dataset;
}

void prepare_pictures(const DatasetInfo& info, const DataSpec& spec, const OnPrepared& on_progress) {
  const bool caches = spec.cache_in_use() != "none";
  if (!caches && spec.on_bad_example != "skip") return;
  const PictureList all = listed(info.name, info.source, spec, Reading::kNow, on_progress).list;
  if (!caches) return;
  try {
    decode(image_set_of(all, spec), spec, on_progress);
  } catch (const Error& error) {
    if (error.code() != ExitCode::kData || spec.stream) throw;
    throw Error(error.code(),
                std::string(error.what()) +
                    "; dtrain data check names all such pictures, and data.on_bad_example: skip "
                    "leaves them out");
  }
}

bool can_cache_pictures(const DatasetInfo& info, const DataSpec& spec) {
  const PictureList all = listed(info.name, info.source, spec, Reading::kBefore).list;
  return can_cache_images(image_set_of(all, spec), spec.cache_gigabytes);
}

int64_t picture_cache_bytes(const DatasetInfo& info, const DataSpec& spec) {
  int64_t images = info.train_examples + info.validation_examples + info.test_examples;
  if (!info.source.empty())
    images = std::ssize(listed(info.name, info.source, spec, Reading::kBefore).list.pictures);
  return image_block_bytes(images, info.example_shape[0] * info.example_shape[1] * info.example_shape[2]);
}

}  // namespace dtrain
