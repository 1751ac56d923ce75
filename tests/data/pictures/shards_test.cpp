// Pictures packed into archives, and read from there again.
#include "pictures/shards.h"

#include <fcntl.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdio>
#include <functional>

#include "catch.h"
#include "core/descriptor.h"
#include "data/dataset.h"
#include "data/picture_dataset.h"
#include "data/picture_files.h"
#include "files.h"
#include "pictures/archives.h"
#include "pictures/image_folder.h"

namespace dtrain {
namespace {

using namespace test;
namespace fs = std::filesystem;

// Sixty pictures of three classes with a test and a validation part, and a place for archives of them.
struct PackedPictures : Pictures {
  fs::path out = temporary.path() / "shards";

  PackedPictures() {
    write_three_classes();
    spec.image.size = {6, 8};
    spec.split.test = 0.25;
    spec.split.validation = 0.25;
  }
  PictureList list() const { return divided(list_image_folder(folder, spec), spec); }
  std::vector<WrittenPart> pack(bool overwrite = false, int64_t shard_bytes = 1 << 30) const {
    return write_shards(list(), {.out = out, .shard_bytes = shard_bytes, .overwrite = overwrite});
  }
  std::string error(ExitCode code, bool overwrite = false) const {
    return error_of([&] { pack(overwrite); }, code);
  }
  DataSpec spec_of_shards() const {
    DataSpec packed;
    packed.dataset = "tar";
    packed.path = out.string();
    packed.image = spec.image;
    return packed;
  }
};

TEST_CASE("packed pictures are the same examples, classes and parts, in the same order") {
  const PackedPictures pictures;
  const auto parts = pictures.pack(false, 8000);
  REQUIRE(parts.size() == 3);
  const Dataset before = load_dataset(pictures.spec, 1), after = load_dataset(pictures.spec_of_shards(), 1);
  CHECK(after.info.class_names == std::vector<std::string>{"daisy", "rose", "tulip"});
  for (const auto part : {&Dataset::train, &Dataset::validation, &Dataset::test}) {
    const StoredExamples one = all_of(*(before.*part)), other = all_of(*(after.*part));
    CHECK(at::equal(one.inputs, other.inputs));
    CHECK(at::equal(one.targets, other.targets));
  }
  CHECK(parts[0].name == "train");
  CHECK(parts[0].pictures == before.train->size());
  CHECK(parts[0].shards > 1);
  int64_t bytes = 0, shards = 0;
  for (const auto& entry : fs::directory_iterator(pictures.out / "train")) {
    CHECK(entry.file_size() <= 8000);
    bytes += static_cast<int64_t>(entry.file_size());
    ++shards;
  }
  CHECK(bytes == parts[0].bytes);
  CHECK(shards == parts[0].shards);
  // The files of the pictures are as they were.
  const PictureList packed = list_archives(pictures.out, pictures.spec_of_shards());
  const PictureList listed = pictures.list();
  for (size_t i = 0; i < listed.train.size(); ++i) {
    const ListedPicture& one = listed.pictures[static_cast<size_t>(listed.train[i])];
    const ListedPicture& other = packed.pictures[static_cast<size_t>(packed.train[i])];
    CHECK(read_image_bytes(listed.root, one.file) == read_image_bytes(packed.root, other.file));
    CHECK(one.label == other.label);
  }
}

TEST_CASE("packing archives again makes the same bytes") {
  PackedPictures pictures;
  pictures.pack();
  const std::string first = content_of(pictures.out / "train" / "shard-000000.tar");
  const fs::path again = pictures.temporary.path() / "again/shards/";
  const DataSpec spec = pictures.spec_of_shards();
  write_shards(divided(list_archives(pictures.out, spec), spec), {.out = again, .shard_bytes = 1 << 30});
  CHECK(content_of(again / "train" / "shard-000000.tar") == first);
  CHECK(content_of(again / kShardsNote) == content_of(pictures.out / kShardsNote));
  CHECK(first.size() % 512 == 0);
  CHECK(first.substr(0, 12) == "00000000.png");
}

TEST_CASE("packing replaces only what packing has written, and leaves nothing half done") {
  const PackedPictures pictures;
  fs::create_directory(pictures.out);  // an empty one is in nobody's way
  pictures.pack();
  CHECK_THAT(pictures.error(ExitCode::kUsage),
             ContainsSubstring("shards is there already: --overwrite replaces it"));
  const std::string before = content_of(pictures.out / "train" / "shard-000000.tar");
  pictures.pack(true);
  CHECK(content_of(pictures.out / "train" / "shard-000000.tar") == before);
  write_file(pictures.out / "train" / "notes.txt", "mine");
  CHECK_THAT(pictures.error(ExitCode::kUsage, true),
             ContainsSubstring("has files that dtrain data pack did not write (notes.txt)"));
  fs::remove(pictures.out / "train" / "notes.txt");

  // A picture that is gone, and a signal.
  fs::remove(pictures.folder / "rose" / "picture 300.png");
  fs::create_symlink("nowhere", pictures.folder / "rose" / "picture 300.png");
  CHECK_THAT(pictures.error(ExitCode::kData, true), ContainsSubstring("picture 300.png"));
  CHECK(content_of(pictures.out / "train" / "shard-000000.tar") == before);
  for (const auto& entry : fs::directory_iterator(pictures.temporary.path()))
    CHECK_THAT(entry.path().filename().string(),
               !ContainsSubstring("partial") && !ContainsSubstring("replaced"));

  PictureList packed = list_archives(pictures.out, pictures.spec_of_shards());
  CHECK_THAT(
      error_of([&] { write_shards(packed, {.out = pictures.out, .shard_bytes = 1000, .overwrite = true}); },
               ExitCode::kUsage),
      ContainsSubstring("the pictures to pack are there"));
}

TEST_CASE("archives that are replaced are exchanged in one step, so that some are always there") {
  const PackedPictures pictures;
  const fs::path one = pictures.temporary / "one", other = pictures.temporary / "other";
  fs::create_directory(one);
  fs::create_directory(other);
  if (::renameat2(AT_FDCWD, one.c_str(), AT_FDCWD, other.c_str(), RENAME_EXCHANGE) != 0) {
    WARN("this file system cannot exchange names");
    return;
  }
  pictures.pack();
  const Descriptor events(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC));
  REQUIRE(::inotify_add_watch(events.get(), pictures.temporary.path().c_str(), IN_MOVED_TO) >= 0);
  pictures.pack(true);
  std::array<char, 4096> renamed{};
  const ssize_t bytes = ::read(events.get(), renamed.data(), renamed.size());
  REQUIRE(bytes > 0);
  const std::string names(renamed.data(), static_cast<size_t>(bytes));
  CHECK_THAT(names, ContainsSubstring("shards") && ContainsSubstring(".partial-") &&
                        !ContainsSubstring("-replaced"));
}

TEST_CASE("archives have names in their order, or are refused before any is written") {
  const TemporaryFolder temporary;
  PictureList list;  // the same picture each time, which is not there; it takes 2048 bytes of an archive
  list.root = temporary.path();
  list.classes = {"a"};
  list.pictures = {{.file = {.path = "none.tar", .member = "a.png", .bytes = 100}}};
  const auto failure = [&](size_t pictures, int64_t shard_bytes) -> std::pair<ExitCode, std::string> {
    list.train.assign(pictures, 0);
    try {
      write_shards(list, {.out = temporary.path() / "shards", .shard_bytes = shard_bytes});
    } catch (const Error& error) {
      return {error.code(), error.what()};
    }
    return {};
  };
  for (const auto& [pictures, shard_bytes] : {std::pair{1'000'001, 1}, std::pair{2'000'002, 5120}}) {
    const auto [code, text] = failure(static_cast<size_t>(pictures), shard_bytes);
    CHECK(code == ExitCode::kUsage);
    CHECK(text ==
          "the pictures of train would be 1,000,001 archives, more than 1,000,000: choose larger ones with "
          "--shard-size");
  }
  CHECK(fs::is_empty(temporary.path()));
  // Others fail at the picture that is not there, or at a disk that has too little room.
  for (const auto& [pictures, shard_bytes] : {std::pair{1'000'000, 1}, std::pair{2'000'000, 5120}})
    CHECK(failure(static_cast<size_t>(pictures), shard_bytes).first != ExitCode::kUsage);
}

TEST_CASE("packing into a link writes where it leads") {
  PackedPictures pictures;
  const fs::path disk = pictures.temporary.path() / "disk";
  fs::create_directory(disk);
  fs::create_directory_symlink(disk, pictures.out);
  pictures.pack();
  CHECK(fs::is_symlink(pictures.out));
  CHECK(fs::exists(disk / kShardsNote));
  pictures.pack(true);
  CHECK(fs::is_symlink(pictures.out));
  CHECK(find_dataset(pictures.spec_of_shards()).classes == 3);
}

TEST_CASE("a note of the classes that is damaged is an error") {
  const PackedPictures pictures;
  pictures.pack();
  for (const std::string note :
       {"", "{", "[]", "{\"classes\": 3}", "{\"classes\": [3]}", "{\"classes\": [\"\\n\"]}"}) {
    write_file(pictures.out / kShardsNote, note);
    CHECK_THAT(error_of([&] { find_dataset(pictures.spec_of_shards()); }),
               ContainsSubstring("shards.json: "));
  }
  write_file(pictures.out / kShardsNote, "{\"classes\": [\"a\", \"b\", \"c\", \"d\"]}");
  CHECK(find_dataset(pictures.spec_of_shards()).classes == 4);
  DataSpec named = pictures.spec_of_shards();
  named.class_names = {"x", "y", "z"};
  fs::remove(pictures.out / kShardsNote);
  CHECK(find_dataset(named).class_names == named.class_names);
}

}  // namespace
}  // namespace dtrain
