// Reads Parquet files with Arrow's libraries: a library of its own, because it is built where these are, and
// loaded where a job names such a file (parquet_file.cpp). It uses nothing of dtrain but headers.
#include <arrow/io/file.h>
#include <arrow/memory_pool.h>
#include <arrow/util/decimal.h>
#include <arrow/util/float16.h>
#include <arrow/util/key_value_metadata.h>
#include <parquet/column_reader.h>
#include <parquet/exception.h>
#include <parquet/file_reader.h>
#include <parquet/metadata.h>
#include <parquet/properties.h>
#include <parquet/schema.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <deque>
#include <limits>
#include <stdexcept>
#include <unordered_map>

#include "parquet/parquet_file.h"

namespace dtrain {
namespace {

constexpr int64_t kRowsOfBatch = 16'384;
constexpr int64_t kBufferBytes = int64_t{1} << 20;  // of a column's chunk that is read
// What a file may ask for at once. A page is unpacked as a whole, and says how large it becomes.
constexpr int64_t kLeastLimit = int64_t{256} << 20;
constexpr int64_t kLimitPerByte = 16;
constexpr int64_t kMostRows = int64_t{1} << 40;
constexpr double kMissing = std::numeric_limits<double>::quiet_NaN();
constexpr int64_t kSecondsOfDay = 86'400;
constexpr int64_t kMostDays = 11'000'000;  // of dates as words: the years of the calendar's types
constexpr int64_t kExactInDouble = int64_t{1} << 53;
constexpr int kExactPowers = 22;  // 10^22 is the last one that a double has exactly

// How the values of a column become numbers and words.
struct Meaning {
  int64_t units_of_day = 0;  // of dates and times; 0: it is none
  bool has_date = false;
  bool is_unsigned = false;
  int decimals = 0;  // a value is a whole number of 10^-decimals
  bool is_decimal = false;
  double divisor = 1;    // the power of ten, where a double has it exactly
  bool is_half = false;  // float16
};

// Where the values of a column are.
struct Leaf {
  int index = -1;  // -1: it is nested
  Meaning meaning = {};
};

int64_t units_of_second(parquet::LogicalType::TimeUnit::unit unit) {
  using Unit = parquet::LogicalType::TimeUnit;
  return unit == Unit::MILLIS ? 1'000 : unit == Unit::MICROS ? 1'000'000 : 1'000'000'000;
}

// Decides what a column of single values holds. Returns false if dtrain has no use for it.
bool decide(const parquet::ColumnDescriptor& descriptor, ParquetKind& kind, Meaning& meaning) {
  const parquet::LogicalType& type = *descriptor.logical_type();
  kind = ParquetKind::kNumber;
  // Of programs that do not say that it is text.
  const bool is_bytes = type.is_none() && descriptor.physical_type() == parquet::Type::BYTE_ARRAY;
  if (type.is_string() || type.is_enum() || type.is_JSON() || is_bytes) {
    kind = ParquetKind::kWord;
  } else if (type.is_date()) {
    kind = ParquetKind::kDate;
    meaning.units_of_day = 1;
    meaning.has_date = true;
  } else if (type.is_timestamp()) {
    const auto& timestamp = static_cast<const parquet::TimestampLogicalType&>(type);
    kind = ParquetKind::kDate;
    meaning.units_of_day = kSecondsOfDay * units_of_second(timestamp.time_unit());
    meaning.has_date = true;
  } else if (type.is_time()) {
    const auto& time = static_cast<const parquet::TimeLogicalType&>(type);
    meaning.units_of_day = kSecondsOfDay * units_of_second(time.time_unit());
  } else if (type.is_int()) {
    meaning.is_unsigned = !static_cast<const parquet::IntLogicalType&>(type).is_signed();
  } else if (type.is_decimal()) {
    meaning.is_decimal = true;
    meaning.decimals = static_cast<const parquet::DecimalLogicalType&>(type).scale();
    meaning.divisor = std::pow(10.0, meaning.decimals);
  } else if (type.is_float16() && descriptor.type_length() == 2) {
    meaning.is_half = true;
  } else if (descriptor.physical_type() == parquet::Type::INT96) {
    kind = ParquetKind::kDate;  // an old form of timestamps
    meaning.units_of_day = kSecondsOfDay * 1'000'000;
    meaning.has_date = true;
  } else {
    return (type.is_none() || type.is_null()) &&
           descriptor.physical_type() != parquet::Type::FIXED_LEN_BYTE_ARRAY;
  }
  return true;
}

// Numbers and words of single values.

double number_from_text(const std::string& text) {
  double number = kMissing;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

template <class Float>
std::string shortest(Float number) {
  std::array<char, 64> text{};
  return {text.data(), std::to_chars(text.data(), text.data() + text.size(), number).ptr};
}

struct DayAndRest {
  int64_t day;
  int64_t rest;  // units after its begin, not negative
};
DayAndRest split_day(int64_t value, int64_t units_of_day) {
  const int64_t rest = value % units_of_day;
  return {value / units_of_day - (rest < 0 ? 1 : 0), rest < 0 ? rest + units_of_day : rest};
}

std::string date_text(int64_t value, const Meaning& meaning) {
  const auto [day, rest] = split_day(value, meaning.units_of_day);
  std::array<char, 96> text{};
  int length = 0;
  if (meaning.has_date) {
    const std::chrono::days days(std::clamp(day, -kMostDays, kMostDays));
    const std::chrono::year_month_day date{std::chrono::sys_days(days)};
    length = std::snprintf(text.data(), text.size(), "%04d-%02u-%02u", static_cast<int>(date.year()),
                           static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()));
  }
  if (meaning.units_of_day > 1) {
    const int64_t second = meaning.units_of_day / kSecondsOfDay, seconds = rest / second;
    const int places = second == 1'000 ? 3 : second == 1'000'000 ? 6 : 9;
    length += std::snprintf(text.data() + length, text.size() - static_cast<size_t>(length),
                            "%s%02d:%02d:%02d", length > 0 ? " " : "", static_cast<int>(seconds / 3600),
                            static_cast<int>(seconds / 60 % 60), static_cast<int>(seconds % 60));
    if (rest % second != 0)
      length += std::snprintf(text.data() + length, text.size() - static_cast<size_t>(length), ".%0*lld",
                              places, static_cast<long long>(rest % second));
  }
  return {text.data(), static_cast<size_t>(length)};
}

arrow::Decimal256 decimal_of(const uint8_t* bytes, int64_t length) {
  if (length == 0) return {};
  auto decimal = arrow::Decimal256::FromBigEndian(bytes, static_cast<int32_t>(std::min<int64_t>(length, 64)));
  if (!decimal.ok()) throw std::runtime_error(decimal.status().ToString());
  return *decimal;
}

std::string text_of_integer(int64_t value, const Meaning& meaning) {
  if (meaning.is_decimal) return arrow::Decimal128(value).ToString(meaning.decimals);
  if (meaning.units_of_day > 0) return date_text(value, meaning);
  return meaning.is_unsigned ? std::to_string(static_cast<uint64_t>(value)) : std::to_string(value);
}

double number_of_integer(int64_t value, const Meaning& meaning) {
  if (meaning.is_decimal) {
    if (value > kExactInDouble || value < -kExactInDouble || meaning.decimals > kExactPowers)
      return number_from_text(text_of_integer(value, meaning));
    return static_cast<double>(value) / meaning.divisor;
  }
  if (meaning.units_of_day > 0) {
    const auto [day, rest] = split_day(value, meaning.units_of_day);
    return static_cast<double>(day) + static_cast<double>(rest) / static_cast<double>(meaning.units_of_day);
  }
  return meaning.is_unsigned ? static_cast<double>(static_cast<uint64_t>(value)) : static_cast<double>(value);
}

int64_t integer_of(int32_t value, const Meaning& meaning) {
  return meaning.is_unsigned ? static_cast<int64_t>(static_cast<uint32_t>(value)) : value;
}
int64_t integer_of(int64_t value, const Meaning&) { return value; }
int64_t integer_of(const parquet::Int96& value, const Meaning&) {
  return parquet::Int96GetMicroSeconds(value);  // in nanoseconds, the years after 2262 would not fit
}

// Values of bytes that are no text: decimals and float16. `length` is that of fixed arrays.
double half_of(const parquet::FixedLenByteArray& value) {
  return arrow::util::Float16::FromLittleEndian(value.ptr).ToFloat();
}
std::string decimal_text(const parquet::ByteArray& value, const Meaning& meaning, int) {
  return decimal_of(value.ptr, value.len).ToString(meaning.decimals);
}
std::string decimal_text(const parquet::FixedLenByteArray& value, const Meaning& meaning, int length) {
  return meaning.is_half ? shortest(half_of(value))
                         : decimal_of(value.ptr, length).ToString(meaning.decimals);
}

template <class Value>
inline constexpr bool kIsBytes =
    std::is_same_v<Value, parquet::ByteArray> || std::is_same_v<Value, parquet::FixedLenByteArray>;

template <class Value>
std::string text_of(const Value& value, const Meaning& meaning, int length) {
  if constexpr (std::is_same_v<Value, bool>) {
    return value ? "true" : "false";
  } else if constexpr (std::is_floating_point_v<Value>) {
    return std::isnan(value) ? "" : shortest(value);
  } else if constexpr (kIsBytes<Value>) {
    return decimal_text(value, meaning, length);
  } else {
    return text_of_integer(integer_of(value, meaning), meaning);
  }
}

template <class Value>
double number_of(const Value& value, const Meaning& meaning, int length) {
  if constexpr (std::is_same_v<Value, bool> || std::is_floating_point_v<Value>) {
    return value;
  } else if constexpr (kIsBytes<Value>) {
    return number_from_text(decimal_text(value, meaning, length));
  } else {
    return number_of_integer(integer_of(value, meaning), meaning);
  }
}

// Numbers the different words of a batch.
class WordNumbers {
 public:
  explicit WordNumbers(ParquetCells& cells) : cells_(cells) {}

  int32_t number_of(std::string_view word) {
    const auto [at, is_new] = numbers_.emplace(word, static_cast<int32_t>(cells_.words.size()));
    if (is_new) cells_.words.push_back(word);
    return at->second;
  }
  // Of a dictionary's words, which lie where they did when they were there before.
  int32_t number_of(const parquet::ByteArray& value) {
    Known& known = known_[(reinterpret_cast<uintptr_t>(value.ptr) * 0x9E3779B97F4A7C15U) >> 56];
    if (known.at != value.ptr || known.length != value.len)
      known = {value.ptr, value.len,
               number_of(std::string_view(reinterpret_cast<const char*>(value.ptr), value.len))};
    return known.number;
  }
  // Keeps the word.
  int32_t number_of_new(std::string word) {
    if (const auto at = numbers_.find(word); at != numbers_.end()) return at->second;
    return number_of(std::string_view(kept_.emplace_back(std::move(word))));
  }

 private:
  struct Known {
    const uint8_t* at = nullptr;
    uint32_t length = std::numeric_limits<uint32_t>::max();  // of no word
    int32_t number = 0;
  };
  ParquetCells& cells_;
  std::unordered_map<std::string_view, int32_t> numbers_;
  std::array<Known, 256> known_{};
  std::deque<std::string> kept_;
};

// The rows of one chunk of a column, batch by batch.
template <class Type>
class ChunkReading {
 public:
  using Value = typename Type::c_type;

  ChunkReading(const parquet::ColumnDescriptor& descriptor, const Meaning& meaning, bool is_text)
      : meaning_(meaning),
        is_text_(is_text),
        length_(descriptor.type_length()),
        present_(descriptor.max_definition_level()),
        levels_(present_ > 0 ? kRowsOfBatch : 0),
        values_(new Value[kRowsOfBatch]) {}

  void read(parquet::ColumnReader& any_reader, int64_t rows, bool as_words, const OnParquetCells& on_cells) {
    auto& reader = static_cast<parquet::TypedColumnReader<Type>&>(any_reader);
    ParquetCells cells{.are_words = as_words, .are_single = std::is_same_v<Value, float>};
    for (int64_t left = rows; left > 0;) {
      if (!reader.HasNext()) throw std::runtime_error("a column has fewer values than there are rows");
      int64_t count = 0;
      int16_t* const levels = levels_.empty() ? nullptr : levels_.data();
      const int64_t got =
          reader.ReadBatch(std::min(left, kRowsOfBatch), levels, nullptr, values_.get(), &count);
      if (got <= 0 || got > left || count > got || (levels == nullptr && count != got))
        throw std::runtime_error("a column has fewer values than there are rows");
      if (as_words) {
        WordNumbers words(cells);
        cells.words.clear();
        spread(got, count, -1, cells.places, [&](const Value& value) { return place_in(words, value); });
        on_cells(cells);
      } else {
        spread(got, count, kMissing, cells.numbers,
               [&](const Value& value) { return number_of(value, meaning_, length_); });
        on_cells(cells);
      }
      left -= got;
    }
    if (reader.HasNext()) throw std::runtime_error("a column has more values than there are rows");
  }

 private:
  int32_t place_in(WordNumbers& words, const Value& value) const {
    if constexpr (std::is_same_v<Value, parquet::ByteArray>) {
      if (is_text_) return words.number_of(value);
    }
    return words.number_of_new(text_of(value, meaning_, length_));
  }

  // Puts `rows` cells into `out`: what `convert` makes of the values, which are `count`, and `missing` where
  // there is none.
  template <class Cell, class Convert>
  void spread(int64_t rows, int64_t count, Cell missing, std::vector<Cell>& out,
              const Convert& convert) const {
    out.resize(static_cast<size_t>(rows));
    const Value* value = values_.get();
    if (count == rows) {
      for (Cell& cell : out) cell = convert(*value++);
      return;
    }
    const Value* const end = value + count;
    for (size_t row = 0; row < out.size(); ++row)
      out[row] = levels_[row] == present_ && value != end ? convert(*value++) : missing;
  }

  const Meaning& meaning_;
  const bool is_text_;
  const int length_;
  const int16_t present_;  // the level of a value that is there, and whose structs are
  std::vector<int16_t> levels_;
  std::unique_ptr<Value[]> values_;
};

class ArrowFile : public ParquetFile {
 public:
  ArrowFile(const char* path, int64_t bytes)
      : pool_(arrow::default_memory_pool(), std::max(kLeastLimit, kLimitPerByte * bytes)) {
    auto source = arrow::io::ReadableFile::Open(path, &pool_);
    if (!source.ok()) throw std::runtime_error(source.status().ToString());
    parquet::ReaderProperties properties(&pool_);
    properties.enable_buffered_stream();  // without it a chunk is read as a whole
    properties.set_buffer_size(kBufferBytes);
    properties.set_page_checksum_verification(true);
    file_ = parquet::ParquetFileReader::Open(*source, properties);
    metadata_ = file_->metadata();
    for (int i = 0; i < metadata_->num_row_groups(); ++i) {
      const int64_t rows = metadata_->RowGroup(i)->num_rows();
      if (rows < 0 || rows > kMostRows - rows_)
        throw std::runtime_error("a group of rows has an impossible number of them");
      rows_ += rows;
    }
    look_at_columns();
  }

  const std::vector<ParquetColumn>& columns() const override { return columns_; }
  int64_t rows() const override { return rows_; }

  std::string note(const std::string& key) const override {
    const auto notes = metadata_->key_value_metadata();
    const int at = notes ? notes->FindKey(key) : -1;
    return at < 0 ? "" : notes->value(at);
  }

  void read(size_t column, bool as_words, const OnParquetCells& on_cells) const override {
    const Leaf& leaf = leaves_.at(column);
    const bool is_text = columns_[column].kind == ParquetKind::kWord || columns_[column].has_bytes;
    const bool is_known =
        read_as_one_of<parquet::BooleanType, parquet::Int32Type, parquet::Int64Type, parquet::Int96Type,
                       parquet::FloatType, parquet::DoubleType, parquet::ByteArrayType, parquet::FLBAType>(
            leaf, is_text, as_words, on_cells);
    if (!is_known) throw std::runtime_error("a column of an unknown type");
  }

 private:
  void look_at_columns() {
    const parquet::SchemaDescriptor& schema = *metadata_->schema();
    const parquet::schema::GroupNode& root = *schema.group_node();
    for (int i = 0; i < root.field_count(); ++i) {
      const parquet::schema::Node& node = *root.field(i);
      ParquetColumn column{.name = node.name()};
      Leaf leaf;
      if (node.is_group() || node.is_repeated()) {
        column.holds = node.logical_type()->is_map()                          ? "maps"
                       : node.logical_type()->is_list() || node.is_repeated() ? "lists"
                                                                              : "structs";
        if (column.holds == "structs") leaf.index = bytes_in(node);
        column.has_bytes = leaf.index >= 0;
      } else {
        const int index = schema.ColumnIndex(node);
        const parquet::ColumnDescriptor& descriptor = *schema.Column(index);
        if (decide(descriptor, column.kind, leaf.meaning)) {
          leaf.index = index;
          column.has_bytes =
              descriptor.logical_type()->is_none() && descriptor.physical_type() == parquet::Type::BYTE_ARRAY;
        } else {
          column.kind = ParquetKind::kOther;
          column.holds = "values of the type " + (descriptor.logical_type()->is_none()
                                                      ? parquet::TypeToString(descriptor.physical_type())
                                                      : descriptor.logical_type()->ToString());
        }
      }
      columns_.push_back(std::move(column));
      leaves_.push_back(leaf);
    }
  }

  // The column of bytes in a struct, as Hugging Face's datasets write pictures: {bytes, path}. -1: none.
  int bytes_in(const parquet::schema::Node& node) const {
    const auto& group = static_cast<const parquet::schema::GroupNode&>(node);
    for (int i = 0; i < group.field_count(); ++i) {
      const parquet::schema::Node& field = *group.field(i);
      if (field.name() != "bytes" || field.is_group() || field.is_repeated()) continue;
      const int index = metadata_->schema()->ColumnIndex(field);
      return metadata_->schema()->Column(index)->physical_type() == parquet::Type::BYTE_ARRAY ? index : -1;
    }
    return -1;
  }

  template <class Type>
  void read_as(const Leaf& leaf, bool is_text, bool as_words, const OnParquetCells& on_cells) const {
    ChunkReading<Type> reading(*metadata_->schema()->Column(leaf.index), leaf.meaning, is_text);
    for (int i = 0; i < metadata_->num_row_groups(); ++i) {
      const auto group = file_->RowGroup(i);
      reading.read(*group->Column(leaf.index), group->metadata()->num_rows(), as_words || is_text, on_cells);
    }
  }

  // Returns false if the column has none of these types.
  template <class... Types>
  bool read_as_one_of(const Leaf& leaf, bool is_text, bool as_words, const OnParquetCells& on_cells) const {
    const parquet::Type::type type = metadata_->schema()->Column(leaf.index)->physical_type();
    return ((type == Types::type_num && (read_as<Types>(leaf, is_text, as_words, on_cells), true)) || ...);
  }

  mutable arrow::CappedMemoryPool pool_;
  std::unique_ptr<parquet::ParquetFileReader> file_;
  std::shared_ptr<parquet::FileMetaData> metadata_;
  std::vector<ParquetColumn> columns_;
  std::vector<Leaf> leaves_;
  int64_t rows_ = 0;
};

}  // namespace
}  // namespace dtrain

extern "C" {
__attribute__((visibility("default"))) extern const char dtrain_parquet_version[];
const char dtrain_parquet_version[] = DTRAIN_PARQUET_VERSION;

// Opens a file of so many bytes. The caller owns what is returned.
__attribute__((visibility("default"))) dtrain::ParquetFile* dtrain_open_parquet(const char* path,
                                                                                int64_t bytes) {
  return new dtrain::ArrowFile(path, bytes);
}
}
