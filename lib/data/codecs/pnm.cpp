#include <ATen/ATen.h>

#include <algorithm>

#include "codecs/codecs.h"
#include "core/error.h"

namespace dtrain {
namespace {

// The header of a PGM or PPM file: numbers separated by blanks and comments
// (https://netpbm.sourceforge.net/doc/pgm.html).
class PnmHeader {
 public:
  explicit PnmHeader(const std::string& bytes) : bytes_(bytes) {}

  int64_t number(const char* what) {
    skip_blanks();
    int64_t value = 0;
    const size_t begin = at_;
    for (; at_ < bytes_.size() && is_digit(bytes_[at_]) && at_ - begin < 9; ++at_)
      value = 10 * value + (bytes_[at_] - '0');
    if (at_ == begin) throw Error(ExitCode::kData, "no sound PGM or PPM: byte {}: no {}", at_, what);
    return value;
  }
  // Where the pixels begin: one blank after the last number.
  size_t end() const { return at_ + 1; }

 private:
  static bool is_digit(char c) { return c >= '0' && c <= '9'; }
  void skip_blanks() {
    for (; at_ < bytes_.size(); ++at_) {
      if (bytes_[at_] == '#') {
        at_ = std::min(bytes_.find('\n', at_), bytes_.size() - 1);
      } else if (std::string(" \t\r\n").find(bytes_[at_]) == std::string::npos) {
        return;
      }
    }
  }

  const std::string& bytes_;
  size_t at_ = 2;  // after "P5" or "P6"
};

}  // namespace

ImageFacts pnm_facts(const std::string& bytes) {
  PnmHeader header(bytes);
  const int64_t width = header.number("width");
  const bool colour = bytes[1] == '6';
  return {colour ? "PPM" : "PGM", width, header.number("height"), colour ? "colour" : "grey"};
}

at::Tensor decode_pnm(const std::string& bytes, SmallestSize /*smallest*/) {
  PnmHeader header(bytes);
  const int64_t width = header.number("width");
  const int64_t height = header.number("height");
  const int64_t largest = header.number("largest value");
  if (largest < 1 || largest > 255)
    throw Error(ExitCode::kData, "its largest value is {}, where 1 to 255 can be read", largest);
  at::Tensor pixels = rows_of_pixels(width, height, bytes[1] == '6' ? 3 : 1);
  const auto expected = static_cast<int64_t>(header.end()) + pixels.numel();
  if (const auto size = std::ssize(bytes); size != expected)
    throw Error(ExitCode::kData, "{}{} bytes, where an image of {} x {} pixels takes {}",
                size < expected ? std::string(kCut) + ": " : "", size, width, height, expected);
  const auto* values = reinterpret_cast<const uint8_t*>(bytes.data()) + header.end();
  std::transform(values, values + pixels.numel(), pixels.mutable_data_ptr<uint8_t>(),
                 [largest](int64_t value) {
                   return static_cast<uint8_t>((std::min(value, largest) * 255 + largest / 2) / largest);
                 });
  return pixels;
}

}  // namespace dtrain
