#include "parquet/parquet_file.h"

#include <sys/stat.h>

#include <array>
#include <cerrno>
#include <fstream>
#include <new>

#include "core/data_errors.h"
#include "core/version.h"
#include "device/module_library.h"

namespace dtrain {
namespace {

namespace fs = std::filesystem;

const ModuleLibrary kParquetModule = {
    "parquet",
    "DTRAIN_PARQUET_MODULE",
    "Parquet files",
    "dtrain_open_parquet",
    "after scripts/setup --parquet has fetched Arrow (docs/building.md), or write the table as CSV",
    "; it takes Arrow's libraries of the very version that it was built with, which are in a Python package: "
    "pip install pyarrow==" DTRAIN_ARROW_VERSION
    ", and LD_LIBRARY_PATH=$(python3 -c 'import pyarrow; print(pyarrow.get_library_dirs()[0])') dtrain ..."};

// What goes wrong within the module, as an error about the file.
template <class Work>
auto for_file(const fs::path& path, const Work& work) {
  try {
    return work();
  } catch (const Error&) {
    throw;
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& fault) {
    refuse_file(path, "is damaged, or no Parquet file that dtrain can read: {}",
                printable(fault.what(), 300));
  }
}

int64_t bytes_of_regular(const fs::path& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) fail_on_file(path, "cannot be opened", errno);
  if (!S_ISREG(status.st_mode)) refuse_file(path, "is not a regular file");
  return status.st_size;
}

std::shared_ptr<const ParquetFile> open_file(const fs::path& path) {
  using OpenFunction = ParquetFile* (*)(const char*, int64_t);
  const int64_t bytes = bytes_of_regular(path);  // first: without the module, too, a wrong path is the fault
  static const auto open = reinterpret_cast<OpenFunction>(kParquetModule.load(kVersion));
  return for_file(path, [&] { return std::shared_ptr<const ParquetFile>(open(path.c_str(), bytes)); });
}

constexpr size_t kMostOpen = 64;

}  // namespace

bool is_parquet(const fs::path& path) {
  std::array<char, 4> begin{};
  std::error_code none;
  if (!fs::is_regular_file(path, none)) return false;
  std::ifstream(path, std::ios::binary).read(begin.data(), begin.size());
  return std::string_view(begin.data(), begin.size()) == "PAR1";
}

ParquetTable::ParquetTable(const std::vector<fs::path>& paths) {
  for (const fs::path& path : paths) {
    const std::shared_ptr<const ParquetFile> file = open_file(path);
    bytes_ += bytes_of_regular(path);
    rows_ += file->rows();
    if (files_.empty()) columns_ = file->columns();
    if (file->columns() != columns_)
      refuse_file(path, "has other columns than {}, or with other types; they cannot be one table",
                  printable(paths.front().filename().string(), 200));
    files_.push_back({path, file->rows(), files_.size() < kMostOpen ? file : nullptr});
  }
}

std::string ParquetTable::note(const std::string& key) const { return files_.front().open->note(key); }

void ParquetTable::read(size_t column, bool as_words,
                        const std::function<void(const fs::path& path, const ParquetCells& cells,
                                                 int64_t first)>& on_cells) const {
  for (const File& file : files_) {
    int64_t row = 1;
    const std::shared_ptr<const ParquetFile> open = file.open ? file.open : open_file(file.path);
    if (open->columns() != columns_) refuse_file(file.path, "was changed while it was read; start again");
    for_file(file.path, [&] {
      open->read(column, as_words, [&](const ParquetCells& cells) {
        on_cells(file.path, cells, row);
        row += cells.rows();
      });
    });
    if (row - 1 != file.rows)
      refuse_file(file.path, "says that it has {} rows, and has {}", file.rows, row - 1);
  }
}

}  // namespace dtrain
