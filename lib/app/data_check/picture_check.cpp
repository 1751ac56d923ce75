// Checks pictures, each in a file.
#include <algorithm>
#include <mutex>

#include "codecs/image_file.h"
#include "core/checksum.h"
#include "core/error.h"
#include "data_check/data_check.h"
#include "images/fit.h"

namespace dtrain {
namespace {

// The facts about a picture that the check keeps.
struct SeenPicture {
  uint64_t content = 0;
  Look look;
  int64_t width = 0, height = 0;  // upright; 0: it cannot be read
};

SizeRange range_of(std::vector<int64_t> sides) {
  if (sides.empty()) return {};
  std::ranges::sort(sides);
  return {sides.front(), sides[sides.size() / 2], sides.back()};
}

class PictureChecker {
 public:
  PictureChecker(DataCheck& check, const PictureList& list, const ImageSpec& image)
      : check_(check),
        list_(list),
        shape_{image.channels, image.size.at(0), image.size.at(1)},
        fit_(fit_of(image.fit)) {
    seen_.resize(list.pictures.size());
  }

  void look_at(size_t at) {
    const ImageFile& file = list_.pictures[at].file;
    try {
      const std::string bytes = read_image_bytes(list_.root, file);
      const ImageFacts facts = image_facts(bytes);
      const at::Tensor image = decode_image_file(bytes);
      seen_[at] = {Checksum(bytes.data(), bytes.size()).number(), look_of(image), image.size(3),
                   image.size(2)};
      require_croppable(image.size(2), image.size(3), shape_, fit_);
      const std::lock_guard lock(mutex_);
      if (facts.colours != "colour") check_.odd_colours[facts.colours].push_back(at);
      if (facts.orientation != 1) check_.turned.push_back(at);
      if (facts.other_colours) check_.other_colours.push_back(at);
      if (is_nearly_black(facts, image)) check_.nearly_black.push_back(at);
    } catch (const Error& error) {
      if (error.code() != ExitCode::kData) throw;
      const std::lock_guard lock(mutex_);
      check_.broken.push_back({at, fault_of(error, title_of(list_.root, file))});
    }
  }

  void finish() {
    std::sort(
        check_.broken.begin(), check_.broken.end(),
        [](const BrokenExample& one, const BrokenExample& other) { return one.example < other.example; });
    std::ranges::sort(check_.turned);
    std::ranges::sort(check_.nearly_black);
    std::ranges::sort(check_.other_colours);
    for (auto& [colours, pictures] : check_.odd_colours) std::ranges::sort(pictures);
    std::vector<bool> readable;
    std::vector<uint64_t> contents;
    std::vector<Look> looks;
    std::vector<int64_t> widths, heights;
    for (const SeenPicture& picture : seen_) {
      readable.push_back(picture.width > 0);
      contents.push_back(picture.content);
      looks.push_back(picture.look);
      if (picture.width == 0) continue;
      widths.push_back(picture.width);
      heights.push_back(picture.height);
    }
    check_.widths = range_of(std::move(widths));
    check_.heights = range_of(std::move(heights));
    check_.same = find_copies(contents, readable);
    for (SameExamples& group : find_alike(looks, contents, readable)) check_.same.push_back(std::move(group));
  }

 private:
  DataCheck& check_;
  const PictureList& list_;
  const std::vector<int64_t> shape_;  // that the model takes
  const Fit fit_;
  std::vector<SeenPicture> seen_;
  std::mutex mutex_;  // for what all threads add to
};

}  // namespace

void check_pictures(DataCheck& check, const PictureList& list, const DataSpec& spec, int64_t threads,
                    const OnPrepared& on_progress) {
  check.root = list.root;
  check.left_out = list.left_out;
  for (const ListedPicture& picture : list.pictures) {
    check.files.push_back(picture.file);
    check.examples.push_back({DataPart::kUnused, picture.label, -1});
  }
  const auto put = [&](const std::vector<int64_t>& pictures, DataPart part) {
    for (const int64_t picture : pictures) check.examples[static_cast<size_t>(picture)].part = part;
  };
  put(list.train, DataPart::kTrain);
  put(list.validation, DataPart::kValidation);
  put(list.test, DataPart::kTest);
  PictureChecker checker(check, list, spec.image);
  std::mutex mutex;
  int64_t done = 0;
  for_each_image(std::ssize(list.pictures), threads, [&](int64_t at) {
    checker.look_at(static_cast<size_t>(at));
    if (!on_progress) return;
    const std::lock_guard lock(mutex);
    on_progress(++done, std::ssize(list.pictures));
  });
  checker.finish();
}

}  // namespace dtrain
