#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <string_view>

#include "codecs/codecs.h"
#include "core/error.h"

namespace dtrain {
namespace {

// A file of Windows or OS/2, read as Pillow does
// (https://learn.microsoft.com/windows/win32/gdi/bitmap-storage).
class BmpReader {
 public:
  explicit BmpReader(std::string_view bytes) : bytes_(bytes) {
    const uint64_t header = number(kFileHeader, 4);
    constexpr std::array<uint64_t, 6> kHeaders = {12, 40, 52, 56, 108, 124};
    if (std::find(kHeaders.begin(), kHeaders.end(), header) == kHeaders.end())
      refuse(fmt::format("a header of {} bytes", header));
    is_old_ = header == kHeaders[0];
    const size_t side = is_old_ ? 2 : 4;  // bytes
    width_ = static_cast<int64_t>(number(kFileHeader + 4, side));
    height_ = static_cast<int64_t>(number(kFileHeader + 4 + side, side));
    top_down_ = !is_old_ && height_ >= int64_t{1} << 31;
    if (top_down_) height_ = (int64_t{1} << 32) - height_;
    bits_ = number(kFileHeader + 6 + 2 * side, 2);
    packing_ = is_old_ ? Packing{0} : Packing{number(kFileHeader + 16, 4)};
    check_form();
    size_t end = kFileHeader + header;
    for (size_t i = 0; packing_ == kMasks && i < masks_.size(); ++i) {
      if (i < 3 || header >= 56) masks_[i] = static_cast<uint32_t>(number(kFileHeader + 40 + 4 * i, 4));
      if (header == 40 && i < 3) end += 4;
    }
    if (packing_ == kMasks && (masks_[0] | masks_[1] | masks_[2]) == 0) refuse("no masks of its colours");
    read_palette(end, is_old_ ? 0 : number(kFileHeader + 32, 4));
    at_ = number(10, 4);
  }

  int64_t width() const { return width_; }
  int64_t height() const { return height_; }
  bool is_transparent() const { return masks_[3] != 0; }

  // uint8 [height, width, 3, or with opacity 4]
  at::Tensor decode() {
    const int64_t channels = is_transparent() ? 4 : 3;
    at::Tensor pixels = rows_of_pixels(width_, height_, channels);
    auto* const to = pixels.mutable_data_ptr<uint8_t>();
    if (packing_ == kRuns8 || packing_ == kRuns4) {
      draw_runs(to);
      return pixels;
    }
    const size_t stride = (static_cast<size_t>(width_) * bits_ + 31) / 32 * 4;
    for (int64_t row = 0; row < height_; ++row, at_ += stride) {
      require_bytes_at(at_, stride);
      uint8_t* pixel = to + place_of(row) * width_ * channels;
      for (int64_t column = 0; column < width_; ++column, pixel += channels)
        put(pixel, at_, static_cast<size_t>(column));
    }
    return pixels;
  }

 private:
  enum Packing : uint64_t { kPlain = 0, kRuns8 = 1, kRuns4 = 2, kMasks = 3 };
  static constexpr size_t kFileHeader = 14;

  [[noreturn]] static void refuse(const std::string& fault) {
    throw Error(ExitCode::kData, "a BMP with {} cannot be read: convert it to PNG", fault);
  }
  void require_bytes_at(size_t at, size_t count) const {
    if (at > bytes_.size() || count > bytes_.size() - at)
      throw Error(ExitCode::kData, "no sound BMP: {}", kCut);
  }
  uint64_t number(size_t at, size_t count) const {
    require_bytes_at(at, count);
    uint64_t value = 0;
    for (size_t i = count; i-- > 0;) value = value << 8 | static_cast<unsigned char>(bytes_[at + i]);
    return value;
  }

  void check_form() {
    const bool runs = packing_ == kRuns8 || packing_ == kRuns4;
    const bool few = bits_ == 1 || bits_ == 4 || bits_ == 8;
    const bool many = bits_ == 16 || bits_ == 24 || bits_ == 32;
    if (packing_ > kMasks) refuse(fmt::format("compression {}", static_cast<uint64_t>(packing_)));
    if ((!few && !many) || (runs && bits_ != (packing_ == kRuns8 ? 8 : 4)) || (packing_ == kMasks && few))
      refuse(
          fmt::format("{} bits for each pixel and compression {}", bits_, static_cast<uint64_t>(packing_)));
    if (bits_ == 16) masks_ = {0x7C00, 0x3E0, 0x1F, 0};
  }

  void read_palette(size_t at, uint64_t count) {
    for (size_t i = 0; i < palette_.size(); ++i) palette_[i].fill(static_cast<uint8_t>(i));
    if (bits_ > 8) return;
    if (count == 0 || count > uint64_t{1} << bits_) count = uint64_t{1} << bits_;
    const size_t entry = is_old_ ? 3 : 4;
    require_bytes_at(at, count * entry);
    for (size_t i = 0; i < count; ++i, at += entry) {
      for (size_t c = 0; c < 3; ++c) palette_[i][c] = static_cast<uint8_t>(bytes_[at + 2 - c]);
    }
  }

  // Where a row of the file belongs.
  int64_t place_of(int64_t row) const { return top_down_ ? row : height_ - 1 - row; }

  void put(uint8_t* pixel, size_t row, size_t column) const {
    if (bits_ <= 8) {
      const size_t bit = column * bits_;
      const auto byte = static_cast<unsigned char>(bytes_[row + bit / 8]);
      const auto index = static_cast<uint8_t>(byte >> (8 - bits_ - bit % 8) & ((1U << bits_) - 1));
      std::copy_n(palette_[index].begin(), 3, pixel);
    } else if (packing_ == kMasks || bits_ == 16) {
      const uint64_t value = number(row + column * bits_ / 8, bits_ / 8);
      for (size_t c = 0; c < (is_transparent() ? 4 : 3); ++c) pixel[c] = part_of(value, masks_[c]);
    } else {
      for (size_t c = 0; c < 3; ++c)
        pixel[c] = static_cast<uint8_t>(bytes_[row + column * bits_ / 8 + 2 - c]);
    }
  }

  static uint8_t part_of(uint64_t value, uint32_t mask) {
    if (mask == 0) return 0;
    const int shift = std::countr_zero(mask);
    return static_cast<uint8_t>(((value & mask) >> shift) * 255 / (mask >> shift));
  }

  // Runs of equal pixels. What they leave out has the first colour.
  void draw_runs(uint8_t* to) {
    for (int64_t pixel = 0; pixel < width_ * height_; ++pixel)
      std::copy_n(palette_[0].begin(), 3, to + 3 * pixel);
    int64_t row = 0, column = 0;
    const auto draw = [&](uint64_t byte, uint64_t place) {
      const uint64_t index = packing_ == kRuns8 ? byte : place % 2 == 0 ? byte >> 4 : byte & 15;
      if (column < width_)
        std::copy_n(palette_[index].begin(), 3, to + 3 * (place_of(row) * width_ + column));
      ++column;
    };
    while (row < height_) {
      const uint64_t count = number(at_, 1), value = number(at_ + 1, 1);
      at_ += 2;
      if (count > 0) {
        for (uint64_t i = 0; i < count; ++i) draw(value, i);
      } else if (value == 0) {  // end of the row
        ++row;
        column = 0;
      } else if (value == 1) {  // end of the picture
        return;
      } else if (value == 2) {  // a step
        column += static_cast<int64_t>(number(at_, 1));
        row += static_cast<int64_t>(number(at_ + 1, 1));
        at_ += 2;
      } else {  // single pixels
        const uint64_t per_byte = packing_ == kRuns8 ? 1 : 2, bytes = (value + per_byte - 1) / per_byte;
        for (uint64_t i = 0; i < value; ++i) draw(number(at_ + i / per_byte, 1), i);
        at_ += bytes + bytes % 2;
      }
    }
  }

  const std::string_view bytes_;
  bool is_old_ = false;  // of OS/2, with shorter fields
  int64_t width_ = 0, height_ = 0;
  bool top_down_ = false;
  uint64_t bits_ = 0;  // of a pixel
  Packing packing_ = kPlain;
  std::array<uint32_t, 4> masks_{};                    // of red, green, blue, opacity
  std::array<std::array<uint8_t, 3>, 256> palette_{};  // a number without a colour is a grey, as in Pillow
  size_t at_ = 0;                                      // of the pixels
};

}  // namespace

ImageFacts bmp_facts(const std::string& bytes) {
  const BmpReader bmp(bytes);
  return {"BMP", bmp.width(), bmp.height(), bmp.is_transparent() ? "colour, transparent" : "colour"};
}

at::Tensor decode_bmp(const std::string& bytes, SmallestSize /*smallest*/) {
  return on_white(BmpReader(bytes).decode());
}

}  // namespace dtrain
