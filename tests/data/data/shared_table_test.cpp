// Tables in memory that processes share.
#include <ATen/ATen.h>
#include <fmt/format.h>
#include <sys/resource.h>

#include <csignal>

#include "catch.h"
#include "data/data_files.h"
#include "data/dataset.h"
#include "data/example_source.h"
#include "files.h"
#include "images/image_cache.h"
#include "images/shared_memory.h"

namespace dtrain {
namespace {

using namespace test;
namespace fs = std::filesystem;

// Of more than a mebibyte, with a column of numbers, one of words, and a target.
std::string large_table(int rows, double first) {
  std::string text = "number,word,y\n";
  for (int row = 0; row < rows; ++row)
    text += fmt::format("{:.6f},{},{}\n", first + row * 0.001, row % 3 == 0 ? "red" : "green", row);
  return text;
}

struct SharedTable {
  const TemporaryFolder folder;
  const Environment cache{"XDG_CACHE_HOME", (folder / "cache").c_str()};
  const int rows = 60'000;
  DataSpec spec;

  SharedTable() {
    spec.dataset = "csv";
    spec.path = folder.write("rows.csv", large_table(rows, 0)).string();
    spec.target = {"y"};
    spec.target_kind = "numbers";
    spec.split.test = 0.25;
  }
  StoredExamples training() const { return stored_examples_of(*load_dataset(spec, 1).train); }
  // The file that tells where the table is, and what it says.
  static std::pair<fs::path, std::string> note() {
    const std::vector<CachedImages> listed = list_image_caches();
    REQUIRE(listed.size() == 1);
    return {listed[0].file, content_of(listed[0].file)};
  }
};

TEST_CASE("a table is read once, and kept in memory that others find") {
  const SharedTable table;
  const DatasetInfo info = find_dataset(table.spec);
  const std::vector<CachedImages> listed = list_image_caches();
  REQUIRE(listed.size() == 1);
  CHECK(listed[0].in_memory);
  CHECK(listed[0].images == table.rows);
  CHECK(listed[0].shape == std::vector<int64_t>{3});
  CHECK(listed[0].root == *table.spec.path);
  const auto note = SharedTable::note();
  const StoredExamples shared = table.training();
  CHECK(SharedTable::note() == note);
  CHECK(shared.inputs.size(0) == info.train_examples);
  CHECK(shared.targets.scalar_type() == at::kDouble);

  // What a plan writes into the spec changes nothing of the table.
  DataSpec planned = table.spec;
  planned.prefetch = 2;
  planned.resolved_cache = planned.cache;
  CHECK(load_dataset(planned, 1).info.table == load_dataset(table.spec, 1).info.table);

  // The same without sharing.
  const Environment nowhere("XDG_CACHE_HOME", table.folder.write("file", "").c_str());
  const StoredExamples own = table.training();
  CHECK(at::equal(own.inputs, shared.inputs));
  CHECK(at::equal(own.targets, shared.targets));
}

TEST_CASE("a table that has changed, or is used otherwise, is read anew") {
  SharedTable table;
  const StoredExamples before = table.training();
  const auto note = SharedTable::note();
  table.folder.write("rows.csv", large_table(table.rows, 1000));
  CHECK(table.training().inputs.sizes() == before.inputs.sizes());
  const auto changed = SharedTable::note();
  CHECK(changed.first != note.first);
  table.spec.ignore = {"word"};
  CHECK(table.training().inputs.size(1) == 1);
  CHECK(SharedTable::note().first != changed.first);
}

TEST_CASE("the parts of a table are those of the process that reads it, whatever decides them") {
  SharedTable table;
  table.spec.target_kind = "classes";
  table.spec.target = {"word"};
  table.spec.split = {.validation = 0.1, .test = 0.25, .stratify = true};
  const auto targets = [&] {
    const Dataset all = load_dataset(table.spec, 1);
    return std::vector<at::Tensor>{all.train->classes(), all.validation->classes(), all.test->classes()};
  };
  const auto by_class = targets();
  const auto note = SharedTable::note();
  const auto again = targets();
  CHECK(SharedTable::note() == note);
  table.spec.split = {.validation = 0.1, .test = 0.25, .time = "number"};
  const auto by_time = targets();
  for (size_t part = 0; part < 3; ++part) {
    CHECK(at::equal(again[part], by_class[part]));
    CHECK(by_time[part].sizes() == by_class[part].sizes());
    // A third is red, and the numbers ascend.
    CHECK(by_class[part].sum().item<int64_t>() == by_class[part].numel() / 3);
    CHECK(by_time[part].slice(0, 0, 9).sum().item<int64_t>() == 3);
  }
  CHECK_FALSE(at::equal(by_time[2], by_class[2]));
}

TEST_CASE("a folder's parts share their memory") {
  SharedTable table;
  fs::create_directories(table.folder / "both");
  write_file(table.folder / "both/train.csv", large_table(table.rows, 0));
  write_file(table.folder / "both/test.csv", large_table(10, 500));
  table.spec.path = (table.folder / "both").string();
  table.spec.split.test.reset();
  find_dataset(table.spec);
  const auto note = SharedTable::note();
  const Dataset dataset = load_dataset(table.spec, 1);
  CHECK(SharedTable::note() == note);
  CHECK(dataset.train->size() == table.rows);
  CHECK(dataset.test->size() == 10);
  CHECK(stored_examples_of(*dataset.test).targets[9][0].item<double>() == 9);
}

TEST_CASE("a table that cannot be used is refused, and a small one is nobody else's concern") {
  SharedTable table;
  table.spec.target = {"word"};
  CHECK_THROWS_AS(find_dataset(table.spec), Error);
  CHECK(list_image_caches().empty());
  table.folder.write("rows.csv", large_table(10, 0));
  table.spec.target = {"y"};
  CHECK(load_dataset(table.spec, 1).info.train_examples == 8);
  CHECK(list_image_caches().empty());
}

// As `ulimit -f`, while it lives.
class WithFileLimit {
 public:
  explicit WithFileLimit(rlim_t bytes) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit{bytes, before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~WithFileLimit() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }
  WithFileLimit(const WithFileLimit&) = delete;
  WithFileLimit& operator=(const WithFileLimit&) = delete;

 private:
  rlimit before_{};
  void (*handler_)(int);
};

TEST_CASE("a process that may not make the shared memory has the table for itself") {
  const SharedTable table;
  const auto limited = [&] {
    const WithFileLimit limit(1 << 16);
    return table.training();
  }();
  CHECK(list_image_caches().empty());
  const StoredExamples shared = table.training();
  CHECK(list_image_caches().size() == 1);
  CHECK(at::equal(limited.inputs, shared.inputs));
}

}  // namespace
}  // namespace dtrain
