#include "pictures/picture_list.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <numeric>
#include <optional>
#include <utility>

#include "codecs/image_file.h"
#include "core/checksum.h"
#include "core/data_errors.h"
#include "core/patterns.h"
#include "core/random.h"
#include "core/text.h"
#include "pictures/archives.h"
#include "yaml/problem.h"
#include "yaml/yaml_tree.h"

namespace dtrain {
namespace {

namespace fs = std::filesystem;

int64_t files_of(const EndingCounts& counts) {
  return std::accumulate(counts.begin(), counts.end(), int64_t{0},
                         [](int64_t sum, const auto& ending) { return sum + ending.second; });
}

// Numbers that the path and the seed decide: one for the order, one for the part.
enum class Draw : uint64_t { kOrder, kTest, kValidation };

uint64_t drawn(const std::string& name, int64_t seed, Draw draw) {
  const uint64_t start =
      derive_seed(static_cast<uint64_t>(seed), SeedPurpose::kSplit, static_cast<uint64_t>(draw));
  Checksum sum(&start, sizeof start);
  sum.add(name.data(), name.size());
  return sum.number();
}

// Packing an archive moves no picture.
std::string name_of(const ImageFile& file) {
  return file.member.empty() ? file.path : unpacked_name(file.path) + file.member;
}

class Division {
 public:
  Division(const PictureList& all, const DataSpec& spec) : all_(all), spec_(spec) {
    if (spec.split.group) group_ = std::make_unique<Pattern>(*spec.split.group);
  }

  // Moves the part of `from` that is drawn into a part of its own.
  std::vector<int64_t> take(std::vector<int64_t>& from, double part, Draw draw,
                            const std::string& field) const {
    std::vector<bool> moves(all_.pictures.size());
    if (spec_.split.stratify || group_) {
      for (const int64_t index : drawn_together(from, part, draw)) moves[static_cast<size_t>(index)] = true;
    } else {
      for (const int64_t index : from)
        moves[static_cast<size_t>(index)] =
            static_cast<double>(drawn(key_of(index, draw), spec_.split.seed, draw)) < part * 0x1p64;
    }
    return moved(from, moves, field);
  }

  std::vector<int64_t> take_fold(std::vector<int64_t>& from) const {
    const SplitSpec& split = spec_.split;
    const std::vector<int64_t> order = in_order(from, Draw::kValidation);
    const std::vector<int64_t> numbers =
        group_ || split.stratify ? numbers_of(from, Draw::kValidation) : std::vector<int64_t>();
    std::vector<bool> moves(all_.pictures.size());
    for (const int64_t index : group_ ? fold_of_groups(order, numbers, *split.folds, split.fold)
                                      : fold_of(order, numbers, *split.folds, split.fold))
      moves[static_cast<size_t>(index)] = true;
    if (std::find(moves.begin(), moves.end(), true) == moves.end())
      throw FieldError(kFoldsField, kTooManyFolds);
    return moved(from, moves, kFoldsField);
  }

  // Mixes a part, and keeps the first `limit`.
  void mix(std::vector<int64_t>& part, const std::optional<int64_t>& limit, const std::string& field) const {
    if (!all_.is_mixed) part = in_order(part, Draw::kOrder);
    if (limit && *limit > std::ssize(part))
      throw FieldError(field, "{} is more than the {} pictures in {}", *limit, part.size(),
                       printable(all_.root.string(), 1000));
    part.resize(static_cast<size_t>(limit.value_or(std::ssize(part))));
  }

 private:
  static std::vector<int64_t> moved(std::vector<int64_t>& from, const std::vector<bool>& moves,
                                    const std::string& field) {
    const auto taken = std::stable_partition(
        from.begin(), from.end(), [&](int64_t index) { return !moves[static_cast<size_t>(index)]; });
    std::vector<int64_t> part(taken, from.end());
    from.erase(taken, from.end());
    if (part.empty() || from.empty())
      throw FieldError(field,
                       "takes {} of {}; each part needs one at least: use another part or data.split.seed",
                       part.size(), counted(std::ssize(part) + std::ssize(from), "picture"));
    return part;
  }

  const ImageFile& file(int64_t index) const { return all_.pictures[static_cast<size_t>(index)].file; }

  // What of a picture decides its part.
  std::string key_of(int64_t index, Draw draw) const {
    if (!group_ || draw == Draw::kOrder) return name_of(file(index));
    const std::string name =
        fs::path(file(index).member.empty() ? file(index).path : file(index).member).filename().string();
    const auto found = group_->search(name);
    const std::string group = found ? found->at(found->size() > 1 ? 1 : 0).text : "";
    if (group.empty())
      refuse_file(all_.root / title_of({}, file(index)),
                  "data.split.group, '{}', finds no group in its name; rename it, or use another pattern",
                  printable(*spec_.split.group));
    return group;
  }

  std::vector<int64_t> in_order(const std::vector<int64_t>& part, Draw draw) const {
    std::vector<std::pair<uint64_t, int64_t>> order;
    for (const int64_t index : part)
      order.emplace_back(drawn(key_of(index, draw), spec_.split.seed, draw), index);
    std::sort(order.begin(), order.end());
    std::vector<int64_t> indices;
    for (const auto& [number, index] : order) indices.push_back(index);
    return indices;
  }

  // The group or else the class of each of `from`.
  std::vector<int64_t> numbers_of(const std::vector<int64_t>& from, Draw draw) const {
    std::map<std::string, int64_t> known;  // groups
    std::vector<int64_t> numbers(all_.pictures.size());
    for (const int64_t index : from)
      numbers[static_cast<size_t>(index)] =
          group_ ? known.emplace(key_of(index, draw), std::ssize(known)).first->second
                 : all_.pictures[static_cast<size_t>(index)].label;
    return numbers;
  }

  // In proportion of the classes, or in groups: the part depends on which other pictures there are.
  std::vector<int64_t> drawn_together(const std::vector<int64_t>& from, double part, Draw draw) const {
    const std::vector<int64_t> numbers = numbers_of(from, draw);
    const int64_t count = size_of_part(part, std::ssize(from));
    if (count >= std::ssize(from)) return from;
    return first_of_part(in_order(from, draw), numbers, group_ != nullptr, count, "picture");
  }

  const PictureList& all_;
  const DataSpec& spec_;
  std::unique_ptr<const Pattern> group_;  // null: every picture is its own
};

// For a class of a part of which no picture can be read, such as `lost`.
[[noreturn]] void refuse_lost_class(const PictureList& all, size_t label, int64_t lost,
                                    const BadImages& bad) {
  const auto one = std::ranges::lower_bound(bad, lost, {}, &BadImage::index);
  refuse_file(all.root, "no picture of the class '{}' can be read; {}: {}", printable(all.classes[label]),
              title_of({}, all.pictures[static_cast<size_t>(lost)].file), one->fault);
}

}  // namespace

std::string ending_of(const std::string& name) { return in_lower_case(fs::path(name).extension().string()); }

bool is_left_out(const std::string& name) {
  return name.starts_with('.') || name == "__MACOSX" || name == "Thumbs.db" || name == "desktop.ini";
}

std::string picture_endings() { return join(image_endings()); }

bool is_picture_name(const std::string& name) { return contains(image_endings(), ending_of(name)); }

bool is_plain_text(const std::string& text) {
  size_t at = 0;
  return !text.empty() && is_clean_text(text, at) &&
         std::none_of(text.begin(), text.end(), [](unsigned char c) { return c < 0x20 || c == 0x7f; });
}

void count_ending(const std::string& name, EndingCounts& counts) { ++counts[ending_of(name)]; }

std::string endings_text(const EndingCounts& counts) {
  std::vector<std::string> texts;
  for (const auto& [ending, count] : counts)
    texts.push_back(fmt::format("{} {}", with_separators(count),
                                ending.empty() ? "without an ending" : printable(ending, 30)));
  return join(texts);
}

std::string left_out_text(const EndingCounts& left_out) {
  const int64_t count = files_of(left_out);
  return fmt::format("{} {} left out: {}; dtrain reads {}", counted(count, "file"), count == 1 ? "is" : "are",
                     endings_text(left_out), picture_endings());
}

void require_mostly_pictures(const PictureList& all) {
  if (files_of(all.left_out) <= std::ssize(all.pictures)) return;
  refuse_file(all.root,
              "most of its files cannot be read: there {} {}, and {}; convert them to PNG or JPEG, or move "
              "them elsewhere",
              all.pictures.size() == 1 ? "is" : "are", counted(std::ssize(all.pictures), "picture"),
              left_out_text(all.left_out));
}

void refuse_both(const fs::path& folder, const char* field, bool is_drawn) {
  if (!is_drawn) return;
  throw FieldError(field,
                   "{} is there, which is that part; leave the field out, or put all pictures into train/",
                   printable(folder.string(), 1000));
}

std::vector<int64_t> first_of_part(const std::vector<int64_t>& order, const std::vector<int64_t>& numbers,
                                   bool are_groups, int64_t count, const char* noun) {
  std::vector<int64_t> taken =
      are_groups ? first_whole_groups(order, numbers, count) : first_of_each_class(order, numbers, count);
  if (taken.empty() && are_groups)
    throw FieldError("data.split.group", "finds a single group in {}, and each part needs one of its own",
                     counted(std::ssize(order), noun));
  if (std::ssize(taken) < count && !are_groups)
    throw FieldError("data.split.stratify",
                     "can keep only {} of {} {}s: the last one of a class stays in training, and too many "
                     "classes have a single one; leave it out, or use a smaller part",
                     taken.size(), count, noun);
  return taken;
}

PictureList without(const PictureList& all, const BadImages& bad) {
  PictureList left{
      .root = all.root, .classes = all.classes, .is_mixed = all.is_mixed, .left_out = all.left_out};
  std::vector<int64_t> places(all.pictures.size(), -1);  // in left.pictures; -1: it is left out
  for (const int64_t index : places_without(std::ssize(all.pictures), bad)) {
    places[static_cast<size_t>(index)] = std::ssize(left.pictures);
    left.pictures.push_back(all.pictures[static_cast<size_t>(index)]);
  }
  for (const auto part : {&PictureList::train, &PictureList::validation, &PictureList::test}) {
    std::vector<int64_t> lost(all.classes.size(), -1);  // by class: the first that is left out
    std::vector<bool> has(all.classes.size());          // whether there is another one
    for (const int64_t index : all.*part) {
      const auto label = static_cast<size_t>(all.pictures[static_cast<size_t>(index)].label);
      const int64_t place = places[static_cast<size_t>(index)];
      if (place < 0 && lost[label] < 0) lost[label] = index;
      if (place < 0) continue;
      has[label] = true;
      (left.*part).push_back(place);
    }
    for (size_t label = 0; label < lost.size(); ++label) {
      if (lost[label] >= 0 && !has[label]) refuse_lost_class(all, label, lost[label], bad);
    }
  }
  return left;
}

PictureList divided(PictureList all, const DataSpec& spec) {
  const Division division(all, spec);
  if (spec.split.test) all.test = division.take(all.train, *spec.split.test, Draw::kTest, kTestField);
  if (all.test.empty())
    throw FieldError(
        kTestField,
        "missing; {} has no test part: give the part of the pictures to keep for the test, such as 0.2",
        printable(all.root.string(), 1000));
  division.mix(all.train, spec.train_examples, "data.train_examples");
  division.mix(all.test, spec.test_examples, "data.test_examples");
  if (spec.split.validation)
    all.validation = division.take(all.train, *spec.split.validation, Draw::kValidation, kValidationField);
  if (spec.split.folds) all.validation = division.take_fold(all.train);
  division.mix(all.validation, std::nullopt, kValidationField);
  return all;
}

void check_picture_classes(const PictureList& all, const DataSpec& spec) {
  if (all.classes.size() > kMostPictureClasses)
    refuse_file(all.root, "{} classes, where {} can be read", with_separators(std::ssize(all.classes)),
                with_separators(kMostPictureClasses));
  if (!spec.class_names.empty() && spec.class_names != all.classes)
    refuse_file(all.root, "its classes are {}; the job's (data.class_names) are {}",
                printable(join(all.classes)), printable(join(spec.class_names)));
  if (spec.classes && *spec.classes != std::ssize(all.classes))
    throw FieldError("data.classes", "is {}, and {} has {}", *spec.classes,
                     printable(all.root.string(), 1000), counted(std::ssize(all.classes), "class"));
}

}  // namespace dtrain
