// Event files that TensorBoard reads: records of TFRecord framing, each a protocol buffer of tensorflow.Event
// (tensorflow/core/util/event.proto, tensorflow/core/lib/io/record_writer.h).
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace dtrain {

struct Scalar {
  std::string tag;  // "train/loss"
  double value = 0;
};

// Of the finite ones among some numbers. TensorBoard's buckets: bucket i holds the numbers from the limit
// before its own up to it; the limits grow by a tenth from 1e-12 to 1e20 on both sides of zero (TensorFlow,
// tensorflow/core/lib/histogram/histogram.cc).
struct Histogram {
  double minimum = 0;
  double maximum = 0;
  double count = 0;
  double sum = 0;
  double sum_squares = 0;
  std::vector<double> buckets;  // as many as histogram_limits(): how many numbers are in each
};
const std::vector<double>& histogram_limits();
// The bucket of a number.
size_t histogram_bucket(double value);

struct NamedHistogram {
  std::string tag;  // "weights/dense.weight"
  Histogram histogram;
};

// CRC-32C (Castagnoli; RFC 3720, appendix B.4).
uint32_t crc32c(const std::string& bytes);

class EventFile {
 public:
  // Makes a new events.out.tfevents.* in `folder`, which is made if need be. TensorBoard forgets what older
  // files in the folder say of `first_step` and later. Throws Error(kUsage, kDisk).
  EventFile(const std::filesystem::path& folder, int64_t first_step);
  ~EventFile();
  EventFile(const EventFile&) = delete;
  EventFile& operator=(const EventFile&) = delete;

  // Written through at once. Throws Error(kUsage, kDisk).
  void add(int64_t step, const std::vector<Scalar>& scalars);
  void add_histograms(int64_t step, const std::vector<NamedHistogram>& histograms);

 private:
  void write_record(const std::string& event);

  std::filesystem::path path_;
  int descriptor_ = -1;
};

}  // namespace dtrain
