// Tables in Parquet files. What reads them is a module of its own, with Arrow's libraries, which is loaded
// when a job names such a file (parquet/module). Files are untrusted.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace dtrain {

enum class ParquetKind { kNumber, kDate, kWord, kOther };

struct ParquetColumn {
  std::string name;
  ParquetKind kind = ParquetKind::kOther;
  std::string holds = {};  // of kOther, for messages: "lists"
  // read() as words gives bytes, as of pictures: a binary column, or a struct with one named bytes.
  bool has_bytes = false;
  bool operator==(const ParquetColumn&) const = default;
};

// Some rows of a column. Views are there for one call.
struct ParquetCells {
  bool are_words = false;
  bool are_single = false;           // the numbers were float32
  std::vector<double> numbers = {};  // NaN: missing. Dates are days since 1970-01-01, booleans 0 and 1
  std::vector<std::string_view> words = {};  // each once, in the order of their first rows
  std::vector<int32_t> places = {};          // among the words, by row; -1: missing

  int64_t rows() const { return static_cast<int64_t>(are_words ? places.size() : numbers.size()); }
};
using OnParquetCells = std::function<void(const ParquetCells& cells)>;

class ParquetFile {
 public:
  virtual ~ParquetFile() = default;
  virtual const std::vector<ParquetColumn>& columns() const = 0;
  virtual int64_t rows() const = 0;                            // as the file says; read() finds out
  virtual std::string note(const std::string& key) const = 0;  // of the file's metadata; empty: it has none
  // Calls `on_cells` with all rows of a column, in order, in memory that is bounded by the file's size. With
  // `as_words` numbers and dates are words, too. Any threads may call it at once. Throws what `on_cells`
  // does, and for a damaged file any std::exception.
  virtual void read(size_t column, bool as_words, const OnParquetCells& on_cells) const = 0;
};

// Whether a file begins as Parquet files do. A file that cannot be read does not.
bool is_parquet(const std::filesystem::path& path);

// One or several Parquet files as one table, in this order.
class ParquetTable {
 public:
  // Throws Error(kUsage) without the module, Error(kData) that names the file if it cannot be read, or has
  // other columns than the first.
  explicit ParquetTable(const std::vector<std::filesystem::path>& paths);

  const std::vector<ParquetColumn>& columns() const { return columns_; }
  std::string note(const std::string& key) const;  // of the first file
  int64_t rows() const { return rows_; }
  int64_t bytes() const { return bytes_; }  // of the files
  // As ParquetFile::read(), with the file and the number of the first row in it, from 1. Throws Error(kData)
  // for a file that is damaged.
  void read(size_t column, bool as_words,
            const std::function<void(const std::filesystem::path& path, const ParquetCells& cells,
                                     int64_t first)>& on_cells) const;

 private:
  // Few files stay open, since a process may have some hundreds.
  struct File {
    std::filesystem::path path;
    int64_t rows = 0;
    std::shared_ptr<const ParquetFile> open = nullptr;  // null: opened when it is read
  };
  std::vector<File> files_;
  std::vector<ParquetColumn> columns_;
  int64_t rows_ = 0;
  int64_t bytes_ = 0;
};

}  // namespace dtrain
