#include "arrays/idx.h"

#include <sys/stat.h>

#include <vector>

#include "catch.h"
#include "data/data_files.h"
#include "files.h"
#include "ordinary_user.h"

using namespace dtrain;
using namespace dtrain::test;

namespace {

constexpr int64_t kMebibyte = int64_t{1} << 20;

void read_all_images(const std::filesystem::path& path) { read_images(path, read_image_header(path).count); }
void read_all_labels(const std::filesystem::path& path) {
  read_labels(path, read_label_header(path).count, 10);
}

std::string replaced(std::string text, size_t at, const std::string& by) {
  return text.replace(at, by.size(), by);
}

// `text` with the byte at `at` (from the end when negative) inverted.
std::string flipped(std::string text, int at) {
  char& byte = text[at < 0 ? text.size() + static_cast<size_t>(at) : static_cast<size_t>(at)];
  byte = static_cast<char>(~byte);
  return text;
}

std::string without_end(const std::string& text, size_t bytes) { return text.substr(0, text.size() - bytes); }

struct BadFile {
  std::string name;
  std::string content;
  std::string expected;  // in the message
};

std::vector<BadFile> bad_image_files() {
  const std::string good = image_file(5);
  const std::string packed = gzip(good);
  const std::string magic = word(0x803);
  return {
      {"empty", "", "is empty"},
      {"two bytes", magic.substr(0, 2), "byte 2: the content ends here, 2 bytes too early"},
      {"header cut after the magic number", magic, "byte 4: the content ends here, 4 bytes too early"},
      {"header cut in the columns", good.substr(0, 14), "byte 14: the content ends here"},
      {"labels", label_file(5),
       "byte 0: magic number 0x00000801 instead of 0x00000803 (images): this is a file of labels"},
      {"element type of another kind", replaced(good, 0, word(0xD03)), "magic number 0x00000d03"},
      {"little-endian", replaced(good, 0, word(0x03080000)), "magic number 0x03080000"},
      {"web page", "<!DOCTYPE html><html></html>", "looks like a web page"},
      {"no examples", replaced(good, 4, word(0)),
       "byte 4: 0 examples are, where 1 to 100,000,000 can be read"},
      {"no rows", replaced(good, 8, word(0)), "byte 8: 0 rows"},
      {"no columns", replaced(good, 12, word(0)), "byte 12: 0 columns"},
      {"2^31 examples", replaced(good, 4, word(0x80000000)), "byte 4: 2147483648 examples"},
      {"2^31 rows", replaced(good, 8, word(0x80000000)), "byte 8: 2147483648 rows"},
      {"all dimensions 2^32-1", magic + std::string(12, '\xff'), "byte 4: 4294967295 examples"},
      {"a product over the limit", magic + word(100000000) + word(16384) + word(16384),
       "over the limit of 4.0 GiB"},
      {"4 GiB promised by 16 bytes", magic + word(4000000) + word(32) + word(32),
       "byte 16: the file ends here"},
      {"one byte short", without_end(good, 1),
       "byte 75: the file ends here, but its header promises 76 bytes"},
      {"one byte over", good + "x", "byte 76: 1 bytes follow the 76 that the header promises"},
      {"only the magic of gzip", "\x1f\x8b", "byte 0 of the unpacked content: the gzip stream is cut off"},
      {"unknown gzip method", flipped(packed, 2), "damaged gzip stream"},
      {"gzip cut in its data", without_end(packed, 20), "the gzip stream is cut off"},
      {"gzip cut in its checksum", without_end(packed, 6),
       "byte 76 of the unpacked content: the gzip stream is cut off"},
      {"gzip with a wrong checksum", flipped(packed, -8),
       "byte 76 of the unpacked content: damaged gzip stream (incorrect data check)"},
      {"gzip with a wrong length", flipped(packed, -4), "damaged gzip stream (incorrect length check)"},
      {"gzip of less than promised", gzip(without_end(good, 7)),
       "byte 69 of the unpacked content: the content ends here, 7 bytes too early"},
      {"gzip of more than promised", gzip(good + "x"),
       "byte 76 of the unpacked content: more content than the header promises"},
      {"gzip of nothing", gzip(""), "byte 0 of the unpacked content: the content ends here"},
      {"bytes after gzip", packed + "x", "other bytes follow the end of the gzip stream"},
      {"a second gzip stream", packed + packed, "other bytes follow the end of the gzip stream"},
      {"4 GiB promised in a small gzip", gzip(magic + word(4000000) + word(32) + word(32)),
       "the header promises 3.8 GiB, more than"},
      {"gzip bomb", gzip(good, 128 * kMebibyte),
       "byte 76 of the unpacked content: more content than the header promises"},
  };
}

}  // namespace

TEST_CASE("good IDX files are read whatever their packing and name") {
  const TemporaryFolder folder;
  const std::string content = image_file(5, 4, 3);
  for (const std::string& bytes : {content, gzip(content)}) {
    for (const char* name : {"plain", "named.gz"}) {
      const auto path = folder.path() / name;
      write_file(path, bytes);
      const IdxHeader header = read_image_header(path);
      CHECK(header.count == 5);
      CHECK(header.rows == 4);
      CHECK(header.columns == 3);
      const at::Tensor images = read_images(path, 5);
      CHECK(images.sizes() == at::IntArrayRef({5, 1, 4, 3}));
      CHECK(images.scalar_type() == at::kByte);
      const std::string pixels(reinterpret_cast<const char*>(images.const_data_ptr<uint8_t>()), 60);
      CHECK(pixels == content.substr(16));
    }
  }
}

TEST_CASE("labels become int64") {
  const TemporaryFolder folder;
  const auto path = folder.path() / "labels";
  write_file(path, gzip(label_file(12)));
  CHECK(read_label_header(path).count == 12);
  const at::Tensor labels = read_labels(path, 12, 10);
  CHECK(labels.scalar_type() == at::kLong);
  REQUIRE(labels.sizes() == at::IntArrayRef({12}));
  for (int64_t i = 0; i < 12; ++i) CHECK(labels.const_data_ptr<int64_t>()[i] == i % 10);
}

TEST_CASE("bad image files name the file, the offset and the fault, in bounded memory") {
  const TemporaryFolder folder;
  const auto path = folder.path() / "train-images-idx3-ubyte";
  for (const BadFile& bad : bad_image_files()) {
    write_file(path, bad.content);
    INFO(bad.name);
    const MemoryLimit limit(64 * kMebibyte);
    const std::string message = error_of([&] { read_all_images(path); });
    CHECK_THAT(message, ContainsSubstring(bad.expected));
    CHECK_THAT(message, ContainsSubstring(path.string() + ": "));
  }
}

TEST_CASE("every flipped bit in a packed file is found or harmless, never a crash") {
  const TemporaryFolder folder;
  const auto path = folder.path() / "images";
  const std::string content = image_file(5);
  const std::string packed = gzip(content);
  int unnoticed = 0;
  for (size_t bit = 0; bit < packed.size() * 8; ++bit) {
    std::string damaged = packed;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ 1 << bit % 8);
    write_file(path, damaged);
    // Bits of gzip's header (time, operating system) may change nothing; then the images must be right.
    if (error_of([&] { read_all_images(path); }) != "no error") continue;
    ++unnoticed;
    const at::Tensor images = read_images(path, 5);
    CHECK(std::string(reinterpret_cast<const char*>(images.const_data_ptr<uint8_t>()), 60) ==
          content.substr(16));
  }
  CHECK(unnoticed <= 10 * 8);  // the header's size
}

TEST_CASE("a label out of range is named with its offset") {
  const TemporaryFolder folder;
  const auto path = folder.path() / "train-labels-idx1-ubyte";
  write_file(path, replaced(label_file(12), 8 + 7, "\x0a"));
  CHECK_THAT(error_of([&] { read_all_labels(path); }),
             ContainsSubstring("byte 15: label 10 of example 7 is not below the number of classes, 10"));
  write_file(path, replaced(label_file(12), 8, "\xff"));
  CHECK_THAT(error_of([&] { read_all_labels(path); }), ContainsSubstring("byte 8: label 255 of example 0"));
  write_file(path, image_file(2));
  CHECK_THAT(error_of([&] { read_all_labels(path); }), ContainsSubstring("this is a file of images"));
  write_file(path, word(0x801) + word(0));
  CHECK_THAT(error_of([&] { read_all_labels(path); }), ContainsSubstring("byte 4: 0 examples"));
}

TEST_CASE("what is not a file is refused at once") {
  const TemporaryFolder folder;
  const auto path = folder.path() / "images";
  CHECK_THAT(error_of([&] { read_image_header(path); }), ContainsSubstring("cannot be opened: No such file"));
  CHECK_THAT(error_of([&] { read_image_header(folder.path()); }), ContainsSubstring("is a folder"));
  REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
  CHECK_THAT(error_of([&] { read_image_header(path); }), ContainsSubstring("is not a regular file"));
  CHECK_THAT(error_of([&] { read_image_header("/dev/zero"); }), ContainsSubstring("is not a regular file"));
  const OrdinaryUser user(folder.path());
  if (!user.exists()) return;
  const auto locked = folder.write("locked", image_file(1));
  std::filesystem::permissions(locked, std::filesystem::perms::none);
  CHECK_THAT(error_of([&] { read_image_header(locked); }), ContainsSubstring("Permission denied"));
}

TEST_CASE("the first examples are read without unpacking the rest") {
  const TemporaryFolder folder;
  const auto path = folder.path() / "images";
  const std::string content = image_file(3000, 28, 28);
  const std::string packed = gzip(content);
  write_file(path, flipped(packed, -8));  // a wrong checksum shows only at the end
  const at::Tensor images = read_images(path, 2);
  REQUIRE(images.sizes() == at::IntArrayRef({2, 1, 28, 28}));
  CHECK(images.const_data_ptr<uint8_t>()[2 * 784 - 1] == (2 * 784 - 1) % 251);
  CHECK_THAT(error_of([&] { read_images(path, 3000); }), ContainsSubstring("incorrect data check"));
  CHECK_THAT(error_of([&] { read_images(path, 3001); }), ContainsSubstring("byte 4"));
}
