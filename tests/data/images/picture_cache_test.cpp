// Files of the cache that are not as they were written, or not this user's.
#include <ATen/ATen.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <iostream>
#include <sstream>

#include "catch.h"
#include "codecs/image_file.h"
#include "data/data_files.h"
#include "data/dataset.h"
#include "data/example_source.h"
#include "data/picture_files.h"
#include "files.h"
#include "images/cache_file.h"
#include "images/image_cache.h"

namespace dtrain {
namespace {

using namespace test;
namespace fs = std::filesystem;

// What is told on the standard error until the end of the scope.
class ToldErrors {
 public:
  ToldErrors() : before_(std::cerr.rdbuf(text_.rdbuf())) {}
  ~ToldErrors() { std::cerr.rdbuf(before_); }
  ToldErrors(const ToldErrors&) = delete;
  ToldErrors& operator=(const ToldErrors&) = delete;

  std::string text() const { return text_.str(); }

 private:
  std::ostringstream text_;
  std::streambuf* before_;
};

// Twelve pictures, decoded into a file of the cache.
struct CachedPictures : Pictures {
  fs::path file;

  CachedPictures() {
    write_three_classes("", 4);
    spec.split.test = 0.5;
    REQUIRE(prepare() == 12);
    file = list_image_caches().at(0).file;
  }
  // How many pictures are decoded now.
  int64_t prepare() const {
    int64_t decoded = 0;
    prepare_dataset(find_dataset(spec), spec, [&](int64_t done, int64_t) { decoded = done; });
    return decoded;
  }
  std::string refused() const {
    return error_of([this] { prepare(); }, ExitCode::kUsage);
  }
};

// In place, as a disk does it: who has mapped the file sees it.
void flip(const fs::path& file, int64_t at) {
  std::fstream stream(file, std::ios::binary | std::ios::in | std::ios::out);
  stream.seekg(at);
  const char byte = static_cast<char>(stream.get() ^ 0x10);
  stream.seekp(at);
  stream.put(byte);
  REQUIRE(stream.flush());
}

constexpr int64_t kHeader = 4096, kImage = 3 * 6 * 8;

TEST_CASE("decoded pictures that are damaged are decoded again before a job begins, with a warning") {
  const CachedPictures pictures;
  const std::string whole = content_of(pictures.file);
  std::vector<std::string> damaged = {std::string(whole.size(), '\0'), whole.substr(0, whole.size() - 1), ""};
  for (const int64_t at : {int64_t{20}, kHeader, kHeader + 7 * kImage + 3, kHeader + 12 * kImage - 1,
                           kHeader + 12 * kImage, static_cast<int64_t>(whole.size()) - 1}) {
    damaged.push_back(whole);
    damaged.back()[static_cast<size_t>(at)] ^= 1;
  }
  for (const std::string& content : damaged) {
    write_file(pictures.file, content);
    const ToldErrors told;
    CHECK(pictures.prepare() == 12);
    CHECK_THAT(told.text(),
               ContainsSubstring(pictures.file.string() + ": is damaged; dtrain makes it again"));
    CHECK(content_of(pictures.file) == whole);
    CHECK(pictures.prepare() == 0);
  }
}

TEST_CASE("a decoded picture that is damaged while a job runs is never used") {
  const CachedPictures pictures;
  const ExampleSourcePtr train = load_dataset(pictures.spec, 1).train;
  const StoredExamples sound = all_of(*load_dataset(pictures.spec, 1).train);
  for (int64_t index = 0; index < 12; ++index) flip(pictures.file, kHeader + index * kImage + index);
  const bool all_at_once = GENERATE(true, false);
  CHECK_THAT(
      error_of(
          [&] { all_at_once ? static_cast<void>(train->in_memory()) : static_cast<void>(all_of(*train)); },
          ExitCode::kDisk),
      ContainsSubstring("its bytes have changed since dtrain wrote them. dtrain has removed it and "
                        "makes it again"));
  CHECK_FALSE(fs::exists(pictures.file));
  CHECK(at::equal(all_of(*load_dataset(pictures.spec, 1).train).inputs, sound.inputs));
}

TEST_CASE("a picture that was compared once is not compared again") {
  const CachedPictures pictures;
  const ExampleSourcePtr train = load_dataset(pictures.spec, 1).train;
  all_of(*train);
  for (int64_t index = 0; index < 12; ++index) flip(pictures.file, kHeader + index * kImage);
  CHECK(all_of(*train).inputs.numel() > 0);
}

TEST_CASE("what is no regular file, or another user's, is refused in the cache, and nothing waits for it") {
  const CachedPictures pictures;
  const fs::path partial = pictures.file.string() + ".partial", lock = pictures.file.string() + ".lock";
  const std::string whole = content_of(pictures.file);
  for (const fs::path& file : {pictures.file, partial, lock}) {
    fs::remove(pictures.file);
    fs::remove(lock);
    REQUIRE(::mkfifo(file.c_str(), 0600) == 0);
    CHECK_THAT(pictures.refused(), ContainsSubstring(file.string() + ": is not a regular file; remove it"));
    fs::remove(file);
    fs::create_directory(file);
    CHECK_THAT(pictures.refused(), ContainsSubstring(file.string() + ": "));
    fs::remove(file);
  }
  CHECK(pictures.prepare() == 12);
  for (const mode_t mode : {0664, 0646}) {
    REQUIRE(::chmod(pictures.file.c_str(), mode) == 0);
    CHECK_THAT(pictures.refused(), ContainsSubstring(": may be written to by other users; remove it"));
    CHECK(list_image_caches().at(0).root.empty());
  }
  REQUIRE(::chmod(pictures.file.c_str(), 0644) == 0);
  CHECK(pictures.prepare() == 0);
  if (::geteuid() != 0) {
    WARN("not run as root: cannot give a file to another user");
    return;
  }
  REQUIRE(::chown(pictures.file.c_str(), 12'345, 0) == 0);
  CHECK_THAT(pictures.refused(), ContainsSubstring(": belongs to another user (number 12345)"));
}

TEST_CASE("what was left unfinished is removed before a file is made, unless it is being made") {
  const CachedPictures pictures;
  const fs::path folder = pictures.file.parent_path();
  const auto leave = [&](const std::string& name) {
    write_file(folder / (name + ".partial"), "half of it");
    return open_made(folder / (name + ".lock"));
  };
  leave("0123.train.tar.unpacked");
  leave("4567.images");
  const OpenFile lock = leave("89ab.images");
  REQUIRE(try_lock(lock, LOCK_EX | LOCK_NB));
  fs::remove(pictures.file);
  CHECK(pictures.prepare() == 12);
  CHECK_FALSE(fs::exists(folder / "0123.train.tar.unpacked.partial"));
  CHECK_FALSE(fs::exists(folder / "4567.images.partial"));
  CHECK(content_of(folder / "89ab.images.partial") == "half of it");
}

// Takes what is told on the standard error until the end of the scope, and gives up the lock then.
class UnlocksWhenTold : public std::stringbuf {
 public:
  explicit UnlocksWhenTold(const OpenFile& lock) : lock_(lock) { before_ = std::cerr.rdbuf(this); }
  ~UnlocksWhenTold() override { std::cerr.rdbuf(before_); }

 protected:
  int sync() override { return ::flock(lock_.descriptor(), LOCK_UN); }

 private:
  const OpenFile& lock_;
  std::streambuf* before_ = nullptr;
};

TEST_CASE("a process that waits for a file that another one makes says so") {
  const TemporaryFolder folder;
  const fs::path file = folder / "89ab.images";
  const OpenFile lock = open_made(file.string() + ".lock");
  REQUIRE(try_lock(lock, LOCK_EX | LOCK_NB));
  UnlocksWhenTold told(lock);
  make_cache_file(
      file, [] { return false; }, [](const OpenFile&) {});
  CHECK(told.str() == "dtrain: waiting for another process, which makes " + file.string() +
                          "; if it is stopped, continue it\n");
  CHECK(fs::exists(file));
}

TEST_CASE("a picture that changed is decoded again, though its size and time of modification are the same") {
  const CachedPictures pictures;
  const fs::path changed = pictures.folder / "rose" / "picture 300.png";
  const auto modified = fs::last_write_time(changed);
  std::string content = content_of(changed);
  content[content.size() - 1] ^= 1;  // of a checksum that nobody looks at
  struct stat before {
  }, now{};
  REQUIRE(::stat(changed.c_str(), &before) == 0);
  do {  // the clock of files has ticks of some milliseconds
    write_file(changed, content);
    fs::last_write_time(changed, modified);
    REQUIRE(::stat(changed.c_str(), &now) == 0);
  } while (now.st_ctim.tv_sec == before.st_ctim.tv_sec && now.st_ctim.tv_nsec == before.st_ctim.tv_nsec);
  REQUIRE(now.st_mtim.tv_nsec == before.st_mtim.tv_nsec);
  CHECK(pictures.prepare() == 12);
}

}  // namespace
}  // namespace dtrain
