#include "pictures/image_folder.h"

#include <ATen/ATen.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <fstream>
#include <map>
#include <set>

#include "catch.h"
#include "codecs/image_file.h"
#include "data/data_files.h"
#include "data/dataset.h"
#include "data/example_source.h"
#include "data/picture_files.h"
#include "files.h"
#include "images/fit.h"
#include "images/image_cache.h"

namespace dtrain {
namespace {

using namespace test;
namespace fs = std::filesystem;

TEST_CASE("a folder of classes is a dataset, with names and parts that the files' names decide") {
  Pictures pictures;
  pictures.write_three_classes();
  write_file(pictures.folder / "LICENSE.txt", "free");
  write_file(pictures.folder / "rose" / ".hidden.jpg", "");
  write_file(pictures.folder / "rose" / "notes.txt", "");
  pictures.spec.split = {.validation = 0.25, .test = 0.3, .seed = 3};
  const DatasetInfo info = find_dataset(pictures.spec);
  CHECK(info.class_names == std::vector<std::string>{"daisy", "rose", "tulip"});
  CHECK(info.classes == 3);
  CHECK(info.example_shape == std::vector<int64_t>{3, 6, 8});
  CHECK(info.train_examples + info.validation_examples + info.test_examples == 60);
  CHECK(info.test_examples > 8);
  CHECK(info.validation_examples > 3);

  const PictureList before = divided(list_image_folder(pictures.folder, pictures.spec), pictures.spec);
  std::set<std::string> all = names_of(before, before.train);
  for (const auto& part : {before.validation, before.test}) all.merge(names_of(before, part));
  CHECK(all.size() == 60);  // each picture is in exactly one part

  // A new picture moves no other one.
  write_picture(pictures.folder / "daisy" / "a new one.png", 7);
  const PictureList after = divided(list_image_folder(pictures.folder, pictures.spec), pictures.spec);
  for (const auto part : {&PictureList::train, &PictureList::validation, &PictureList::test}) {
    std::set<std::string> now = names_of(after, after.*part);
    now.erase("daisy/a new one.png");
    CHECK(now == names_of(before, before.*part));
  }
  pictures.spec.split.seed = 4;
  CHECK(names_of(after, after.test) !=
        names_of(after, divided(list_image_folder(pictures.folder, pictures.spec), pictures.spec).test));
}

TEST_CASE("pictures are divided in proportion of their classes, or by groups that their names tell") {
  Pictures pictures;
  for (const auto& [name, count] : std::map<std::string, int>{{"daisy", 40}, {"rose", 11}, {"tulip", 2}}) {
    for (int i = 0; i < count; ++i)
      write_picture(pictures.folder / name / fmt::format("p{}_{}.png", i % 9, i), i);
  }
  pictures.spec.split = {.validation = 0.2, .test = 0.25, .seed = 3, .stratify = true};
  const auto divide = [&] {
    return divided(list_image_folder(pictures.folder, pictures.spec), pictures.spec);
  };
  const auto counts = [](const PictureList& all, const std::vector<int64_t>& part) {
    std::vector<int64_t> counts(3);
    for (const int64_t index : part)
      ++counts[static_cast<size_t>(all.pictures[static_cast<size_t>(index)].label)];
    return counts;
  };
  const PictureList by_class = divide();
  CHECK(counts(by_class, by_class.test) == std::vector<int64_t>{10, 3, 0});  // of 40, 11, 2: 10, 2.7, 0.5
  CHECK(counts(by_class, by_class.validation) == std::vector<int64_t>{6, 2, 0});  // of 30, 8, 2: 6, 1.6, 0.4
  CHECK(names_of(divide(), divide().test) == names_of(by_class, by_class.test));

  pictures.spec.split = {.validation = 0.2, .test = 0.25, .seed = 3, .group = "^([^_]+)_"};
  const PictureList by_group = divide();
  std::map<std::string, std::set<int>> seen;
  const std::vector<std::vector<int64_t>> parts = {by_group.train, by_group.validation, by_group.test};
  for (int part = 0; part < 3; ++part) {
    for (const std::string& name : names_of(by_group, parts[static_cast<size_t>(part)])) {
      const size_t begin = name.find('/') + 1;
      seen[name.substr(begin, name.find('_') - begin)].insert(part);
    }
  }
  CHECK(seen.size() == 9);
  for (const auto& [group, in] : seen) CHECK(in.size() == 1);
  // Folds: each group in one, and each class evenly.
  pictures.spec.split = {
      .validation = {}, .test = 0.25, .folds = 3, .fold = 1, .seed = 3, .group = "^([^_]+)_"};
  std::map<std::string, int64_t> folds;
  size_t validated = 0;
  for (int64_t& fold = pictures.spec.split.fold; fold <= 3; ++fold) {
    const PictureList one = divide();
    CHECK(names_of(one, one.test) == names_of(by_group, by_group.test));
    validated += one.validation.size();
    for (const std::string& name : names_of(one, one.validation)) {
      const size_t begin = name.find('/') + 1;
      CHECK(folds.emplace(name.substr(begin, name.find('_') - begin), fold).first->second == fold);
    }
  }
  CHECK(validated == 53 - by_group.test.size());
  pictures.spec.split = {.validation = {}, .test = 0.25, .folds = 4, .fold = 4, .seed = 3, .stratify = true};
  CHECK(counts(divide(), divide().validation) == std::vector<int64_t>{7, 2, 1});  // of 30, 8 and 2
  pictures.spec.split = {.validation = {}, .test = 0.25, .folds = 100, .fold = 4, .seed = 3};
  CHECK_THAT(pictures.error(), ContainsSubstring("data.split.folds: is more than there are training"));
  pictures.spec.split = {.validation = 0.2, .test = 0.25, .seed = 3, .group = "^([^_]+)_"};
  pictures.spec.split.group = "p[0-9]";  // the whole match is the same
  CHECK(names_of(divide(), divide().test) == names_of(by_group, by_group.test));
  pictures.spec.split.group = "p([1-9]?)_";
  CHECK_THAT(pictures.error(),
             ContainsSubstring("daisy/p0_0.png: data.split.group, 'p([1-9]?)_', finds no group"));
}

TEST_CASE("every example is called by its file, wherever it is kept and of whatever part it is") {
  Pictures pictures;
  pictures.write_three_classes();
  pictures.spec.split = {.validation = 0.25, .test = 0.3, .seed = 3};
  pictures.spec.cache = GENERATE("none", "memory", "disk");
  const Dataset dataset = load_dataset(pictures.spec, 1);
  const Fit fit = fit_of(pictures.spec.image.fit);
  for (const ExampleSourcePtr& part : {dataset.train, dataset.validation, dataset.test}) {
    const std::vector<ExampleName> names = example_names(*part);
    const StoredExamples all = all_of(*part);
    REQUIRE(std::ssize(names) == part->size());
    for (int64_t i = 0; i < part->size(); ++i) {
      const ExampleName& name = names[static_cast<size_t>(i)];
      const at::Tensor read = read_image_file(pictures.folder / name.file);
      CHECK(at::equal(fit_images(read, dataset.info.example_shape, fit)[0], all.inputs[i]));
      const auto label = static_cast<size_t>(all.targets[i].item<int64_t>());
      CHECK(name.file.starts_with(dataset.info.class_names[label] + "/"));
      CHECK(title_of(name) == name.file);
    }
  }
}

TEST_CASE("a limit takes the first pictures of an order that mixes the classes") {
  Pictures pictures;
  pictures.write_three_classes();
  pictures.spec.split.test = 0.2;
  pictures.spec.train_examples = 15;
  pictures.spec.test_examples = 4;
  const PictureList few = divided(list_image_folder(pictures.folder, pictures.spec), pictures.spec);
  CHECK(few.train.size() == 15);
  CHECK(few.test.size() == 4);
  std::set<int64_t> labels;
  for (const int64_t index : few.train) labels.insert(few.pictures[static_cast<size_t>(index)].label);
  CHECK(labels.size() == 3);
  pictures.spec.train_examples = 100;
  CHECK_THAT(pictures.error(ExitCode::kUsage), ContainsSubstring("data.train_examples: 100 is more than"));
}

TEST_CASE("train/, test/ and validation/ are the parts where they are there") {
  Pictures pictures;
  pictures.write_three_classes("train", 5);
  CHECK_THAT(pictures.error(ExitCode::kUsage), ContainsSubstring("data.split.test: missing"));
  pictures.write_three_classes("test", 3);
  CHECK(find_dataset(pictures.spec).train_examples == 15);
  CHECK(find_dataset(pictures.spec).test_examples == 9);
  CHECK_FALSE(find_dataset(pictures.spec).has_validation());
  pictures.spec.split.test = 0.2;
  CHECK_THAT(pictures.error(ExitCode::kUsage), ContainsSubstring("test is there, which is that part"));
  pictures.spec.split = {};
  pictures.write_three_classes("validation", 2);
  CHECK(find_dataset(pictures.spec).validation_examples == 6);
  CHECK(load_dataset(pictures.spec, 1).validation->size() == 6);
  pictures.spec.split.validation = 0.2;
  CHECK_THAT(pictures.error(ExitCode::kUsage), ContainsSubstring("validation is there"));
  pictures.spec.split = {};

  write_picture(pictures.folder / "test" / "violet" / "1.png", 1);
  CHECK_THAT(pictures.error(), ContainsSubstring("test/violet: no such class in train/"));
  fs::remove_all(pictures.folder / "test" / "violet");
  fs::remove_all(pictures.folder / "test" / "rose");
  CHECK_THAT(pictures.error(), ContainsSubstring("test: has no folder for the class 'rose'"));
  fs::remove_all(pictures.folder / "test");
  fs::create_directory(pictures.folder / "val");
  CHECK_THAT(pictures.error(), ContainsSubstring("val: beside train/ only test/ and validation/"));
}

TEST_CASE("files that are left out are counted by their ending, and most of them are an error") {
  Pictures pictures;
  pictures.spec.split.test = 0.5;
  pictures.write_three_classes("", 2);
  for (const char* name : {"rose/1.svg", "rose/2.SVG", "tulip/3.heic", "tulip/4", "rose/Thumbs.db",
                           "rose/.x.svg", "rose/picture 300.xml", "rose/picture 300.png.json", "labels.csv"})
    write_file(pictures.folder / name, "");
  using Counts = std::map<std::string, int64_t>;
  CHECK(find_dataset(pictures.spec).left_out == Counts{{"", 1}, {".heic", 1}, {".svg", 2}});
  CHECK(left_out_text({{"", 1}, {".svg", 1200}}) ==
        "1,201 files are left out: 1 without an ending, 1,200 .svg; dtrain reads .jpg, .jpeg, .png, .webp, "
        ".tif, .tiff, .gif, .bmp, .ppm, .pgm");
  write_picture(pictures.folder / "stray.png", 1);
  write_file(pictures.folder / "daisy" / "5.avif", "");
  CHECK(find_dataset(pictures.spec).left_out ==
        Counts{{"", 1}, {".avif", 1}, {".heic", 1}, {".png outside of the classes", 1}, {".svg", 2}});
  write_file(pictures.folder / "daisy" / "6.avif", "");  // 7 to 6
  CHECK_THAT(pictures.error(),
             ContainsSubstring("most of its files cannot be read: there are 6 pictures, and 7 "
                               "files are left out: 1 without an ending, 2 .avif, "));
}

TEST_CASE("a folder that is no set of pictures is refused, with the place of the fault") {
  Pictures pictures;
  pictures.spec.split.test = 0.5;
  CHECK_THAT(pictures.error(), ContainsSubstring("no such folder"));
  CHECK(describe_dataset(pictures.spec).source.empty());  // but it can be planned
  pictures.spec.fallback = "synthetic";
  CHECK(find_dataset(pictures.spec).is_fallback());
  pictures.spec.fallback = std::nullopt;
  fs::create_directories(pictures.folder);
  CHECK_THAT(pictures.error(), ContainsSubstring("0 class folders found"));
  pictures.write_three_classes();
  CHECK(pictures.error() == "no error");

  fs::create_directory(pictures.folder / "empty");
  CHECK_THAT(pictures.error(),
             ContainsSubstring("empty: an empty folder where a class has its pictures; remove it"));
  write_file(pictures.folder / "empty" / "1.HEIC", "");
  CHECK_THAT(pictures.error(), ContainsSubstring("empty: a class without pictures that can be read") &&
                                   ContainsSubstring("it has 1 .heic; convert them to PNG or JPEG"));
  fs::remove_all(pictures.folder / "empty");
  fs::create_directory(pictures.folder / "rose" / "more");
  CHECK_THAT(pictures.error(), ContainsSubstring("rose/more: a folder inside of a class"));
  fs::remove(pictures.folder / "rose" / "more");
  write_picture(pictures.folder / "rose" / "\xff\xfe.png", 1);
  CHECK_THAT(pictures.error(), ContainsSubstring("its name is not UTF-8 text"));
  fs::remove(pictures.folder / "rose" / "\xff\xfe.png");
  write_picture(pictures.folder / "rose" / "two\nlines.png", 1);
  CHECK_THAT(pictures.error(), ContainsSubstring("lines.png: its name has a line break"));
  fs::remove(pictures.folder / "rose" / "two\nlines.png");
  fs::create_symlink("loop", pictures.folder / "rose" / "loop");  // a folder inside of a class?
  CHECK_THAT(pictures.error(), ContainsSubstring("rose/loop: cannot be read"));
  fs::remove(pictures.folder / "rose" / "loop");
  fs::create_directory_symlink("..", pictures.folder / "up");  // would lead back for ever
  CHECK_THAT(pictures.error(), ContainsSubstring("a folder inside of a class"));
  fs::remove(pictures.folder / "up");

  pictures.spec.class_names = {"daisy", "rose", "violet"};
  CHECK_THAT(pictures.error(), ContainsSubstring("its classes are daisy, rose, tulip"));
  pictures.spec.class_names = {};
  pictures.spec.classes = 4;
  CHECK_THAT(pictures.error(ExitCode::kUsage), ContainsSubstring("data.classes: is 4"));
  pictures.spec.classes = std::nullopt;
  pictures.spec.split.test = 1e-9;
  CHECK_THAT(pictures.error(ExitCode::kUsage), ContainsSubstring("data.split.test: takes 0 of 60 pictures"));
  pictures.spec.image.mean.values = {0.1, 0.2};
  pictures.spec.split.test = 0.5;
  CHECK_THAT(pictures.error(ExitCode::kUsage), ContainsSubstring("data.image.mean: has 2 numbers"));
}

TEST_CASE("cached or not, with any number of threads, the examples have the same bits") {
  Pictures pictures;
  pictures.write_three_classes();
  pictures.spec.split.test = 0.3;
  pictures.spec.image.fit = GENERATE("stretch", "crop", "pad");
  const StoredExamples cached = all_of(*load_dataset(pictures.spec, 1).train);
  REQUIRE(list_image_caches().size() == 1);
  pictures.spec.cache = "none";
  const Dataset dataset = load_dataset(pictures.spec, 1);
  CHECK_FALSE(dataset.train->in_memory());
  const StoredExamples read = all_of(*dataset.train);
  CHECK(at::equal(cached.inputs, read.inputs));
  CHECK(at::equal(cached.targets, read.targets));
  CHECK(cached.inputs.to(at::kFloat).std().item<double>() > 10);

  const PictureList all = divided(list_image_folder(pictures.folder, pictures.spec), pictures.spec);
  ImageSet set{.root = all.root, .files = {}, .shape = {3, 6, 8}, .fit = fit_of(pictures.spec.image.fit)};
  for (const ListedPicture& picture : all.pictures) set.files.push_back(picture.file);
  std::vector<at::Tensor> results;
  for (const int64_t threads : {1, 4}) {
    results.push_back(at::empty({std::ssize(all.train), 3, 6, 8}, at::kByte));
    read_image_set(set, all.train, results.back().mutable_data_ptr<uint8_t>(), threads);
    CHECK(at::equal(results.back(), cached.inputs));
  }
  const std::vector<int64_t> labels = {cached.targets.const_data_ptr<int64_t>(),
                                       cached.targets.const_data_ptr<int64_t>() + cached.targets.numel()};
  for (size_t at = 0; at < labels.size(); ++at)
    CHECK(labels[at] == all.pictures[static_cast<size_t>(all.train[at])].label);
}

TEST_CASE("a picture that changed is decoded again, and one that did not is not") {
  Pictures pictures;
  pictures.write_three_classes("", 4);
  pictures.spec.split.test = 0.5;
  int64_t decoded = 0;
  const auto prepare = [&] {
    decoded = 0;
    prepare_dataset(find_dataset(pictures.spec), pictures.spec, [&](int64_t done, int64_t all) {
      CHECK(all == 12);
      decoded = done;
    });
    return decoded;
  };
  CHECK(prepare() == 12);
  CHECK(prepare() == 0);
  pictures.spec.split = {.validation = 0.3, .test = 0.4, .seed = 8};  // other parts of the same pictures
  CHECK(prepare() == 0);
  write_picture(pictures.folder / "rose" / "picture 300.png", 5);
  CHECK(prepare() == 12);
  pictures.spec.image.size = {4, 4};
  CHECK(prepare() == 12);
  const std::vector<CachedImages> files = list_image_caches();
  REQUIRE(files.size() == 3);
  int64_t small = 0;
  for (const CachedImages& cached : files) {
    CHECK(cached.images == 12);
    CHECK(cached.root == pictures.folder);
    small += cached.shape == std::vector<int64_t>{3, 4, 4};
    remove_image_cache(cached);
  }
  CHECK(small == 1);
  CHECK(list_image_caches().empty());
}

TEST_CASE("a picture that cannot be decoded is named, and leaves no file in the cache") {
  Pictures pictures;
  pictures.write_three_classes();
  pictures.spec.split.test = 0.3;
  const fs::path bad = pictures.folder / "rose" / "picture 310.png";
  pictures.spec.cache = GENERATE("disk", "none");
  const auto error = [&] {
    return error_of([&] {
      const Dataset dataset = load_dataset(pictures.spec, 1);
      all_of(*dataset.train);
      all_of(*dataset.test);
    });
  };
  for (const std::string& content : {std::string(), content_of(bad).substr(0, 60), std::string("GIF89a")}) {
    write_file(bad, content);
    CHECK_THAT(error(), ContainsSubstring("rose/picture 310.png: "));
    CHECK(list_image_caches().empty());
  }
  fs::remove(bad);
  REQUIRE(::mkfifo(bad.c_str(), 0600) == 0);
  CHECK_THAT(error(), ContainsSubstring("rose/picture 310.png: not a regular file"));
}

TEST_CASE("what a maker that was killed left behind is in nobody's way") {
  Pictures pictures;
  pictures.write_three_classes("", 3);
  pictures.spec.split.test = 0.5;
  load_dataset(pictures.spec, 1);
  const fs::path file = list_image_caches().at(0).file;
  const std::string whole = content_of(file);
  fs::rename(file, file.string() + ".partial");
  write_file(file.string() + ".lock", "");
  CHECK(list_image_caches().at(0).root.empty());  // not taken for a whole one
  load_dataset(pictures.spec, 1);
  CHECK(list_image_caches().size() == 1);
  CHECK(content_of(file) == whole);
  write_file(file, whole.substr(0, 5000));  // nor is one that was cut off
  load_dataset(pictures.spec, 1);
  CHECK(content_of(file) == whole);
}

TEST_CASE("auto caches pictures on the disk if their file fits there") {
  Pictures pictures;
  pictures.write_three_classes("", 4);
  pictures.spec.split.test = 0.5;
  const DatasetInfo info = find_dataset(pictures.spec);
  REQUIRE(pictures.spec.cache == "auto");
  CHECK(resolve_cache(info, pictures.spec) == "disk");
  {
    const Environment relative("XDG_CACHE_HOME", "no-such-folder");
    CHECK(resolve_cache(info, pictures.spec) == "disk");
  }
  pictures.spec.cache_gigabytes = 1e-6;
  CHECK(resolve_cache(info, pictures.spec) == "none");
  pictures.spec.cache = "disk";  // asked for: too large a file is an error then
  CHECK(resolve_cache(info, pictures.spec) == "disk");
}

TEST_CASE("a cache larger than allowed is refused with the field to change") {
  Pictures pictures;
  pictures.write_three_classes("", 3);
  pictures.spec.split.test = 0.5;
  pictures.spec.cache_gigabytes = 1e-6;
  CHECK_THAT(error_of([&] { load_dataset(pictures.spec, 1); }, ExitCode::kUsage),
             ContainsSubstring("data.cache_gigabytes: the 9 pictures take"));
  pictures.spec.cache = "none";
  CHECK(load_dataset(pictures.spec, 1).train->size() > 0);
}

}  // namespace
}  // namespace dtrain
