#include <ATen/ATen.h>
#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <map>
#include <optional>
#include <set>

#include "catch.h"
#include "codecs/image_file.h"
#include "data/data_files.h"
#include "data/dataset.h"
#include "files.h"
#include "images/image_cache.h"
#include "pictures/archives.h"

namespace dtrain {
namespace {

using namespace test;
using Catch::Matchers::StartsWith;
namespace fs = std::filesystem;

// A member of a tar archive in the format of POSIX.1-1988 (ustar), padded to blocks of 512 bytes.
std::string tar_member(const std::string& name, const std::string& content, char type = '0',
                       const std::string& link = "") {
  std::string header(512, '\0');
  const auto put = [&header](size_t at, const std::string& text) { header.replace(at, text.size(), text); };
  const auto octal = [](size_t number, int digits) {
    char text[16];
    std::snprintf(text, sizeof text, "%0*zo", digits, number);
    return std::string(text);
  };
  put(0, name);
  put(100, "0000644");
  put(124, octal(content.size(), 11));
  put(136, octal(0, 11));
  put(148, "        ");  // the checksum is made as if it were blanks
  put(156, std::string(1, type));
  put(157, link);
  put(257, "ustar");
  put(263, "00");
  size_t sum = 0;
  for (const char byte : header) sum += static_cast<unsigned char>(byte);
  put(148, octal(sum, 6) + '\0');
  std::string padded = content;
  padded.resize((content.size() + 511) / 512 * 512, '\0');
  return header + padded;
}

std::string tar_of(const std::string& members) { return members + std::string(1024, '\0'); }

at::Tensor shard_picture(int number) {
  at::manual_seed(static_cast<uint64_t>(number));
  return at::randint(0, 256, {3, 6, 8}, at::kByte);
}

// Pictures `first` to `last` - 1, of classes in turn.
std::string samples(int first, int last, const std::vector<std::string>& classes) {
  std::string members;
  for (int number = first; number < last; ++number) {
    const std::string key = "shard/" + std::to_string(number);
    members += tar_member(key + ".cls", classes[static_cast<size_t>(number) % classes.size()] + "\n");
    members += tar_member(key + ".json", "{}");
    members += tar_member(key + ".PNG", png_file(shard_picture(number)));
  }
  return members;
}

struct Archives {
  TemporaryFolder folder;
  Environment cache{"XDG_CACHE_HOME", (folder.path() / "cache").c_str()};
  DataSpec spec;

  Archives() {
    spec.dataset = "tar";
    spec.path = folder.path().string();
    spec.image.size = {6, 8};
  }
  std::string error(const std::string& members, ExitCode code = ExitCode::kData) {
    folder.write("train.tar", members);
    return error_of([this] { find_dataset(spec); }, code);
  }
};

// The picture of each example of a source, by its bytes.
std::set<std::string> pictures_in(const ExampleSource& source) {
  std::set<std::string> all;
  for (int64_t index = 0; index < source.size(); ++index) {
    ExampleSlot slot{at::empty({1, 3, 6, 8}, at::kByte), at::empty({1}, at::kLong)};
    source.read(std::vector<int64_t>{index}, {}, slot);
    all.emplace(static_cast<const char*>(slot.inputs.const_data_ptr()), slot.inputs.nbytes());
  }
  return all;
}

TEST_CASE("the shards of a folder are a dataset, and their names say which part they are") {
  Archives archives;
  archives.folder.write("flowers-train-0000.tar", tar_of(samples(0, 6, {"0", "1", "2"})));
  archives.folder.write("flowers-train-0001.tar", tar_of(samples(6, 12, {"0", "1", "2"})));
  archives.folder.write("flowers-test-0000.tar", tar_of(samples(12, 15, {"0", "1", "2"})));
  archives.folder.write("flowers_val.tar", tar_of(samples(15, 17, {"0", "1"})));
  for (const char* cache : {"none", "disk"}) {
    archives.spec.cache = cache;
    const Dataset dataset = load_dataset(archives.spec, 1);
    CHECK(dataset.info.classes == 3);
    CHECK(dataset.info.class_names == std::vector<std::string>{"0", "1", "2"});
    REQUIRE(dataset.train->size() == 12);
    CHECK(dataset.test->size() == 3);
    REQUIRE(dataset.validation);
    CHECK(dataset.validation->size() == 2);
    std::set<std::string> expected;
    for (int number = 0; number < 12; ++number) {
      const at::Tensor picture = shard_picture(number);
      expected.emplace(static_cast<const char*>(picture.const_data_ptr()), picture.nbytes());
    }
    CHECK(pictures_in(*dataset.train) == expected);
    const std::vector<int64_t> indices = {0, 1};
    std::set<std::string> named;
    for (const ExampleName& name : dataset.validation->names_of(indices)) named.insert(title_of(name));
    CHECK(named == std::set<std::string>{"flowers_val.tar: shard/15.PNG", "flowers_val.tar: shard/16.PNG"});
  }
  for (const char* name : {"Flowers-VALID-0000.tar", "dev.tar"}) {
    archives.folder.write(name, tar_of(samples(17, 19, {"0", "1"})));
    CHECK_THAT(error_of([&] { find_dataset(archives.spec); }),
               ContainsSubstring(name + std::string(": seems to be for validation")));
    fs::remove(archives.folder / name);
  }
  const int64_t tested = find_dataset(archives.spec).test_examples;
  archives.folder.write("test-dev.tar", tar_of(samples(17, 19, {"0", "1"})));
  CHECK(find_dataset(archives.spec).test_examples == tested + 2);
  fs::remove(archives.folder / "test-dev.tar");
  fs::rename(archives.folder / "flowers_val.tar", archives.folder / "Flowers_Validation.tar");
  CHECK(find_dataset(archives.spec).validation_examples == 2);
  archives.spec.class_names = {"daisy", "rose", "tulip"};
  CHECK(find_dataset(archives.spec).class_names == archives.spec.class_names);
  archives.spec.class_names = {"daisy", "rose"};
  CHECK_THAT(error_of([&] { find_dataset(archives.spec); }), ContainsSubstring("its classes are 0, 1, 2"));
}

TEST_CASE("archives that are all for validation by their names can be trained on") {
  Archives archives;
  archives.spec.split.test = 0.3;
  archives.folder.write("valid-0.tar", tar_of(samples(0, 6, {"0", "1"})));
  archives.folder.write("valid-1.tar", tar_of(samples(6, 12, {"0", "1"})));
  CHECK(find_dataset(archives.spec).train_examples > 0);
}

TEST_CASE("a picture of an archive that cannot be read is left out, cached or not") {
  Archives archives;
  archives.folder.write("train.tar",
                        tar_of(samples(0, 6, {"0", "1"}) + tar_member("shard/bad.cls", "1") +
                               tar_member("shard/bad.png", "no picture") + samples(6, 8, {"0", "1"})));
  archives.folder.write("test.tar", tar_of(samples(8, 10, {"0", "1"})));
  archives.spec.cache = GENERATE("none", "disk");
  archives.spec.on_bad_example = "skip";
  const Dataset dataset = load_dataset(archives.spec, 1);
  REQUIRE(dataset.info.bad.first.size() == 1);
  CHECK_THAT(dataset.info.bad.first[0], StartsWith("train.tar: shard/bad.png: no JPEG, PNG"));
  std::set<std::string> expected;
  for (int number = 0; number < 8; ++number) {
    const at::Tensor picture = shard_picture(number);
    expected.emplace(static_cast<const char*>(picture.const_data_ptr()), picture.nbytes());
  }
  CHECK(pictures_in(*dataset.train) == expected);
  CHECK(dataset.test->size() == 2);
}

TEST_CASE("examples of an archive that are no pictures are counted, and most of them are an error") {
  Archives archives;
  archives.spec.split.test = 0.5;
  const auto tiffs = [](int count) {
    std::string members;
    for (int number = 0; number < count; ++number)
      members += tar_member("other/" + std::to_string(number) + ".cls", "1") +
                 tar_member("other/" + std::to_string(number) + ".svg", "<svg");
    return members;
  };
  CHECK(archives.error(tar_of(samples(0, 6, {"0", "1"}) + tiffs(6))) == "no error");
  CHECK(find_dataset(archives.spec).left_out == std::map<std::string, int64_t>{{".svg", 6}});
  CHECK_THAT(archives.error(tar_of(samples(0, 6, {"0", "1"}) + tiffs(7))),
             ContainsSubstring("there are 6 pictures, and 7 files are left out: 7 .svg"));
  CHECK_THAT(archives.error(tar_of(tiffs(3))),
             ContainsSubstring("(KEY.jpg and KEY.cls, with no dot in KEY); 3 files are left out: 3 .svg"));
}

TEST_CASE("a mask beside a picture of an archive is none, whether the picture can be read or not") {
  Archives archives;
  archives.spec.split.test = 0.5;
  std::string members;
  for (int number = 0; number < 8; ++number) {
    const std::string key = std::to_string(number), other = std::to_string(8 + number);
    members += tar_member(key + ".cls", "1") + tar_member(key + ".mask.png", png_file(shard_picture(9))) +
               tar_member(key + ".png", png_file(shard_picture(number)));
    if (number % 2 == 0) continue;
    members += tar_member(other + ".cls", "1") + tar_member(other + ".avif", "x") +
               tar_member(other + ".mask.png", png_file(shard_picture(9)));
  }
  archives.folder.write("train.tar", tar_of(members));
  const PictureList found = list_archives(archives.folder / "train.tar", archives.spec);
  REQUIRE(found.pictures.size() == 8);
  for (int number = 0; number < 8; ++number)
    CHECK(found.pictures[static_cast<size_t>(number)].file.member == std::to_string(number) + ".png");
  CHECK(found.left_out == EndingCounts{{".avif", 4}, {".png", 4}});
}

TEST_CASE("hidden members, and those that macOS adds, are no part of an example") {
  Archives archives;
  archives.spec.split.test = 0.5;
  std::string members;  // as tar of macOS writes them: the attributes of each file before it
  for (int number = 0; number < 8; ++number) {
    const std::string name = std::to_string(number);
    for (const auto& [ending, content] : std::map<std::string, std::string>{
             {".cls", std::to_string(number % 2)}, {".png", png_file(shard_picture(number))}})
      members += tar_member("./._" + name + ending, std::string("\x00\x05\x16\x07", 4)) +
                 tar_member("./" + name + ending, content);
  }
  members += tar_member("__MACOSX/0.png", "x") + tar_member("a/.b.png", "", '2', "/etc/passwd");
  CHECK(archives.error(tar_of(members)) == "no error");
  const PictureList found = list_archives(archives.folder.path(), archives.spec);
  CHECK(found.left_out.empty());
  REQUIRE(found.pictures.size() == 8);
  CHECK(found.pictures[3].file.member == "./3.png");
  CHECK(found.pictures[3].label == 1);
}

TEST_CASE("one archive is divided as its keys decide, and classes may be words") {
  Archives archives;
  const fs::path file = archives.folder.write("pictures.tar", tar_of(samples(0, 40, {"rose", "daisy"})));
  archives.spec.path = file.string();
  archives.spec.split = {.validation = {}, .test = 0.3, .seed = 1};
  const PictureList before = divided(list_archives(file, archives.spec), archives.spec);
  CHECK(before.classes == std::vector<std::string>{"daisy", "rose"});
  CHECK(before.pictures[0].label == 1);
  CHECK(before.pictures[1].label == 0);
  CHECK(before.train.size() + before.test.size() == 40);
  CHECK(before.test.size() > 5);
  const auto keys = [](const PictureList& list, const std::vector<int64_t>& part) {
    std::set<std::string> names;
    for (const int64_t index : part) names.insert(list.pictures[static_cast<size_t>(index)].file.member);
    return names;
  };
  archives.folder.write("pictures.tar",
                        tar_of(samples(40, 41, {"rose", "daisy"}) + samples(0, 40, {"rose", "daisy"})));
  const PictureList after = divided(list_archives(file, archives.spec), archives.spec);
  std::set<std::string> test = keys(after, after.test);
  test.erase("shard/40.PNG");
  CHECK(test == keys(before, before.test));
}

TEST_CASE("names and owners beyond ASCII are read as Python's tarfile writes them") {
  Archives archives;
  archives.spec.split.test = 0.3;
  const auto written = [](const std::string& record, const std::string& name, const std::string& content) {
    return tar_member("pax", std::to_string(record.size() + 3) + " " + record, 'x') +
           tar_member(name, content);
  };
  std::string members;
  for (int number = 0; number < 6; ++number) {
    const std::string key = "m\xc3\xb6we" + std::to_string(number);
    members += written("path=" + key + ".png\n", "m_we.png", png_file(shard_picture(number)));
    members += written("path=" + key + ".cls\n", "m_we.cls", number % 2 ? "rose" : "daisy");
  }
  members +=
      written("uname=J\xc3\xbcrgen\n", "6.png", png_file(shard_picture(6))) + tar_member("6.cls", "rose");
  CHECK(archives.error(tar_of(members)) == "no error");
  const PictureList found = list_archives(archives.folder.path(), archives.spec);
  REQUIRE(found.pictures.size() == 7);
  CHECK(found.pictures[5].file.member == "m\xc3\xb6we5.png");
  CHECK(found.pictures[5].label == 1);
  CHECK_THAT(archives.error(tar_of(members + written("path=\xff.png\n", "a.png", "x"))),
             ContainsSubstring("a name in it is not UTF-8"));
  // A length that is no number, and one that is too long: libarchive would leave the header out.
  for (const char* record : {"xx path=a.png\n", "99 path=a.png\n"})
    CHECK_THAT(archives.error(tar_of(members + tar_member("pax", record, 'x') + tar_member("a.png", "x"))),
               ContainsSubstring("is no tar archive that can be read"));
}

TEST_CASE("pictures of an archive whose names differ by their folders alone are examples of their own") {
  Archives archives;
  std::string members;
  for (const char* const folder : {"a", "b", "a/b"}) {
    const std::string key = folder + std::string("/1");
    members += tar_member(key + ".png", png_file(shard_picture(static_cast<int>(members.size()))));
    members += tar_member(key + ".cls", folder + std::string(" things"));
  }
  const fs::path file = archives.folder.write("pictures.tar", tar_of(members));
  const PictureList all = list_archives(file, archives.spec);
  CHECK(all.classes == std::vector<std::string>{"a things", "a/b things", "b things"});
  REQUIRE(all.pictures.size() == 3);
  std::set<std::string> names;
  for (const ListedPicture& picture : all.pictures) {
    names.insert(picture.file.member);
    const fs::path folder = fs::path(picture.file.member).parent_path();
    CHECK(all.classes[static_cast<size_t>(picture.label)] == folder.string() + " things");
  }
  CHECK(names == std::set<std::string>{"a/1.png", "a/b/1.png", "b/1.png"});
}

// By read(2) and the like, of files and all else; nullopt: this system does not count them.
std::optional<int64_t> bytes_read() {
  const std::string counts = content_of("/proc/self/io");
  if (!counts.starts_with("rchar: ")) return std::nullopt;
  return std::stoll(counts.substr(7));
}

TEST_CASE("listing an archive reads the heads of its members and the classes, and few bytes besides") {
  Archives archives;
  std::string members;
  for (int number = 0; number < 100; ++number)
    members += tar_member(std::to_string(number) + ".cls", "1") +
               tar_member(std::to_string(number) + ".png", std::string(70'000, 'x'));
  const fs::path file = archives.folder.write("train.tar", tar_of(members));
  const std::optional<int64_t> before = bytes_read();
  CHECK(list_archives(file, archives.spec).pictures.size() == 100);
  const std::optional<int64_t> after = bytes_read();
  if (!before || !after) {
    WARN("this system does not count the bytes that a process reads");
    return;
  }
  CHECK(*after - *before < std::ssize(members) / 4);
}

TEST_CASE("a packed archive is unpacked once, and then read like any other") {
  Archives archives;
  const std::string members = tar_of(samples(0, 20, {"rose", "daisy"}));
  archives.spec.split = {.validation = {}, .test = 0.3, .seed = 1};
  archives.spec.cache = "none";
  const auto train_pictures = [&] { return pictures_in(*load_dataset(archives.spec, 1).train); };
  const fs::path plain = archives.folder.write("pictures.tar", members);
  const std::set<std::string> expected = train_pictures();
  fs::remove(plain);
  const fs::path packed = archives.folder.write("pictures.tar.gz", gzip(members));
  archives.folder.write("pictures.tar", members);
  CHECK_THAT(error_of([&] { find_dataset(archives.spec); }),
             ContainsSubstring("pictures.tar and pictures.tar.gz are one archive, packed and not"));
  fs::remove(plain);
  CHECK(train_pictures() == expected);
  REQUIRE(list_image_caches().size() == 1);
  const CachedImages unpacked = list_image_caches()[0];
  CHECK(unpacked.root == "pictures.tar.gz");
  CHECK(unpacked.bytes > std::ssize(members));

  const auto made = fs::last_write_time(unpacked.file);
  CHECK(train_pictures() == expected);
  CHECK(fs::last_write_time(unpacked.file) == made);
  fs::last_write_time(packed,
                      fs::last_write_time(packed) - std::chrono::hours(1));  // another file of that name
  archives.spec.cache = "disk";
  CHECK(train_pictures() == expected);
  CHECK(list_image_caches().size() == 3);
  for (const CachedImages& cached : list_image_caches()) remove_image_cache(cached);

  archives.folder.write("pictures.tar.gz", gzip(members, int64_t{64} << 20));
  archives.spec.cache_gigabytes = 0.01;  // a bomb is small
  const auto error = [&](ExitCode code) { return error_of([&] { find_dataset(archives.spec); }, code); };
  CHECK_THAT(error(ExitCode::kUsage), ContainsSubstring("pictures.tar.gz unpacks to more than the limit"));
  CHECK(list_image_caches().empty());
  archives.folder.write("pictures.tar.gz", gzip(members, int64_t{300} << 20));
  archives.spec.cache_gigabytes = 1;
  CHECK_THAT(error(ExitCode::kData),
             ContainsSubstring("pictures.tar.gz: unpacks to over 100 times its size"));
  CHECK(list_image_caches().empty());
  // Nothing of an archive that is refused stays.
  archives.folder.write("pictures.tar.gz", gzip(tar_of(tar_member("notes.txt", std::string(100'000, 'x')))));
  CHECK_THAT(error(ExitCode::kData), ContainsSubstring("has no pictures with a class"));
  CHECK(list_image_caches().empty());
  const std::string half = gzip(members).substr(0, gzip(members).size() / 2);
  archives.folder.write("pictures.tar.gz", half);
  CHECK_THAT(error(ExitCode::kData), ContainsSubstring("pictures.tar.gz: cannot be unpacked: "));
  CHECK(list_image_caches().empty());
}

TEST_CASE("packed archives take data.cache_gigabytes together") {
  Archives archives;
  const std::string members = tar_of(samples(0, 20, {"rose", "daisy"}));
  archives.folder.write("train-0.tar.gz", gzip(members));
  archives.folder.write("train-1.tar.gz", gzip(members));
  archives.spec.split = {.validation = {}, .test = 0.3, .seed = 1};
  archives.spec.cache_gigabytes = 1.5e-9 * static_cast<double>(members.size());
  const std::string limit = fmt::format("{:g} GB, with the ", archives.spec.cache_gigabytes);
  CHECK_THAT(error_of([&] { find_dataset(archives.spec); }, ExitCode::kUsage),
             ContainsSubstring("train-1.tar.gz unpacks to more than the limit of " + limit));
}

TEST_CASE("an unpacked archive that is damaged is unpacked again, and no byte of it is used") {
  Archives archives;
  archives.folder.write("pictures.tar.gz", gzip(tar_of(samples(0, 20, {"rose", "daisy"}))));
  archives.spec.split = {.validation = {}, .test = 0.3, .seed = 1};
  archives.spec.cache = "none";
  const auto pictures = [&] { return pictures_in(*load_dataset(archives.spec, 1).train); };
  const std::set<std::string> expected = pictures();
  const fs::path file = list_image_caches().at(0).file;
  const std::string whole = content_of(file);
  for (const auto& [from, to] : std::vector<std::pair<size_t, size_t>>{
           {0, whole.size()}, {whole.size() - 1, whole.size()}, {whole.size() - 40, whole.size() - 30}}) {
    std::string damaged = whole;
    damaged.replace(from, to - from, std::string(to - from, '\0'));
    write_file(file, damaged);
    CHECK(pictures() == expected);
    CHECK(content_of(file) == whole);
  }
  write_file(file, whole.substr(0, whole.size() / 2));
  CHECK(pictures() == expected);
  // Of one that is in use.
  const Dataset dataset = load_dataset(archives.spec, 1);
  std::string damaged = whole;
  for (size_t at = 600; at < whole.size() / 2; at += 500) damaged[at] ^= 1;
  write_file(file, damaged);
  CHECK_THAT(error_of([&] { pictures_in(*dataset.train); }, ExitCode::kDisk),
             ContainsSubstring("its bytes have changed since dtrain wrote them"));
  CHECK_FALSE(fs::exists(file));
  CHECK(pictures() == expected);
}

TEST_CASE("what an archive must not have is refused, with its name") {
  Archives archives;
  archives.spec.split.test = 0.3;
  const std::string good = samples(0, 6, {"0", "1"});
  CHECK(archives.error(tar_of(good)) == "no error");
  CHECK_THAT(archives.error(""), ContainsSubstring("train.tar: "));
  CHECK_THAT(archives.error(tar_of("")), ContainsSubstring("train.tar: has no pictures with a class"));
  CHECK_THAT(archives.error(std::string(2000, 'x')), ContainsSubstring("is no tar archive that can be read"));
  CHECK_THAT(archives.error(tar_of(good + tar_member("a.jpg", "", '2', "/etc/passwd"))),
             ContainsSubstring("a.jpg: not a plain file"));
  CHECK_THAT(archives.error(tar_of(good + tar_member("a.jpg", "", '1', "shard/0.PNG"))),
             ContainsSubstring("a.jpg: not a plain file"));
  CHECK_THAT(archives.error(tar_of(good + tar_member("a.jpg", "x"))),
             ContainsSubstring("a.jpg: has no class: a file a.cls beside it"));
  CHECK_THAT(archives.error(tar_of(good + tar_member("a.cls", "1") + tar_member("a.jpg", "x") +
                                   tar_member("a.png", "x"))),
             ContainsSubstring("a.png: a second picture of the example a"));
  CHECK_THAT(archives.error(tar_of(good + tar_member("a.cls", std::string(300, '1')))),
             ContainsSubstring("a.cls: is over 256 B"));
  CHECK_THAT(archives.error(tar_of(good + tar_member("a.cls", "99999") + tar_member("a.jpg", "x"))),
             ContainsSubstring("the class 99999, where 10,000 classes can be read"));
  CHECK_THAT(archives.error(tar_of(good + tar_member("\xff.jpg", "x"))),
             ContainsSubstring("a name in it is not UTF-8"));
  // A name that leads out of a folder is only a name: nothing is unpacked.
  CHECK(archives.error(tar_of(good + tar_member("../a.cls", "1") + tar_member("../a.png", "x"))) ==
        "no error");
  // Damage is found when the picture is read.
  archives.spec.cache = "none";
  archives.folder.write("train.tar",
                        tar_of(good + tar_member("b.cls", "1") + tar_member("b.png", "no picture")));
  archives.spec.split.test = 0.01;
  archives.spec.split.seed = 3;
  archives.folder.write("test.tar", tar_of(samples(9, 11, {"0", "1"})));
  CHECK_THAT(error_of([&] { find_dataset(archives.spec); }, ExitCode::kUsage),
             ContainsSubstring("test.tar is there, which is that part"));
  archives.spec.split.test = {};
  const Dataset dataset = load_dataset(archives.spec, 1);
  CHECK_THAT(error_of([&] { pictures_in(*dataset.train); }),
             ContainsSubstring("train.tar: b.png: no JPEG, PNG"));
}

TEST_CASE("an archive that was cut off is refused at any length, also between two members") {
  Archives archives;
  archives.spec.split.test = 0.3;
  const std::string members = samples(0, 6, {"0", "1"}), whole = tar_of(members);
  for (size_t length = 0; length <= members.size(); length += 128) {
    INFO(length);
    CHECK_THAT(archives.error(whole.substr(0, length)), ContainsSubstring("train.tar: "));
  }
  CHECK_THAT(archives.error(members), ContainsSubstring("train.tar: is cut off, or its writer did not"));
  CHECK(archives.error(members + std::string(512, '\0')) == "no error");
  CHECK(archives.error(tar_of(members) + std::string(8192, '\0')) == "no error");  // in records, as of tar
  archives.folder.write("train.tar.gz", gzip(members));
  fs::remove(archives.folder / "train.tar");
  const auto error = [&] { return error_of([&] { find_dataset(archives.spec); }); };
  CHECK_THAT(error(), ContainsSubstring("train.tar.gz: is cut off"));
  archives.folder.write("train.tar.gz", gzip(members, 512));
  CHECK(error() == "no error");
}

TEST_CASE("archives that were put together with cat are refused, packed or not") {
  Archives archives;
  archives.spec.split.test = 0.3;
  const std::string one = tar_of(samples(0, 6, {"0", "1"})), other = tar_of(samples(6, 12, {"0", "1"}));
  CHECK_THAT(archives.error(one + other), ContainsSubstring("train.tar: goes on after its end"));
  fs::remove(archives.folder / "train.tar");
  archives.folder.write("train.tar.gz", gzip(one) + gzip(other));
  CHECK_THAT(error_of([&] { find_dataset(archives.spec); }),
             ContainsSubstring("train.tar.gz: goes on after its end"));
}

}  // namespace
}  // namespace dtrain
