#include "parquet/parquet_file.h"

#include <sys/stat.h>

#include <array>
#include <cerrno>
#include <fstream>
#include <new>
#include <string_view>

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

std::unique_ptr<ParquetFile> open_file(const fs::path& path, int64_t bytes) {
  using OpenFunction = ParquetFile* (*)(const char*, int64_t);
  static const auto open = reinterpret_cast<OpenFunction>(kParquetModule.load(kVersion));
  return for_file(path, [&] { return std::unique_ptr<ParquetFile>(open(path.c_str(), bytes)); });
}

int64_t bytes_of_regular(const fs::path& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) fail_on_file(path, "cannot be opened", errno);
  if (!S_ISREG(status.st_mode)) refuse_file(path, "is not a regular file");
  return status.st_size;
}

}  // namespace

bool is_parquet(const fs::path& path) {
  std::array<char, 4> begin{};
  std::error_code none;
  if (!fs::is_regular_file(path, none)) return false;
  std::ifstream(path, std::ios::binary).read(begin.data(), begin.size());
  return std::string_view(begin.data(), begin.size()) == "PAR1";
}

ParquetTable::ParquetTable(std::vector<fs::path> paths) : paths_(std::move(paths)) {
  for (const fs::path& path : paths_) {
    const int64_t bytes = bytes_of_regular(path);
    bytes_ += bytes;
    files_.push_back(open_file(path, bytes));
    const ParquetFile& file = *files_.back();
    rows_ += file.rows();
    if (file.columns() != columns())
      refuse_file(path, "has other columns than {}, or with other types; they cannot be one table",
                  printable(paths_.front().filename().string(), 200));
  }
}

void ParquetTable::read(size_t column, bool as_words,
                        const std::function<void(const fs::path& path, const ParquetCells& cells,
                                                 int64_t first)>& on_cells) const {
  for (size_t i = 0; i < files_.size(); ++i) {
    int64_t row = 1;
    for_file(paths_[i], [&] {
      files_[i]->read(column, as_words, [&](const ParquetCells& cells) {
        on_cells(paths_[i], cells, row);
        row += cells.rows();
      });
    });
    if (row - 1 != files_[i]->rows())
      refuse_file(paths_[i], "says that it has {} rows, and has {}", files_[i]->rows(), row - 1);
  }
}

}  // namespace dtrain
