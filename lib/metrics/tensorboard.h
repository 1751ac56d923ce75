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

// CRC-32C (Castagnoli; RFC 3720, appendix B.4).
uint32_t crc32c(const std::string& bytes);

class EventFile {
 public:
  // Makes a new events.out.tfevents.* in `folder`, which is made if need be. TensorBoard forgets what older
  // files in the folder say of `first_step` and later. Throws Error(kUsage).
  EventFile(const std::filesystem::path& folder, int64_t first_step);
  ~EventFile();
  EventFile(const EventFile&) = delete;
  EventFile& operator=(const EventFile&) = delete;

  // Written through at once. Throws Error(kUsage).
  void add(int64_t step, const std::vector<Scalar>& scalars);

 private:
  void write_record(const std::string& event);

  std::filesystem::path path_;
  int descriptor_ = -1;
};

}  // namespace dtrain
