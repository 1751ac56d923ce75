// Pictures in Parquet files that pyarrow made (scripts/parquet/make_pictures.py), as Hugging Face's datasets
// write them. Left out where the module for Parquet is not built: ctest then says so.
#ifdef DTRAIN_PARQUET_MODULE
#include <ATen/ATen.h>
#include <fmt/format.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <algorithm>
#include <map>
#include <set>

#include "catch.h"
#include "codecs/image_file.h"
#include "data/dataset.h"
#include "data/picture_files.h"
#include "pictures/archives.h"
#include "yaml/problem.h"

namespace dtrain {
namespace {

using namespace test;
namespace fs = std::filesystem;
using Names = std::vector<std::string>;

fs::path shipped_pictures() { return fs::path(DTRAIN_SOURCE_DIR) / "tests/data/pictures/parquet"; }

struct ParquetPictures : Pictures {
  ParquetPictures() {
    ::setenv("DTRAIN_PARQUET_MODULE", DTRAIN_PARQUET_MODULE, 1);
    spec.dataset = "image_parquet";
    spec.image.size = {6, 8};
    spec.split.test = std::nullopt;
    fs::create_directories(folder);
    for (const char* part : {"train-00000-of-00002", "train-00001-of-00002", "test-00000-of-00001"})
      fs::copy(shipped_pictures() / (std::string(part) + ".parquet"), folder);
    spec.path = folder.string();
  }
  // What listing odd.parquet says, with these columns.
  std::string odd(const Names& pictures, const Names& target) {
    const Names all = {"plain", "no_bytes", "no_struct", "no_picture"};
    spec.path = (shipped_pictures() / "odd.parquet").string();
    spec.split.test = 0.5;
    spec.target = target;
    spec.ignore.clear();
    std::ranges::copy_if(all, std::back_inserter(spec.ignore),
                         [&](const std::string& name) { return std::ranges::count(pictures, name) == 0; });
    try {
      find_dataset(spec);
    } catch (const FieldError& error) {
      return error.field() + ": " + error.what();
    } catch (const Error& error) {
      return error.what();
    }
    return "accepted";
  }
};

// As make_pictures.py computes it.
at::Tensor picture_of_number(int number) {
  at::Tensor picture = at::empty({3, 6, 8}, at::kByte);
  auto pixels = picture.accessor<uint8_t, 3>();
  for (int c = 0; c < 3; ++c) {
    for (int y = 0; y < 6; ++y) {
      for (int x = 0; x < 8; ++x)
        pixels[c][y][x] = static_cast<uint8_t>(31 * x + 17 * y + 7 * c + 23 * number);
    }
  }
  return picture;
}

// The class of each example of a source with its picture's bytes.
std::set<std::pair<std::string, std::string>> examples_of(const ExampleSource& source, const Names& classes) {
  std::set<std::pair<std::string, std::string>> found;
  const StoredExamples all = all_of(source);
  for (int64_t i = 0; i < source.size(); ++i) {
    const at::Tensor picture = all.inputs[i].contiguous();
    found.emplace(classes.at(static_cast<size_t>(all.targets[i].item<int64_t>())),
                  std::string(static_cast<const char*>(picture.const_data_ptr()), picture.nbytes()));
  }
  return found;
}

TEST_CASE("pictures in Parquet have the pixels and classes that were written, as a folder of them") {
  ParquetPictures pictures;
  const Names names = {"zebra", "ant", "cat"};
  Pictures same;
  same.spec.image.size = {6, 8};
  same.spec.split.test = std::nullopt;
  for (int number = 0; number < 13; ++number) {
    const fs::path folder =
        same.folder / (number < 10 ? "train" : "test") / names[static_cast<size_t>(number % 3)];
    fs::create_directories(folder);
    write_file(folder / (std::to_string(number) + ".png"), png_file(picture_of_number(number)));
  }
  for (const char* cache : {"none", "disk"}) {
    pictures.spec.cache = same.spec.cache = cache;
    const Dataset parquet = load_dataset(pictures.spec, 1), folder = load_dataset(same.spec, 1);
    CHECK(parquet.info.class_names == names);
    CHECK(parquet.train->size() == 10);
    CHECK(parquet.test->size() == 3);
    CHECK(examples_of(*parquet.train, names) == examples_of(*folder.train, folder.info.class_names));
    CHECK(examples_of(*parquet.test, names) == examples_of(*folder.test, folder.info.class_names));
    std::set<std::string> titles;
    for (const ExampleName& name : example_names(*parquet.test)) titles.insert(title_of(name));
    CHECK(titles.contains("test-00000-of-00001.parquet: row-00000003.png"));
  }
}

TEST_CASE("a Parquet file of pictures is read once, and not again when it is in the cache") {
  ParquetPictures pictures;
  const int64_t before = find_dataset(pictures.spec).train_examples;
  // Inode and seconds and nanoseconds of the last change, by name.
  const auto unpacked = [&] {
    std::map<std::string, std::string> all;
    for (const auto& entry : fs::recursive_directory_iterator(pictures.temporary.path() / "cache")) {
      if (entry.path().string().find(".parquet.") == std::string::npos || !entry.is_regular_file()) continue;
      struct stat status {};
      REQUIRE(::stat(entry.path().c_str(), &status) == 0);
      all[entry.path().string()] =
          fmt::format("{} {} {}", status.st_ino, status.st_mtim.tv_sec, status.st_mtim.tv_nsec);
    }
    return all;
  };
  const auto first = unpacked();
  CHECK(first.size() == 3);
  CHECK(find_dataset(pictures.spec).train_examples == before);
  CHECK(unpacked() == first);
}

TEST_CASE("the columns of pictures and classes are those that are named, or that can be told") {
  ParquetPictures pictures;
  CHECK(pictures.odd({"plain"}, {"word"}) == "accepted");
  CHECK(list_archives(*pictures.spec.path, pictures.spec).classes == Names{"daisy", "rose"});
  CHECK(pictures.odd({"plain"}, {"number"}) == "accepted");
  CHECK(list_archives(*pictures.spec.path, pictures.spec).classes == Names{"0", "1"});
  pictures.spec.class_names = {"no", "yes"};
  CHECK(list_archives(*pictures.spec.path, pictures.spec).classes == Names{"no", "yes"});
  pictures.spec.class_names.clear();
  CHECK_THAT(pictures.odd({"plain"}, {}), ContainsSubstring("data.target: missing; name the column of the"));
  CHECK_THAT(pictures.odd({"plain"}, {"wrd"}),
             ContainsSubstring("has no column 'wrd'; it has plain, no_bytes"));
  CHECK_THAT(
      pictures.odd({"plain", "no_bytes"}, {"word"}),
      ContainsSubstring("data.ignore: missing; ") && ContainsSubstring("in 'plain' and in 'no_bytes'"));
  CHECK_THAT(pictures.odd({}, {"word"}), ContainsSubstring("has no column of pictures, which is binary or"));
  // Bytes that are named are words, and no second column of pictures; these are no names of classes.
  const std::string named = pictures.odd({"plain", "no_picture"}, {"no_picture"});
  CHECK(named.find("data.ignore") == std::string::npos);
  CHECK(named.find("holds neither") == std::string::npos);
  for (const char* column : {"day", "boxes"})
    CHECK_THAT(pictures.odd({"plain"}, {column}), ContainsSubstring("holds neither numbers nor words"));
}

TEST_CASE("rows without a picture or a class that can be used are named") {
  ParquetPictures pictures;
  for (const char* column : {"no_bytes", "no_struct"})
    CHECK_THAT(pictures.odd({column}, {"word"}),
               ContainsSubstring("odd.parquet: row 3: has no picture in it"));
  CHECK_THAT(pictures.odd({"plain"}, {"no_number"}),
             ContainsSubstring("column 'no_number', row 3: the class is missing"));
  CHECK_THAT(pictures.odd({"plain"}, {"no_word"}),
             ContainsSubstring("'no_word', row 3: the class is missing"));
  CHECK_THAT(pictures.odd({"plain"}, {"half"}),
             ContainsSubstring("'half', row 3: 0.5 is no class, which are whole numbers from 0"));
  CHECK_THAT(pictures.odd({"plain"}, {"far"}),
             ContainsSubstring("'far', row 3: 3 is no class: the file names classes 0 to 2"));
  CHECK_THAT(pictures.odd({"plain"}, {"unknown"}), ContainsSubstring("-1 marks pictures without a class"));
  CHECK(pictures.odd({"no_picture"}, {"word"}) ==
        "accepted");  // what is in the bytes is seen when they are decoded
  pictures.spec.cache = "none";
  CHECK_THAT(error_of([&] {
               const Dataset dataset = load_dataset(pictures.spec, 1);
               all_of(*dataset.train);
               all_of(*dataset.test);
             }),
             ContainsSubstring("odd.parquet: row-00000003.jpg: no JPEG, PNG"));
  pictures.spec.path = pictures.temporary.write("text.parquet", "bytes").string();
  CHECK_THAT(pictures.error(), ContainsSubstring("text.parquet: is no Parquet file"));
}

}  // namespace
}  // namespace dtrain
#endif
