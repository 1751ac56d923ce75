#include <ATen/ATen.h>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "catch.h"
#include "data/data_files.h"
#include "data/dataset.h"
#include "data/picture_files.h"
#include "files.h"
#include "images/image_cache.h"
#include "images/shared_memory.h"

namespace dtrain {
namespace {

using namespace test;
namespace fs = std::filesystem;

struct PicturesInMemory : Pictures {
  PicturesInMemory() {
    write_three_classes("", 4);
    spec.split.test = 0.5;
    spec.cache = "memory";
  }
  at::Tensor training() const { return all_of(*load_dataset(spec, 1).train).inputs; }
};

TEST_CASE("pictures in memory are those of the disk, shared by processes, and take no room there") {
  PicturesInMemory pictures;
  const at::Tensor in_memory = pictures.training();
  const std::vector<CachedImages> listed = list_image_caches();
  REQUIRE(listed.size() == 1);
  CHECK(listed[0].in_memory);
  CHECK(listed[0].images == 12);
  CHECK(listed[0].bytes == image_block_bytes(12, 3 * 6 * 8));
  CHECK(fs::file_size(listed[0].file) < 100);

  const std::optional<OpenFile> memory = find_shared_memory(listed[0].file);
  REQUIRE(memory);
  // Nobody can take it from those who read it, or change it.
  const Descriptor writer(::open(content_of(listed[0].file).c_str(), O_RDWR | O_CLOEXEC));
  REQUIRE(writer.get() >= 0);
  CHECK(::ftruncate(writer.get(), 0) != 0);
  CHECK(::pwrite(writer.get(), "x", 1, 5000) < 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const std::optional<OpenFile> shared = find_shared_memory(listed[0].file);
    ::_exit(shared && shared->size() == listed[0].bytes ? 0 : 1);
  }
  int status = -1;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(status == 0);

  pictures.spec.cache = "disk";
  CHECK(at::equal(pictures.training(), in_memory));
}

TEST_CASE("a process keeps the pictures of one set in memory, the last one that it asked for") {
  PicturesInMemory pictures;
  pictures.training();
  const fs::path first = list_image_caches().at(0).file;
  pictures.spec.image.size = {3, 3};
  pictures.training();
  const std::vector<CachedImages> listed = list_image_caches();
  REQUIRE(listed.size() == 1);
  CHECK(listed[0].file != first);
}

TEST_CASE("a note of pictures in memory whose process has ended is in nobody's way") {
  PicturesInMemory pictures;
  const at::Tensor whole = pictures.training();
  const fs::path note = list_image_caches().at(0).file;
  for (const char* wrong : {"", "/proc/self/exe", "/proc/1/fd/99999", "/etc/passwd", "//////////"}) {
    write_file(note, wrong);
    INFO(wrong);
    CHECK_FALSE(find_shared_memory(note));
    CHECK(list_image_caches().at(0).root.empty());
    CHECK(at::equal(pictures.training(), whole));
    CHECK(find_shared_memory(note));
  }
}

TEST_CASE("pictures that memory has no room for are refused with what to change") {
  PicturesInMemory pictures;
  pictures.spec.cache_gigabytes = 1e-6;
  CHECK_THAT(error_of([&] { load_dataset(pictures.spec, 1); }, ExitCode::kUsage),
             ContainsSubstring("data.cache_gigabytes: the 12 pictures take"));
  pictures.spec.cache_gigabytes = 1e6;
  pictures.spec.image.size = {2'000'000, 2'000'000};  // 144 TB: no host has as much
  CHECK_THAT(
      error_of([&] { load_dataset(pictures.spec, 1); }, ExitCode::kUsage),
      ContainsSubstring("data.cache: memory: the 12 pictures take") && ContainsSubstring("data.cache: disk"));
  CHECK(list_image_caches().empty());
}

}  // namespace
}  // namespace dtrain
