#include "data/image_folder.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <system_error>
#include <thread>

#include "core/checksum.h"
#include "core/error.h"
#include "core/files.h"
#include "core/random.h"
#include "core/text.h"
#include "data/image_source.h"
#include "data/memory_source.h"
#include "data/split.h"
#include "images/image_cache.h"
#include "spec/field_error.h"
#include "yaml/yaml_tree.h"

namespace dtrain {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMostFolderClasses = 10'000;  // data.class_names has no room for more
constexpr std::array kPictures = {".jpg", ".jpeg", ".png", ".webp", ".ppm", ".pgm"};

[[noreturn]] void refuse_path(const fs::path& path, const std::string& fault) {
  throw Error(ExitCode::kData, printable(path.string(), 1000) + ": " + fault);
}

struct NamedEntry {
  std::string name;
  bool is_folder = false;
};

// What is in a folder, by name, without hidden files and folders. Links are followed.
std::vector<NamedEntry> entries_in(const fs::path& folder) {
  std::error_code code;
  const auto check = [&code](const fs::path& path) {
    if (!code) return;
    throw Error(file_failure_code(code.value(), ExitCode::kData),
                fmt::format("{}: cannot be read: {}", printable(path.string(), 1000), code.message()));
  };
  std::vector<NamedEntry> found;
  for (fs::directory_iterator entry(folder, code), end; !code && entry != end; entry.increment(code)) {
    const std::string name = entry->path().filename().string();
    size_t at = 0;
    if (is_left_out(name)) continue;
    if (!is_clean_text(name, at) || name.find_first_of("\t\r\n") != std::string::npos)
      refuse_path(entry->path(), "its name is not UTF-8 text; rename it");
    found.push_back({name, entry->is_directory(code)});
    check(entry->path());
  }
  check(folder);
  std::sort(found.begin(), found.end(),
            [](const NamedEntry& one, const NamedEntry& other) { return one.name < other.name; });
  return found;
}

std::vector<std::string> folders_in(const fs::path& folder) {
  std::vector<std::string> names;
  for (const NamedEntry& entry : entries_in(folder)) {
    if (entry.is_folder) names.push_back(entry.name);
  }
  return names;
}

bool contains(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

void require_same_classes(const ImageFolder& all, const std::string& part,
                          const std::vector<std::string>& found) {
  for (const std::string& name : found) {
    if (!contains(all.classes, name))
      refuse_path(all.root / part / name, "no such class in train/; every part has the same classes");
  }
  for (const std::string& name : all.classes) {
    if (!contains(found, name))
      refuse_path(all.root / part, fmt::format("has no folder for the class '{}' of train/", name));
  }
}

// Adds the pictures of every class below `part` ("" is the folder itself), and returns their indices.
std::vector<int64_t> add_part(ImageFolder& all, const std::string& part) {
  std::vector<int64_t> indices;
  for (size_t label = 0; label < all.classes.size(); ++label) {
    const fs::path below = fs::path(part) / all.classes[label];
    const size_t before = indices.size();
    for (const NamedEntry& entry : entries_in(all.root / below)) {
      if (entry.is_folder)
        refuse_path(all.root / below / entry.name,
                    "a folder inside of a class; a class has its pictures directly");
      if (!is_picture_name(entry.name)) continue;
      indices.push_back(std::ssize(all.images));
      all.images.push_back({(below / entry.name).string(), static_cast<int64_t>(label)});
    }
    if (indices.size() == before)
      refuse_path(all.root / below, "a class without pictures (.jpg, .jpeg, .png, .webp, .ppm, .pgm)");
  }
  return indices;
}

// Numbers that the path and the seed decide: one for the order, one for the part.
enum class Draw : uint64_t { kOrder, kTest, kValidation };

uint64_t drawn(const FolderImage& image, int64_t seed, Draw draw) {
  const uint64_t start =
      derive_seed(static_cast<uint64_t>(seed), SeedPurpose::kSplit, static_cast<uint64_t>(draw));
  Checksum sum;
  sum.add(&start, sizeof start);
  sum.add(image.path.data(), image.path.size());
  return sum.number();
}

class Division {
 public:
  Division(ImageFolder& all, const DataSpec& spec) : all_(all), spec_(spec) {}

  // Moves the part of `from` that is drawn into a part of its own.
  std::vector<int64_t> take(std::vector<int64_t>& from, double part, Draw draw,
                            const std::string& field) const {
    const auto stays = [&](int64_t index) {
      const uint64_t number = drawn(image(index), spec_.split.seed, draw);
      return static_cast<double>(number) >= part * 0x1p64;
    };
    const auto taken = std::stable_partition(from.begin(), from.end(), stays);
    std::vector<int64_t> moved(taken, from.end());
    from.erase(taken, from.end());
    if (moved.empty() || from.empty())
      throw FieldError(field,
                       fmt::format("takes {} of {}; each part needs one at least: use another part or "
                                   "data.split.seed",
                                   moved.size(), counted(std::ssize(moved) + std::ssize(from), "picture")));
    return moved;
  }

  // Mixes a part, and keeps the first `limit`.
  void mix(std::vector<int64_t>& part, const std::optional<int64_t>& limit, const std::string& field) const {
    std::vector<std::pair<uint64_t, int64_t>> order;
    for (const int64_t index : part)
      order.emplace_back(drawn(image(index), spec_.split.seed, Draw::kOrder), index);
    std::sort(order.begin(), order.end());
    if (limit && *limit > std::ssize(order))
      throw FieldError(field, fmt::format("{} is more than the {} pictures in {}", *limit, order.size(),
                                          printable(all_.root.string(), 1000)));
    order.resize(static_cast<size_t>(limit.value_or(std::ssize(order))));
    std::transform(order.begin(), order.end(), part.begin(), [](const auto& drawn) { return drawn.second; });
    part.resize(order.size());
  }

 private:
  const FolderImage& image(int64_t index) const { return all_.images[static_cast<size_t>(index)]; }

  ImageFolder& all_;
  const DataSpec& spec_;
};

constexpr const char* kTestField = "data.split.test";
constexpr const char* kValidationField = "data.split.validation";

// A part that has a folder is not drawn too.
void refuse_both(const fs::path& folder, const char* field, bool is_drawn) {
  if (!is_drawn) return;
  throw FieldError(field,
                   fmt::format("{} is there, which is that part; leave the field out, or put all pictures "
                               "into train/",
                               printable(folder.string(), 1000)));
}

// Lists train/, test/ and validation/.
void list_parts(ImageFolder& all, const std::vector<std::string>& parts, const SplitSpec& split) {
  for (const std::string& name : parts) {
    if (name != "train" && name != "test" && name != "validation")
      refuse_path(all.root / name, "beside train/ only test/ and validation/ are known; rename or move it");
  }
  all.classes = folders_in(all.root / "train");
  all.train = add_part(all, "train");
  const auto add = [&](const char* name, const char* field, bool is_drawn) {
    if (!contains(parts, name)) return std::vector<int64_t>();
    refuse_both(all.root / name, field, is_drawn);
    require_same_classes(all, name, folders_in(all.root / name));
    return add_part(all, name);
  };
  all.test = add("test", kTestField, split.test.has_value());
  all.validation = add("validation", kValidationField, split.validation.has_value());
}

void check_classes(const ImageFolder& all, const DataSpec& spec) {
  const std::string place = printable(all.root.string(), 1000);
  if (all.classes.size() < 2)
    refuse_path(all.root,
                fmt::format("{} found; an image_folder has a folder for each of two or more classes, or "
                            "such folders in train/ and test/",
                            counted(std::ssize(all.classes), "class folder")));
  if (all.classes.size() > kMostFolderClasses)
    refuse_path(all.root,
                fmt::format("{} folders of classes, where {} can be read",
                            with_separators(std::ssize(all.classes)), with_separators(kMostFolderClasses)));
  if (!spec.class_names.empty() && spec.class_names != all.classes)
    refuse_path(all.root, fmt::format("its classes are {}; the job's (data.class_names) are {}",
                                      printable(join(all.classes)), printable(join(spec.class_names))));
  if (spec.classes && *spec.classes != std::ssize(all.classes))
    throw FieldError("data.classes", fmt::format("is {}, and {} has {}", *spec.classes, place,
                                                 counted(std::ssize(all.classes), "class folder")));
}

}  // namespace

bool is_picture_name(const std::string& name) {
  std::string extension = fs::path(name).extension().string();
  for (char& c : extension) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return std::find(kPictures.begin(), kPictures.end(), extension) != kPictures.end();
}

bool is_left_out(const std::string& name) { return name.starts_with('.') || name == "__MACOSX"; }

ImageFolder list_image_folder(const fs::path& folder, const DataSpec& spec) {
  ImageFolder all;
  all.root = folder;
  const std::vector<std::string> found = folders_in(folder);
  if (contains(found, "train")) {
    list_parts(all, found, spec.split);
  } else {
    if (contains(found, "test"))
      refuse_path(folder, "has test/, but no train/; a folder of parts has both, one of classes neither");
    all.classes = found;
    all.train = add_part(all, "");
  }
  check_classes(all, spec);
  const Division division(all, spec);
  if (spec.split.test) all.test = division.take(all.train, *spec.split.test, Draw::kTest, kTestField);
  if (all.test.empty())
    throw FieldError(kTestField,
                     fmt::format("missing; {} has no test/: give the part of the pictures to keep for "
                                 "the test, such as 0.2",
                                 printable(folder.string(), 1000)));
  division.mix(all.train, spec.train_examples, "data.train_examples");
  division.mix(all.test, spec.test_examples, "data.test_examples");
  if (spec.split.validation)
    all.validation = division.take(all.train, *spec.split.validation, Draw::kValidation, kValidationField);
  division.mix(all.validation, std::nullopt, kValidationField);
  return all;
}

std::optional<DatasetInfo> find_image_folder(const fs::path& folder, const DataSpec& spec) {
  std::error_code none;
  if (!fs::is_directory(folder, none)) return std::nullopt;
  const ImageFolder all = list_image_folder(folder, spec);
  DatasetInfo info;
  info.source = folder.string();
  info.image_shape = {spec.image.channels, spec.image.size.at(0), spec.image.size.at(1)};
  info.classes = std::ssize(all.classes);
  info.class_names = all.classes;
  info.train_examples = std::ssize(all.train);
  info.validation_examples = std::ssize(all.validation);
  info.test_examples = std::ssize(all.test);
  return info;
}

namespace {

// All pictures, whatever the job uses of them: jobs with other parts then share one file of the cache.
ImageSet image_set_of(const ImageFolder& all, const DatasetInfo& info, const DataSpec& spec) {
  ImageSet set{.root = all.root, .files = {}, .shape = info.image_shape, .fit = fit_of(spec.image.fit)};
  for (const FolderImage& image : all.images) set.files.push_back(image.path);
  return set;
}

ImageCacheOptions cache_options(const DataSpec& spec) {
  return {.most_gigabytes = spec.cache_gigabytes,
          .threads = std::max<int64_t>(1, std::thread::hardware_concurrency())};
}

}  // namespace

Dataset load_image_folder(const DatasetInfo& info, const DataSpec& spec) {
  ImageFolder all = list_image_folder(info.source, spec);
  ImageSet set = image_set_of(all, info, spec);
  at::Tensor labels = at::empty({std::ssize(all.images)}, at::kLong);
  std::transform(all.images.begin(), all.images.end(), labels.mutable_data_ptr<int64_t>(),
                 [](const FolderImage& image) { return image.label; });
  const ExampleSourcePtr images = spec.cache == "none"
                                      ? make_image_source(std::move(set), labels)
                                      : make_memory_source({cached_images(set, cache_options(spec)), labels});
  Dataset dataset{info, make_selection(images, std::move(all.train)),
                  make_selection(images, std::move(all.test))};
  if (!all.validation.empty()) dataset.validation = make_selection(images, std::move(all.validation));
  return dataset;
}

void prepare_image_folder(const DatasetInfo& info, const DataSpec& spec, const OnPrepared& on_progress) {
  if (spec.cache == "none") return;
  ImageCacheOptions options = cache_options(spec);
  options.on_progress = on_progress;
  cached_images(image_set_of(list_image_folder(info.source, spec), info, spec), options);
}

int64_t image_folder_cache_bytes(const DatasetInfo& info, const DataSpec& spec) {
  int64_t images = info.train_examples + info.validation_examples + info.test_examples;
  if (!info.source.empty()) images = std::ssize(list_image_folder(info.source, spec).images);
  return image_cache_bytes(images, info.image_shape[0] * info.image_shape[1] * info.image_shape[2]);
}

}  // namespace dtrain
