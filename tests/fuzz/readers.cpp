#include "fuzz/readers.h"

#include <ATen/ATen.h>

#include <cstdlib>
#include <filesystem>
#include <functional>
#include <numeric>
#include <stdexcept>

#include "arrays/array_file.h"
#include "arrays/idx.h"
#include "codecs/image_file.h"
#include "core/error.h"
#include "files.h"
#include "job_file/load.h"
#include "parquet/parquet_file.h"
#include "pictures/archives.h"
#include "pictures/parquet_pictures.h"
#include "pictures/shard_index.h"
#include "safetensors/safetensors.h"
#include "tables/csv_table.h"
#include "yaml/problem.h"

namespace dtrain {
namespace {

namespace fs = std::filesystem;

// Reads the bytes from a file of that name, which tells the format where the content does not.
bool read_from_file(const std::string& file_name, const std::string& bytes,
                    const std::function<void(const fs::path& path)>& read) {
  static const TemporaryFolder folder;
  const fs::path path = folder.write(file_name, bytes);
  try {
    read(path);
    return true;
  } catch (const Error& error) {
    if (error.code() == ExitCode::kBug) throw;
    return false;
  }
}

// Touches every byte: the sanitizer sees those that are not there.
void sum_of(const at::Tensor& tensor) {
  const at::Tensor bytes = tensor.contiguous();
  const auto* data = static_cast<const uint8_t*>(bytes.const_data_ptr());
  volatile uint8_t sum = 0;
  for (int64_t i = 0; i < static_cast<int64_t>(bytes.nbytes()); ++i)
    sum = static_cast<uint8_t>(sum + data[i]);
}

void read_table_of(const fs::path& path, bool classes) {
  TableWish wish;
  wish.targets = {"target"};
  wish.classes = classes;
  wish.fills_missing = true;
  const RawTable table = read_raw_table(path, wish);
  std::vector<int64_t> rows(static_cast<size_t>(table.rows));
  std::iota(rows.begin(), rows.end(), int64_t{0});
  const TableFormat format = make_table_format(table, wish, rows);
  const TableTensors encoded = encode_table(table, format, /*with_targets=*/true);
  sum_of(encoded.inputs);
  if (parse_table_format(table_format_text(format)) != format)
    throw std::logic_error("a table's format is not what its text says");
}

// With a target of numbers, or else of classes.
void read_table(const fs::path& path) {
  try {
    read_table_of(path, /*classes=*/false);
  } catch (const Error& error) {
    if (error.code() != ExitCode::kData) throw;
    read_table_of(path, /*classes=*/true);
  }
}

void read_images_and_labels(const fs::path& path) {
  try {
    sum_of(read_images(path, read_image_header(path).count));
  } catch (const Error& error) {
    if (error.code() != ExitCode::kData) throw;
    const int64_t count = read_label_header(path).count;
    sum_of(read_labels(path, count, kMostIdxClasses));
  }
}

void read_safetensors(const fs::path& path) {
  const SafetensorsFile file(path);
  for (const TensorEntry& entry : file.tensors()) sum_of(file.read(entry));
}

void read_archive(const fs::path& path) {
  static const TemporaryFolder folder;
  ::setenv("XDG_CACHE_HOME", folder.path().c_str(), 1);  // where packed ones are unpacked
  fs::remove_all(folder.path() / "dtrain");              // locks too, which would be more with each archive
  DataSpec spec;
  spec.split.test = 0.5;
  spec.split.seed = 1;
  spec.cache_gigabytes = 0.01;
  try {
    const PictureList list = divided(list_archives(path, spec), spec);
    for (const ListedPicture& picture : list.pictures) sum_of(read_image(list.root, picture.file));
  } catch (const FieldError& error) {  // too few pictures for two parts
    throw Error(ExitCode::kData, error.what());
  }
}

#ifdef DTRAIN_PARQUET_MODULE
// All columns, as numbers and as words, and the pictures if there are any.
void read_parquet(const fs::path& path) {
  ::setenv("DTRAIN_PARQUET_MODULE", DTRAIN_PARQUET_MODULE, 1);
  const ParquetTable table({path});
  volatile double sum = 0;
  bool has_pictures = false;
  for (size_t column = 0; column < table.columns().size(); ++column) {
    has_pictures = has_pictures || table.columns()[column].has_bytes;
    if (table.columns()[column].kind == ParquetKind::kOther) continue;
    for (const bool as_words : {false, true}) {
      table.read(column, as_words, [&](const fs::path&, const ParquetCells& cells, int64_t) {
        for (const double number : cells.numbers) sum = sum + number;
        for (const std::string_view word : cells.words)
          sum = sum + static_cast<double>(std::hash<std::string_view>()(word));
        for (const int32_t place : cells.places)
          sum = sum +
                (place < 0 ? 0.0 : static_cast<double>(cells.words.at(static_cast<size_t>(place)).size()));
      });
    }
  }
  DataSpec spec;
  spec.dataset = kImageParquet;
  try {
    if (has_pictures)
      write_pictures_as_tar(path, spec,
                            [&](std::string_view bytes) { sum = sum + static_cast<double>(bytes.size()); });
  } catch (const FieldError& error) {  // columns that the spec would have to name
    throw Error(ExitCode::kData, error.what());
  }
}
#endif

FuzzedReader image_reader(const std::string& name) {
  return {name, [name](const std::string& bytes) {
            return read_from_file("picture." + name, bytes,
                                  [](const fs::path& path) { sum_of(read_image_file(path)); });
          }};
}

bool read_index(const std::string& bytes) {
  try {
    parse_shard_index(bytes, "shards.index");
    return true;
  } catch (const Error& error) {
    if (error.code() != ExitCode::kData) throw;
    return false;
  }
}

bool read_spec(const std::string& bytes) { return parse_spec(bytes, "spec.yaml").ok(); }

}  // namespace

const std::vector<FuzzedReader>& fuzzed_readers() {
  static const std::vector<FuzzedReader> table = {
      image_reader("bmp"),
      {"csv", [](const std::string& bytes) { return read_from_file("table.csv", bytes, read_table); }},
      image_reader("gif"),
      {"idx", [](const std::string& bytes) { return read_from_file("idx", bytes, read_images_and_labels); }},
      {"index", read_index},
      image_reader("jpeg"),
      {"npy",
       [](const std::string& bytes) {
         return read_from_file("x.npy", bytes, [](const fs::path& path) { sum_of(map_npy(path)); });
       }},
      {"npz",
       [](const std::string& bytes) {
         return read_from_file("arrays.npz", bytes, [](const fs::path& path) {
           for (const auto& [name, array] : read_arrays(path, {"x", "y"})) sum_of(array);
         });
       }},
#ifdef DTRAIN_PARQUET_MODULE
      {"parquet",
       [](const std::string& bytes) { return read_from_file("table.parquet", bytes, read_parquet); }},
#endif
      image_reader("png"),
      image_reader("pnm"),
      {"safetensors",
       [](const std::string& bytes) {
         return read_from_file("weights.safetensors", bytes, read_safetensors);
       }},
      {"spec", read_spec},
      {"tar", [](const std::string& bytes) { return read_from_file("train.tar", bytes, read_archive); }},
      image_reader("tiff"),
      image_reader("webp"),
  };
  return table;
}

const FuzzedReader& fuzzed_reader(const std::string& name) {
  for (const FuzzedReader& reader : fuzzed_readers()) {
    if (reader.name == name) return reader;
  }
  throw std::out_of_range("no reader is called '" + name + "'");
}

}  // namespace dtrain
