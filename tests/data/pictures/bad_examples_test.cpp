// Pictures that cannot be read, and are left out.
#include <ATen/ATen.h>
#include <sys/stat.h>

#include "catch.h"
#include "data/dataset.h"
#include "data/picture_dataset.h"
#include "data/picture_files.h"
#include "images/image_cache.h"

namespace dtrain {
namespace {

using namespace test;
namespace fs = std::filesystem;

// 62 pictures, of which five cannot be read, each for another reason.
struct SomeBad : Pictures {
  const std::vector<fs::path> bad = {folder / "daisy" / "picture 203.png", folder / "rose" / "a link.jpg",
                                     folder / "rose" / "loop.png", folder / "rose" / "picture 310.png",
                                     folder / "tulip" / "picture 119.png"};

  SomeBad() {
    write_three_classes();
    write_file(bad[0], "");
    fs::create_symlink("nowhere", bad[1]);
    fs::create_symlink("loop.png", bad[2]);
    fs::resize_file(bad[3], 60);
    fs::remove(bad[4]);
    REQUIRE(::mkfifo(bad[4].c_str(), 0600) == 0);
    spec.split = {.validation = 0.25, .test = 0.3, .seed = 3};
    spec.on_bad_example = "skip";
  }
  void remove_bad() const {
    for (const fs::path& path : bad) fs::remove(path);
  }
  // How many pictures are decoded now.
  int64_t prepare() const {
    int64_t decoded = 0;
    prepare_dataset(find_dataset(spec), spec, [&](int64_t done, int64_t) { decoded = done; });
    return decoded;
  }
};

// Labels and pixels of each part.
std::vector<StoredExamples> parts_of(const DataSpec& spec) {
  const Dataset dataset = load_dataset(spec, 1);
  CHECK(dataset.info.train_examples == dataset.train->size());
  CHECK(dataset.info.validation_examples == dataset.validation->size());
  CHECK(dataset.info.test_examples == dataset.test->size());
  return {all_of(*dataset.train), all_of(*dataset.validation), all_of(*dataset.test)};
}

TEST_CASE("what cannot be read is left out as if it was not there, cached or not, and is read once") {
  SomeBad pictures;
  pictures.spec.cache = GENERATE("disk", "none");
  const DatasetInfo before = find_dataset(pictures.spec);
  CHECK_FALSE(before.bad.known);
  CHECK(before.train_examples + before.validation_examples + before.test_examples == 62);
  CHECK(pictures.prepare() == 62);
  const DatasetInfo known = find_dataset(pictures.spec);
  CHECK(known.bad.known);
  CHECK(known.bad.count == 5);
  CHECK(known.train_examples + known.validation_examples + known.test_examples == 57);
  CHECK_THAT(bad_examples_text(known.bad),
             ContainsSubstring("5 pictures cannot be read: daisy/picture 203.png: the file is empty; "
                               "rose/a link.jpg: cannot open: No such file or directory; "
                               "rose/loop.png: cannot open: ") &&
                 ContainsSubstring("; and 2 more"));
  CHECK(pictures.prepare() == 0);
  const std::vector<StoredExamples> parts = parts_of(pictures.spec);

  pictures.spec.split.seed = 9;  // other parts of the same pictures
  CHECK(pictures.prepare() == 0);
  pictures.spec.split.seed = 3;
  pictures.remove_bad();
  pictures.spec.on_bad_example = "error";
  CHECK(pictures.prepare() == 0);  // what is in the cache is just what is left
  const std::vector<StoredExamples> others = parts_of(pictures.spec);
  for (size_t part = 0; part < parts.size(); ++part) {
    CHECK(at::equal(parts[part].inputs, others[part].inputs));
    CHECK(at::equal(parts[part].targets, others[part].targets));
  }
}

TEST_CASE("a bad picture is an error where it is not to be left out, or where there are too many") {
  SomeBad pictures;
  pictures.spec.bad_examples_allowed = 4;
  const auto error = [&] { return error_of([&] { pictures.prepare(); }); };
  const std::string too_many = error();
  CHECK_THAT(too_many, ContainsSubstring("pictures: 5 pictures cannot be read: daisy/picture 203.png: ") &&
                           ContainsSubstring("; data.bad_examples_allowed is 4: mend or remove them"));
  CHECK(find_dataset(pictures.spec).bad.count == 5);  // so that a plan can say so
  CHECK(error() == too_many);
  CHECK(error_of([&] { load_dataset(pictures.spec, 1); }) == too_many);
  pictures.spec.bad_examples_allowed = 5;
  CHECK(error() == "no error");

  pictures.spec.on_bad_example = "error";
  CHECK(find_dataset(pictures.spec).test_examples > 0);
  CHECK_THAT(error(), ContainsSubstring("data.on_bad_example: skip leaves them out"));
  pictures.spec.on_bad_example = "skip";
  pictures.spec.train_examples = 15;  // of those that can be read
  CHECK(load_dataset(pictures.spec, 1).info.train_examples +
            load_dataset(pictures.spec, 1).info.validation_examples ==
        15);
}

TEST_CASE("a picture that is too long to be scaled before it is cut is a bad one") {
  Pictures pictures;
  pictures.write_three_classes("", 4);
  pictures.spec.image.size = {65, 65};
  pictures.spec.image.fit = "crop";
  pictures.spec.cache = "none";
  pictures.spec.split.test = 0.5;
  write_file(pictures.folder / "rose" / "long.png", png_of_rows({std::string(16'384, 'x')}, 16'384, 8, 0));
  const auto find_bad = [&] {
    prepare_dataset(find_dataset(pictures.spec), pictures.spec, [](int64_t, int64_t) {});
    return find_dataset(pictures.spec).bad;
  };
  pictures.spec.on_bad_example = "skip";
  const BadExamples bad = find_bad();
  CHECK(bad.count == 1);
  CHECK_THAT(bad_examples_text(bad),
             ContainsSubstring("rose/long.png: 16384 x 1 pixels, which data.image.fit: crop scales to "
                               "1064960 x 65, more than 67,108,864 pixels; cut it, or use pad or stretch"));
  pictures.spec.image.fit = GENERATE("pad", "stretch");
  CHECK(find_bad().count == 0);
}

TEST_CASE("a class of which no picture can be read is an error, in each part") {
  Pictures pictures;
  pictures.spec.on_bad_example = "skip";
  pictures.write_three_classes("train", 3);
  pictures.write_three_classes("test", 2);
  pictures.spec.cache = GENERATE("disk", "none");
  CHECK(load_dataset(pictures.spec, 1).test->size() == 6);
  write_file(pictures.folder / "test" / "rose" / "picture 1300.png", "");
  CHECK(load_dataset(pictures.spec, 1).test->size() == 5);
  write_file(pictures.folder / "test" / "rose" / "picture 1301.png", "GIF89a");
  CHECK_THAT(error_of([&] { load_dataset(pictures.spec, 1); }),
             ContainsSubstring("pictures: no picture of the class 'rose' can be read; test/rose/picture "
                               "1300.png: the file is empty"));
}

TEST_CASE("a picture that breaks after the pictures were read is an error, and found by the next reading") {
  SomeBad pictures;
  pictures.spec.cache = "none";
  const Dataset dataset = load_dataset(pictures.spec, 1);
  const PictureList list = list_pictures(dataset.info, pictures.spec);
  const fs::path breaks = pictures.folder / list.pictures[static_cast<size_t>(list.train[0])].file.path;
  write_file(breaks, "no picture");
  CHECK_THAT(error_of([&] { all_of(*dataset.train); }),
             ContainsSubstring(breaks.filename().string() + ": no JPEG, PNG, "));
  CHECK_FALSE(find_dataset(pictures.spec).bad.known);
  const DatasetInfo later = load_dataset(pictures.spec, 1).info;
  CHECK(later.bad.count == 6);
  CHECK(fingerprint_of(later) != fingerprint_of(dataset.info));
}

TEST_CASE("the list of bad pictures is one of the cache's files, and made again without it") {
  SomeBad pictures;
  pictures.prepare();
  const std::vector<CachedImages> files = list_image_caches();
  REQUIRE(files.size() == 2);
  for (const CachedImages& file : files) {
    CHECK(file.root == pictures.folder);
    CHECK(file.images == (file.bad ? 62 : 57));
    CHECK(file.bad.value_or(5) == 5);
    if (!file.bad) continue;
    const std::string whole = content_of(file.file);
    remove_image_cache(file);
    CHECK(pictures.prepare() == 62);
    CHECK(content_of(file.file) == whole);
    write_file(file.file, whole.substr(0, whole.size() / 2));  // damaged
    CHECK_FALSE(find_dataset(pictures.spec).bad.known);
    CHECK(pictures.prepare() == 62);
    CHECK(content_of(file.file) == whole);
    std::string other = whole;  // another picture would be left out
    const size_t index = other.find("[[") + 2;
    other[index] = other[index] == '1' ? '2' : '1';
    write_file(file.file, other);
    CHECK_FALSE(find_dataset(pictures.spec).bad.known);
    CHECK(pictures.prepare() == 62);
    CHECK(content_of(file.file) == whole);
  }
  CHECK(list_image_caches().size() == 2);
}

}  // namespace
}  // namespace dtrain
