#include "metrics/tensorboard.h"

#include <algorithm>
#include <cstring>
#include <fstream>
#include <limits>
#include <map>
#include <optional>

#include "catch.h"
#include "core/error.h"
#include "files.h"
#include "protobuf_reader.h"

namespace dtrain {
namespace {

namespace fs = std::filesystem;

TEST_CASE("CRC-32C gives the known answers") {  // RFC 3720, appendix B.4, and the usual check value
  CHECK(crc32c("123456789") == 0xE3069283U);
  CHECK(crc32c("") == 0);
  CHECK(crc32c(std::string(32, '\0')) == 0x8A9136AAU);
  CHECK(crc32c(std::string(32, '\xff')) == 0x62A8AB43U);
}

template <class T>
T take(std::string& bytes) {
  REQUIRE(bytes.size() >= sizeof(T));
  T value;
  std::memcpy(&value, bytes.data(), sizeof(T));
  bytes.erase(0, sizeof(T));
  return value;
}

uint32_t unmasked(uint32_t crc) {
  const uint32_t rotated = crc - 0xA282EAD8U;
  return (rotated >> 17) | (rotated << 15);
}

// The records of a file, whose checksums must be right.
std::vector<std::string> records_of(const fs::path& file) {
  std::string bytes = content_of(file);
  std::vector<std::string> records;
  while (!bytes.empty()) {
    const std::string length = bytes.substr(0, 8);
    const auto size = take<uint64_t>(bytes);
    CHECK(unmasked(take<uint32_t>(bytes)) == crc32c(length));
    REQUIRE(bytes.size() >= size + 4);
    records.push_back(bytes.substr(0, size));
    bytes.erase(0, size);
    CHECK(unmasked(take<uint32_t>(bytes)) == crc32c(records.back()));
  }
  return records;
}

// A message's fields by number; repeated ones in order.
std::multimap<int, ProtobufField> fields_of(const std::string& message) {
  std::multimap<int, ProtobufField> fields;
  for (const ProtobufField& field : protobuf_fields(message)) fields.emplace(field.number(), field);
  return fields;
}

std::vector<fs::path> files_in(const fs::path& folder) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(folder)) files.push_back(entry.path());
  return files;
}

TEST_CASE("an event file has its version first, then scalars by step") {
  const TemporaryFolder folder;
  {
    EventFile file(folder.path() / "a/b", 0);
    file.add(5, {{"train/loss", 0.25}, {"learning_rate", -1e-3}});
    file.add(int64_t{1} << 40, {{"eval/loss", 2}});
    file.add(6, {});
  }
  const auto files = files_in(folder.path() / "a/b");
  REQUIRE(files.size() == 1);
  CHECK(files[0].filename().string().rfind("events.out.tfevents.", 0) == 0);
  const auto records = records_of(files[0]);
  REQUIRE(records.size() == 4);
  CHECK(fields_of(records[0]).find(3)->second.as_bytes() == "brain.Event:2");
  const auto event = fields_of(records[2]);
  CHECK(event.find(1)->second.as_double() > 1.7e9);
  CHECK(event.find(2)->second.as_integer() == 5);
  const auto values = fields_of(event.find(5)->second.as_bytes());
  REQUIRE(values.count(1) == 2);
  auto value = values.find(1);
  CHECK(fields_of(value->second.as_bytes()).find(1)->second.as_bytes() == "train/loss");
  CHECK(fields_of(value->second.as_bytes()).find(2)->second.as_float() == 0.25F);
  ++value;
  CHECK(fields_of(value->second.as_bytes()).find(1)->second.as_bytes() == "learning_rate");
  CHECK(fields_of(value->second.as_bytes()).find(2)->second.as_float() == -1e-3F);
  CHECK(fields_of(records[3]).find(2)->second.as_integer() == int64_t{1} << 40);
}

std::vector<double> doubles(const std::string& bytes) {
  std::vector<double> numbers(bytes.size() / sizeof(double));
  std::memcpy(numbers.data(), bytes.data(), bytes.size());
  return numbers;
}

TEST_CASE("a number is in the bucket whose limit is the first above it") {
  const std::vector<double>& limits = histogram_limits();
  CHECK(std::is_sorted(limits.begin(), limits.end()));
  for (const double value : {-1e300, -3.0, -1e-12, -1e-20, 0.0, 1e-13, 0.5, 7.0, 1e25}) {
    const size_t bucket = histogram_bucket(value);
    CHECK(value < limits[bucket]);
    if (bucket > 0) CHECK(value >= limits[bucket - 1]);
  }
  CHECK(histogram_bucket(std::numeric_limits<double>::max()) == limits.size() - 1);
}

TEST_CASE("a histogram has its sums, and the buckets that hold something with what is before them") {
  Histogram histogram{-1, 2, 4, 1.5, 5.25, std::vector<double>(histogram_limits().size())};
  const size_t low = histogram_bucket(-1), high = histogram_bucket(2);
  histogram.buckets[low] = 1;
  histogram.buckets[high] = 1;
  histogram.buckets[high - 1] = 2;
  const TemporaryFolder folder;
  EventFile(folder.path(), 0).add_histograms(3, {{"weights/w", histogram}});
  const auto records = records_of(files_in(folder.path()).at(0));
  REQUIRE(records.size() == 3);
  const auto event = fields_of(records[2]);
  CHECK(event.find(2)->second.as_integer() == 3);
  const auto value = fields_of(fields_of(event.find(5)->second.as_bytes()).find(1)->second.as_bytes());
  CHECK(value.find(1)->second.as_bytes() == "weights/w");
  const auto fields = fields_of(value.find(5)->second.as_bytes());
  CHECK(fields.find(1)->second.as_double() == -1);
  CHECK(fields.find(2)->second.as_double() == 2);
  CHECK(fields.find(3)->second.as_double() == 4);
  CHECK(fields.find(4)->second.as_double() == 1.5);
  CHECK(fields.find(5)->second.as_double() == 5.25);
  const auto& limits = histogram_limits();
  CHECK(doubles(fields.find(6)->second.as_bytes()) ==
        std::vector<double>{limits[low - 1], limits[low], limits[high - 2], limits[high - 1], limits[high]});
  CHECK(doubles(fields.find(7)->second.as_bytes()) == std::vector<double>{0, 1, 0, 2, 1});
}

TEST_CASE("a file says from which step it goes on, also where that is the first") {
  const int64_t step = GENERATE(0, 101);
  const TemporaryFolder folder;
  { const EventFile file(folder.path(), step); }
  const auto records = records_of(files_in(folder.path()).at(0));
  REQUIRE(records.size() == 2);
  const auto event = fields_of(records[1]);
  CHECK(event.find(2)->second.as_integer() == step);
  CHECK(fields_of(event.find(7)->second.as_bytes()).find(1)->second.as_integer() == 1);  // SessionLog.START
}

TEST_CASE("a folder that cannot be made is an error that names it") {
  const TemporaryFolder folder;
  std::ofstream(folder.path() / "file") << "x";
  CHECK_THROWS_AS(EventFile(folder.path() / "file", 0), Error);
}

}  // namespace
}  // namespace dtrain
