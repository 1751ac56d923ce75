// Event files for TensorBoard: TFRecord records, each with a protocol buffer of type tensorflow.Event
// (tensorflow/core/util/event.proto, tensorflow/core/lib/io/record_writer.h).
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "core/descriptor.h"

namespace dtrain {

struct Scalar {
  std::string tag;  // "train/loss"
  double value = 0;
};

// A histogram of the finite numbers among some values. It has TensorBoard's buckets: bucket i holds the
// numbers from limit i - 1 up to limit i; the limits grow by a tenth from 1e-12 to 1e20 on both sides of zero
// (TensorFlow, tensorflow/core/lib/histogram/histogram.cc).
struct Histogram {
  double minimum = 0;
  double maximum = 0;
  double count = 0;
  double sum = 0;
  double sum_squares = 0;
  std::vector<double> buckets;  // the count in each bucket; as many as histogram_limits()
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
  // Creates a new events.out.tfevents.* file in `folder`, and the folder if necessary. Makes TensorBoard
  // discard what older files there contain from `first_step` on. Throws Error(kUsage, kDisk).
  EventFile(const std::filesystem::path& folder, int64_t first_step);

  // Written to the file at once. Throw Error(kUsage, kDisk).
  void add(int64_t step, const std::vector<Scalar>& scalars);
  void add_histograms(int64_t step, const std::vector<NamedHistogram>& histograms);

 private:
  void write_record(const std::string& event);

  std::filesystem::path path_;
  Descriptor file_;
};

}  // namespace dtrain
