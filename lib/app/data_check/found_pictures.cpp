// A folder of pictures.
#include <fmt/format.h>

#include <algorithm>
#include <system_error>

#include "codecs/image_file.h"
#include "core/data_errors.h"
#include "core/text.h"
#include "data_check/found_data.h"
#include "images/image_set.h"
#include "pictures/archives.h"
#include "pictures/image_folder.h"
#include "pictures/parquet_pictures.h"
#include "yaml/problem.h"

namespace dtrain {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMostLookedAt = 200;
constexpr int64_t kLargestFirstSide = 128;   // pixels
constexpr int64_t kSmallestPhotograph = 32;  // pixels; smaller ones may be letters
constexpr int kMostSeeds = 1000;

std::string file_name(const fs::path& path) { return path.filename().string(); }

bool has_classes(const fs::path& folder) {
  return std::ranges::any_of(paths_in(folder), [](const fs::path& path) {
    std::error_code gone;
    return !is_left_out(file_name(path)) && fs::is_directory(path, gone) &&
           std::ranges::any_of(paths_in(path), is_picture_name, file_name);
  });
}

// What is known of some pictures from their headers.
struct Sizes {
  std::vector<std::pair<int64_t, int64_t>> sizes;  // height and width, upright
  int64_t grey = 0;
  int64_t unreadable = 0;
  int64_t nearly_black = 0;

  int64_t median_short_side() const {
    std::vector<int64_t> sides;
    for (const auto& [height, width] : sizes) sides.push_back(std::min(height, width));
    std::nth_element(sides.begin(), sides.begin() + std::ssize(sides) / 2, sides.end());
    return sides[sides.size() / 2];
  }
  bool all_same() const {
    return std::ranges::all_of(sizes, [this](const auto& size) { return size == sizes.front(); });
  }
};

Sizes look_at_sizes(const PictureList& all) {
  Sizes found;
  const size_t count = std::min(kMostLookedAt, all.pictures.size());
  for (size_t i = 0; i < count; ++i) {
    const ImageFile& file = all.pictures[i * all.pictures.size() / count].file;
    try {
      const std::string bytes = read_image_bytes(all.root, file);
      const ImageFacts facts = image_facts(bytes);
      if (facts.has_16_bits() && is_nearly_black(facts, decode_image_file(bytes))) ++found.nearly_black;
      found.sizes.emplace_back(facts.height, facts.width);
      if (facts.lies_on_its_side()) std::swap(found.sizes.back().first, found.sizes.back().second);
      if (facts.colours.substr(0, 4) == "grey") ++found.grey;
    } catch (const Error&) {
      ++found.unreadable;  // the run will say so, and dtrain data check
    }
  }
  if (found.sizes.empty())
    refuse_file(all.root, "none of the {} looked at can be read, such as {}",
                counted(found.unreadable, "picture"), title_of(all.root, all.pictures.front().file));
  return found;
}

// What the sizes of the pictures are, in words.
std::string sizes_text(const Sizes& found) {
  const auto [height, width] = found.sizes.front();
  const std::string looked = counted(std::ssize(found.sizes), "picture");
  if (found.all_same())
    return fmt::format("the {} looked at are all of {} x {} pixels", looked, height, width);
  const auto short_side = [](const auto& size) { return std::min(size.first, size.second); };
  const auto [least, most] =
      std::minmax_element(found.sizes.begin(), found.sizes.end(),
                          [&](const auto& a, const auto& b) { return short_side(a) < short_side(b); });
  return fmt::format("the short sides of the {} looked at are {} to {} pixels, half of them up to {}", looked,
                     short_side(*least), short_side(*most), found.median_short_side());
}

std::vector<int64_t> choose_size(FoundData& found, const Sizes& sizes) {
  const auto [height, width] = sizes.sizes.front();
  const std::string text = sizes_text(sizes);
  if (sizes.all_same() && std::max(height, width) <= kLargestFirstSide) {
    found.say("data.image.size", {height, width}, "height and width that the model gets: " + text);
    return {height, width};
  }
  int64_t side = std::min(sizes.median_short_side(), kLargestFirstSide);
  if (side >= 32) side = side / 16 * 16;
  const bool reduced = sizes.median_short_side() > kLargestFirstSide;
  found.say("data.image.size", {side, side},
            fmt::format(
                "height and width that the model gets; {}{}", text,
                reduced ? ". 128 is enough to tell most things apart, and quick; [224, 224] shows more, and "
                          "takes three times as long"
                        : ""));
  if (!sizes.all_same() || height != width)
    found.say("data.image.fit", "crop",
              "keeps proportions and cuts off what is over on two sides; pad keeps all and adds black bars; "
              "stretch keeps all and changes proportions");
  return {side, side};
}

using ListPictures = PictureList (*)(const fs::path& place, const DataSpec& spec);

// The pictures, with a part for the test drawn where they have none. Of few pictures a seed may draw none.
PictureList list_with_test_part(FoundData& found, const std::string& dataset) {
  const ListPictures list = dataset == "image_folder" ? list_image_folder : list_archives;
  DataSpec spec;
  spec.dataset = dataset;
  try {
    return divided(list(found.place, spec), spec);
  } catch (const FieldError& error) {
    if (error.field() != kTestField) throw;
  }
  spec.split.test = kFirstTestPart;
  for (;; ++spec.split.seed) {
    try {
      PictureList all = divided(list(found.place, spec), spec);
      found.say(kTestField, kFirstTestPart,
                std::string(kTestPartNote) +
                    "; the pictures' names decide which, so that a new one moves no other");
      if (spec.split.seed != SplitSpec().seed)
        found.say("data.split.seed", spec.split.seed, "another draw, with which each part has a picture");
      return all;
    } catch (const FieldError&) {
      if (spec.split.seed >= kMostSeeds) throw;
    }
  }
}

// Whether there is an archive, which may be the place itself.
bool has_archive(const fs::path& place) {
  const auto is_archive = [](const fs::path& path) {
    std::error_code gone;
    return is_archive_name(file_name(path)) && fs::is_regular_file(path, gone);
  };
  return is_archive(place) || std::ranges::any_of(paths_in(place), is_archive);
}

// Whether there is a Parquet file with pictures, which may be the place itself. The first one tells.
bool has_pictures_in_parquet(const fs::path& place) {
  std::error_code code;
  if (!fs::is_directory(place, code)) return has_picture_column(place);
  const std::vector<fs::path> paths = paths_in(place);
  const auto first =
      std::ranges::find_if(paths, [](const fs::path& path) { return path.extension() == ".parquet"; });
  return first != paths.end() && has_picture_column(*first);
}

// Each kind of pictures, as data.dataset names it, and in words.
std::pair<std::string, const char*> kind_of_pictures(const fs::path& place) {
  const auto has = [&](bool (*is_there)(const fs::path&)) {
    return is_there(place) || is_there(place / "train");
  };
  if (has(has_classes))
    return {"image_folder", "a folder of pictures for each class, which has the folder's name"};
  if (has(has_archive)) return {"tar", "pictures in archives: KEY.jpg, and KEY.cls with the class"};
  if (has(has_pictures_in_parquet))
    return {kImageParquet, "pictures in Parquet files, each with its class in another column"};
  return {};
}

}  // namespace

std::optional<FoundData> find_pictures(const fs::path& place) {
  const auto [dataset, note] = kind_of_pictures(place);
  if (dataset.empty()) return std::nullopt;
  FoundData found;
  found.place = place;
  const PictureList all = list_with_test_part(found, dataset);
  std::vector<int64_t> counts(all.classes.size());
  for (const ListedPicture& picture : all.pictures) ++counts[static_cast<size_t>(picture.label)];
  found.title =
      fmt::format("{} of {}: {}", counted(std::ssize(all.pictures), "picture"),
                  counted(std::ssize(all.classes), "class"), class_counts_text(all.classes, counts));
  found.say("data.dataset", dataset, note);
  const Sizes sizes = look_at_sizes(all);
  if (sizes.unreadable > 0)
    found.title += fmt::format("; {} looked at cannot be read: dtrain data check names all of them",
                               with_separators(sizes.unreadable));
  if (sizes.nearly_black > 0)
    found.title += fmt::format("; {} looked at are nearly black: dtrain data check says why",
                               with_separators(sizes.nearly_black));
  if (!all.left_out.empty()) found.title += "; " + left_out_text(all.left_out);
  const std::vector<int64_t> size = choose_size(found, sizes);
  const bool grey = sizes.grey == std::ssize(sizes.sizes);
  if (grey)
    found.say("data.image.channels", 1, "1: the pictures looked at are all grey; 3: red, green and blue");
  if (!grey && std::min(size[0], size[1]) >= kSmallestPhotograph)
    found.say("data.augment", {"flip"},
              "mirrors half of the training pictures, other ones in every epoch, which gives more to learn "
              "from. Leave it out if left and right matter, as in writing");
  DatasetInfo info;
  info.example_shape = {grey ? 1 : 3, size[0], size[1]};
  info.classes = std::ssize(all.classes);
  info.train_examples = std::ssize(all.train);
  choose_model(found, info);
  found.say("train.loss.kind", "cross_entropy", "for classes, one for each picture");
  note_imbalance(found, counts);
  return found;
}

}  // namespace dtrain
