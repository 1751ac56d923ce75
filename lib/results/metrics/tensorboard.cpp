#include "metrics/tensorboard.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <limits>
#include <system_error>

#include "core/files.h"
#include "core/protobuf.h"

namespace dtrain {
namespace {

// TFRecord stores masked checksums, because a checksum of data that contains checksums would be weak.
uint32_t masked_crc(const std::string& bytes) {
  const uint32_t crc = crc32c(bytes);
  return ((crc >> 15) | (crc << 17)) + 0xA282EAD8U;
}

using protobuf::bytes;
using protobuf::integer;
using protobuf::little_endian;
using protobuf::number;
using protobuf::single;

// tensorflow.Event: wall_time = 1, step = 2, then one of file_version = 3, summary = 5, session_log = 7.
std::string event(int64_t step, const std::string& what) {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return number(1, std::chrono::duration<double>(now).count()) + integer(2, step) + what;
}

// tensorflow.HistogramProto: min = 1, max = 2, num = 3, sum = 4, sum_squares = 5, and bucket_limit = 6 and
// bucket = 7, packed, for the buckets that are not empty and the limits of the empty ones before them.
std::string histogram_fields(const Histogram& histogram) {
  std::string limits;
  std::string counts;
  bool before_is_shown = false;
  for (size_t i = 0; i < histogram.buckets.size(); ++i) {
    if (histogram.buckets[i] > 0) {
      if (i > 0 && !before_is_shown) {
        limits += little_endian(histogram_limits()[i - 1]);
        counts += little_endian(0.0);
      }
      limits += little_endian(histogram_limits()[i]);
      counts += little_endian(histogram.buckets[i]);
    }
    before_is_shown = histogram.buckets[i] > 0;
  }
  return number(1, histogram.minimum) + number(2, histogram.maximum) + number(3, histogram.count) +
         number(4, histogram.sum) + number(5, histogram.sum_squares) + bytes(6, limits) + bytes(7, counts);
}

// tensorflow.Summary: value = 1, each with tag = 1, and simple_value = 2 or histo = 5.
std::string value_of(const Scalar& scalar) { return single(2, static_cast<float>(scalar.value)); }
std::string value_of(const NamedHistogram& named) { return bytes(5, histogram_fields(named.histogram)); }
template <class Named>
std::string summary(const std::vector<Named>& all) {
  std::string values;
  for (const Named& one : all) values += bytes(1, bytes(1, one.tag) + value_of(one));
  return bytes(5, values);
}

std::string file_name() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  std::array<char, 65> host{};
  ::gethostname(host.data(), host.size() - 1);
  return fmt::format("events.out.tfevents.{}.{}.{}.dtrain",
                     std::chrono::duration_cast<std::chrono::milliseconds>(now).count(), host.data(),
                     ::getpid());
}

}  // namespace

uint32_t crc32c(const std::string& bytes) {
  // Of the reflected polynomial 0x1EDC6F41, one entry per byte value.
  static const std::array<uint32_t, 256> table = [] {
    std::array<uint32_t, 256> rests{};
    for (uint32_t byte = 0; byte < rests.size(); ++byte) {
      rests[byte] = byte;
      for (int bit = 0; bit < 8; ++bit)
        rests[byte] = (rests[byte] >> 1) ^ ((rests[byte] & 1) != 0 ? 0x82F63B78U : 0);
    }
    return rests;
  }();
  uint32_t crc = 0xFFFFFFFFU;
  for (const char c : bytes) crc = (crc >> 8) ^ table[(crc ^ static_cast<uint8_t>(c)) & 0xFF];
  return crc ^ 0xFFFFFFFFU;
}

const std::vector<double>& histogram_limits() {
  static const std::vector<double> limits = [] {
    std::vector<double> positive;
    for (double limit = 1e-12; limit < 1e20; limit *= 1.1) positive.push_back(limit);
    positive.push_back(std::numeric_limits<double>::max());
    std::vector<double> all;
    for (auto limit = positive.rbegin(); limit != positive.rend(); ++limit) all.push_back(-*limit);
    all.push_back(0);
    all.insert(all.end(), positive.begin(), positive.end());
    return all;
  }();
  return limits;
}

size_t histogram_bucket(double value) {
  const std::vector<double>& limits = histogram_limits();
  const auto limit = std::upper_bound(limits.begin(), limits.end(), value);
  return static_cast<size_t>(std::min(limit, limits.end() - 1) - limits.begin());
}

EventFile::EventFile(const std::filesystem::path& folder, int64_t first_step) : path_(folder / file_name()) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  file_ = Descriptor(::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
  if (file_.get() < 0)
    fail_to_write(path_, "cannot create the file of TensorBoard's events", errno, "--run-dir");
  write_record(event(0, bytes(3, "brain.Event:2")));
  const int kStart = 1;  // SessionLog.status
  write_record(event(first_step, bytes(7, integer(1, kStart))));
}

void EventFile::add(int64_t step, const std::vector<Scalar>& scalars) {
  if (!scalars.empty()) write_record(event(step, summary(scalars)));
}

void EventFile::add_histograms(int64_t step, const std::vector<NamedHistogram>& histograms) {
  if (!histograms.empty()) write_record(event(step, summary(histograms)));
}

// Writes the length, its checksum, the data, and its checksum.
void EventFile::write_record(const std::string& event) {
  const std::string length = little_endian<uint64_t>(event.size());
  const std::string record =
      length + little_endian(masked_crc(length)) + event + little_endian(masked_crc(event));
  if (!write_all(file_.get(), record.data(), record.size()))
    fail_to_write(path_, "cannot write TensorBoard's events", errno, "--run-dir");
}

}  // namespace dtrain
