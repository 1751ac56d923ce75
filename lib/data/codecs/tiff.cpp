#include <ATen/ATen.h>
#include <fmt/format.h>
#include <tiffio.h>

#include <algorithm>
#include <array>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <vector>

#include "codecs/codecs.h"
#include "core/error.h"
#include "core/text.h"

namespace dtrain {
namespace {

constexpr int64_t kMostBlockBytes = int64_t{512} << 20;  // of a strip or tile: all pixels with 64 bits each

// A file in memory, as libtiff's functions see it.
struct TiffBytes {
  std::string_view bytes;
  uint64_t at = 0;
  bool is_cut = false;     // more bytes were asked for than the file has
  std::string fault = {};  // the library's first message
  int left_out = 0;        // the file's compression, if dtrain has left it out of the library
};

// libtiff reports faults to functions of the whole process, some without saying of which file.
thread_local TiffBytes* tiff_of_thread = nullptr;

void note_tiff_fault(const char* /*module*/, const char* format, va_list values) {
  if (tiff_of_thread == nullptr || !tiff_of_thread->fault.empty()) return;
  std::array<char, 300> text{};
  std::vsnprintf(text.data(), text.size(), format, values);
  tiff_of_thread->fault = text.data();
}

// Most warnings are of tags that nobody needs. Those of decoders mean that pixels are missing or damaged.
void note_tiff_warning(const char* module, const char* format, va_list values) {
  const std::string_view from = module != nullptr ? module : "";
  const bool is_wrong_size = from == "JPEGPreDecode" && std::string_view(format).starts_with("Improper");
  if (from.starts_with("JPEGLib") || from.starts_with("Fax") || from.starts_with("PackBits") || is_wrong_size)
    note_tiff_fault(module, format, values);
}

int leave_out(int compression) {
  if (tiff_of_thread != nullptr) tiff_of_thread->left_out = compression;
  return 0;
}

tmsize_t give_tiff(thandle_t file, void* to, tmsize_t count) {
  auto& tiff = *static_cast<TiffBytes*>(file);
  const uint64_t left = tiff.at < tiff.bytes.size() ? tiff.bytes.size() - tiff.at : 0;
  const uint64_t given = std::min(left, static_cast<uint64_t>(std::max<tmsize_t>(count, 0)));
  if (given < static_cast<uint64_t>(count)) tiff.is_cut = true;
  if (given > 0) std::memcpy(to, tiff.bytes.data() + tiff.at, given);
  tiff.at += given;
  return static_cast<tmsize_t>(given);
}

toff_t seek_tiff(thandle_t file, toff_t offset, int whence) {
  auto& tiff = *static_cast<TiffBytes*>(file);
  tiff.at = offset + (whence == SEEK_CUR ? tiff.at : whence == SEEK_END ? tiff.bytes.size() : 0);
  return tiff.at;
}

// The first picture of a file.
class TiffReader {
 public:
  explicit TiffReader(const std::string& bytes) : file_{.bytes = bytes}, handle_(&file_) {
    static std::once_flag once;
    std::call_once(once, [] {
      TIFFSetErrorHandler(note_tiff_fault);
      TIFFSetWarningHandler(note_tiff_warning);
    });
    // "m": without a mapping every byte is asked for, and those that are missing are noticed.
    handle_.tiff = TIFFClientOpen(
        "TIFF", "rm", &file_, give_tiff, [](thandle_t, void*, tmsize_t) { return tmsize_t{0}; }, seek_tiff,
        [](thandle_t) { return 0; },
        [](thandle_t file) { return static_cast<toff_t>(static_cast<TiffBytes*>(file)->bytes.size()); },
        nullptr, nullptr);
    if (file_.left_out != 0) refuse(fmt::format("of compression {}", file_.left_out));
    if (handle_.tiff == nullptr) fail();
    read_form();
  }

  int64_t width() const { return width_; }
  int64_t height() const { return height_; }
  bool is_transparent() const { return opacity_ != kOpaque; }
  std::string colours() const {
    std::string text = channels_ == 3 || photometric_ == PHOTOMETRIC_PALETTE ? "colour" : "grey";
    if (bits_ == 16) text += ", 16 bits";
    if (is_transparent()) text += ", transparent";
    if (TIFFLastDirectory(handle_.tiff) == 0) text += ", the first of several pages";
    return text;
  }

  int orientation() const {
    uint16_t orientation = 0;
    if (TIFFGetField(handle_.tiff, TIFFTAG_ORIENTATION, &orientation) != 0)
      return orientation >= 1 && orientation <= 8 ? orientation : 1;
    uint32_t size = 0;
    const char* xmp = nullptr;
    if (TIFFGetField(handle_.tiff, TIFFTAG_XMLPACKET, &size, &xmp) == 0) return 1;
    return orientation_of({.xmp = {xmp, size}});
  }

  bool has_other_colours() const {
    uint32_t size = 0;
    const char* icc = nullptr;
    return TIFFGetField(handle_.tiff, TIFFTAG_ICCPROFILE, &size, &icc) != 0 &&
           dtrain::has_other_colours({icc, size});
  }

  // uint8 [height, width, 1 to 4]: grey or colours, with opacity if it is transparent.
  at::Tensor decode() {
    at::Tensor pixels = rows_of_pixels(width_, height_, kept());
    read_blocks(pixels.mutable_data_ptr<uint8_t>());
    if (photometric_ == PHOTOMETRIC_PALETTE) pixels = with_palette(pixels);
    if (photometric_ == PHOTOMETRIC_MINISWHITE) pixels.select(2, 0).bitwise_not_();
    if (opacity_ == kPremultiplied) divide_by_opacity(pixels);
    return pixels;
  }

 private:
  enum Opacity { kOpaque, kPremultiplied, kPlainOpacity };

  struct Handle {
    TIFF* tiff = nullptr;

    explicit Handle(TiffBytes* file) { tiff_of_thread = file; }
    Handle(Handle&&) = delete;  // nor copied
    ~Handle() {
      if (tiff != nullptr) TIFFClose(tiff);
      tiff_of_thread = nullptr;
    }
  };

  [[noreturn]] void fail() const {
    const std::string fault = file_.fault.empty() ? "it is damaged" : printable(file_.fault);
    throw Error(ExitCode::kData, "no sound TIFF: {}", file_.is_cut ? kCut : fault);
  }
  [[noreturn]] static void refuse(const std::string& form) {
    throw Error(ExitCode::kData, "a TIFF {} cannot be read: convert it to PNG", form);
  }

  template <typename Number>
  Number field(uint32_t tag, Number without) const {
    Number value = without;
    return TIFFGetFieldDefaulted(handle_.tiff, tag, &value) != 0 ? value : without;
  }

  void read_form() {
    width_ = field<uint32_t>(TIFFTAG_IMAGEWIDTH, 0);
    height_ = field<uint32_t>(TIFFTAG_IMAGELENGTH, 0);
    bits_ = field<uint16_t>(TIFFTAG_BITSPERSAMPLE, 1);
    samples_ = field<uint16_t>(TIFFTAG_SAMPLESPERPIXEL, 1);
    photometric_ = field<uint16_t>(TIFFTAG_PHOTOMETRIC, PHOTOMETRIC_MINISWHITE);
    is_planar_ = field<uint16_t>(TIFFTAG_PLANARCONFIG, PLANARCONFIG_CONTIG) == PLANARCONFIG_SEPARATE;
    const auto format = field<uint16_t>(TIFFTAG_SAMPLEFORMAT, SAMPLEFORMAT_UINT);
    if (format != SAMPLEFORMAT_UINT && format != SAMPLEFORMAT_VOID)
      refuse(format == SAMPLEFORMAT_IEEEFP ? "of floating-point numbers" : "of signed or complex numbers");
    check_compression();
    check_colours();
    const bool few = bits_ == 1 || bits_ == 2 || bits_ == 4;
    if ((!few && bits_ != 8 && bits_ != 16) || (few && samples_ != 1))
      refuse(fmt::format("with {} of {} bits", counted(samples_, "number"), bits_));
  }

  void check_compression() {
    constexpr std::array<uint16_t, 9> kRead = {
        COMPRESSION_NONE,          COMPRESSION_CCITTRLE, COMPRESSION_CCITTFAX3,
        COMPRESSION_CCITTFAX4,     COMPRESSION_LZW,      COMPRESSION_JPEG,
        COMPRESSION_ADOBE_DEFLATE, COMPRESSION_DEFLATE,  COMPRESSION_PACKBITS};
    const auto compression = field<uint16_t>(TIFFTAG_COMPRESSION, COMPRESSION_NONE);
    if (std::find(kRead.begin(), kRead.end(), compression) == kRead.end() ||
        TIFFIsCODECConfigured(compression) == 0)
      refuse(fmt::format("of compression {}", compression));
    is_jpeg_ = compression == COMPRESSION_JPEG;
  }

  void check_colours() {
    if (photometric_ == PHOTOMETRIC_SEPARATED) refuse("of inks (CMYK)");
    const bool jpeg_colours = photometric_ == PHOTOMETRIC_YCBCR && is_jpeg_ && !is_planar_;
    if (jpeg_colours) TIFFSetField(handle_.tiff, TIFFTAG_JPEGCOLORMODE, JPEGCOLORMODE_RGB);
    if (photometric_ > PHOTOMETRIC_PALETTE && !jpeg_colours) refuse("of colours other than grey and RGB");
    channels_ = photometric_ == PHOTOMETRIC_RGB || jpeg_colours ? 3 : 1;
    constexpr int kMostSamples = 8;
    if (samples_ < channels_ || samples_ > kMostSamples)
      refuse(fmt::format("with {} for each pixel", counted(samples_, "number")));
    uint16_t count = 0;
    const uint16_t* kinds = nullptr;
    if (samples_ == channels_) return;
    if (TIFFGetField(handle_.tiff, TIFFTAG_EXTRASAMPLES, &count, &kinds) == 0 || count == 0) {
      if (channels_ == 3) opacity_ = kPlainOpacity;  // as in Pillow
    } else if (kinds[0] == EXTRASAMPLE_ASSOCALPHA) {
      opacity_ = kPremultiplied;
    } else if (kinds[0] == EXTRASAMPLE_UNASSALPHA) {
      opacity_ = kPlainOpacity;
    }
  }

  // Numbers of a pixel that are read: the first ones.
  int64_t kept() const { return channels_ + (is_transparent() ? 1 : 0); }

  void read_blocks(uint8_t* to) {
    const bool tiled = TIFFIsTiled(handle_.tiff) != 0;
    const int64_t block_width = tiled ? field<uint32_t>(TIFFTAG_TILEWIDTH, 0) : width_;
    const int64_t block_height = tiled ? field<uint32_t>(TIFFTAG_TILELENGTH, 0)
                                       : std::min<int64_t>(field<uint32_t>(TIFFTAG_ROWSPERSTRIP, 0), height_);
    const auto row_bytes =
        static_cast<int64_t>(tiled ? TIFFTileRowSize64(handle_.tiff) : TIFFScanlineSize64(handle_.tiff));
    const int64_t numbers = is_planar_ ? 1 : samples_;
    require_size(block_width, block_height);
    constexpr int64_t kUsualTile = 1024;
    if (block_width > std::max(kUsualTile, 2 * width_) || block_height > std::max(kUsualTile, 2 * height_))
      fail();  // a small picture must not take the memory of a large one
    if (row_bytes < (block_width * numbers * bits_ + 7) / 8 || row_bytes > kMostBlockBytes / block_height)
      fail();
    file_.fault.clear();  // of tags that nobody needs
    std::vector<uint8_t> block(static_cast<size_t>(row_bytes * block_height));
    for (int64_t plane = 0; plane < (is_planar_ ? kept() : 1); ++plane) {
      for (int64_t top = 0; top < height_; top += block_height) {
        const int64_t rows = std::min(block_height, height_ - top);
        for (int64_t left = 0; left < width_; left += block_width) {
          read_block(block, tiled, left, top, plane, row_bytes * rows);
          const int64_t columns = std::min(block_width, width_ - left);
          for (int64_t row = 0; row < rows; ++row)
            unpack(block.data() + row * row_bytes, columns,
                   to + ((top + row) * width_ + left) * kept() + plane);
        }
      }
    }
  }

  void read_block(std::vector<uint8_t>& block, bool tiled, int64_t left, int64_t top, int64_t plane,
                  int64_t needed) {
    const auto x = static_cast<uint32_t>(left), y = static_cast<uint32_t>(top);
    const auto sample = static_cast<uint16_t>(plane);
    const auto size = static_cast<tmsize_t>(tiled ? std::ssize(block) : needed);
    const tmsize_t read =
        tiled ? TIFFReadEncodedTile(handle_.tiff, TIFFComputeTile(handle_.tiff, x, y, 0, sample),
                                    block.data(), size)
              : TIFFReadEncodedStrip(handle_.tiff, TIFFComputeStrip(handle_.tiff, y, sample), block.data(),
                                     size);
    if (read < needed || !file_.fault.empty()) fail();
  }

  void unpack(const uint8_t* row, int64_t columns, uint8_t* to) const {
    const int64_t together = is_planar_ ? 1 : kept(), numbers = is_planar_ ? 1 : samples_;
    for (int64_t column = 0; column < columns; ++column, to += kept()) {
      for (int64_t i = 0; i < together; ++i) to[i] = number_at(row, column * numbers + i);
    }
  }

  // Of 16 bits the upper 8; fewer are spread over 0 to 255, unless they are numbers of colours.
  uint8_t number_at(const uint8_t* row, int64_t at) const {
    if (bits_ == 8) return row[at];
    if (bits_ == 16) {
      uint16_t value = 0;
      std::memcpy(&value, row + 2 * at, sizeof value);
      return static_cast<uint8_t>(value >> 8);
    }
    const int64_t bit = at * bits_;
    const int largest = (1 << bits_) - 1, value = row[bit / 8] >> (8 - bits_ - bit % 8) & largest;
    return static_cast<uint8_t>(photometric_ == PHOTOMETRIC_PALETTE ? value : value * 255 / largest);
  }

  at::Tensor with_palette(const at::Tensor& indices) {
    std::array<const uint16_t*, 3> maps{};
    if (bits_ > 8 || TIFFGetField(handle_.tiff, TIFFTAG_COLORMAP, &maps[0], &maps[1], &maps[2]) == 0)
      refuse("with a palette that is missing or too long");
    // Some programs write 8 bits where the format has 16.
    const bool short_numbers = std::all_of(maps.begin(), maps.end(), [this](const uint16_t* map) {
      return std::all_of(map, map + (1 << bits_), [](uint16_t value) { return value < 256; });
    });
    at::Tensor pixels = rows_of_pixels(width_, height_, is_transparent() ? 4 : 3);
    const auto* from = indices.const_data_ptr<uint8_t>();
    auto* to = pixels.mutable_data_ptr<uint8_t>();
    for (int64_t pixel = 0; pixel < width_ * height_; ++pixel) {
      const uint8_t index = *from++;
      for (const uint16_t* map : maps) *to++ = static_cast<uint8_t>(map[index] >> (short_numbers ? 0 : 8));
      if (is_transparent()) *to++ = *from++;
    }
    return pixels;
  }

  // To the bits of Pillow.
  static void divide_by_opacity(const at::Tensor& pixels) {
    const int64_t colours = pixels.size(2) - 1;
    auto* pixel = pixels.mutable_data_ptr<uint8_t>();
    for (int64_t left = pixels.numel(); left > 0; left -= colours + 1, pixel += colours + 1) {
      const int opacity = pixel[colours];
      if (opacity == 0) continue;
      for (int64_t c = 0; c < colours; ++c)
        pixel[c] = static_cast<uint8_t>(std::min(255, pixel[c] * 255 / opacity));
    }
  }

  TiffBytes file_;
  Handle handle_;
  int64_t width_ = 0, height_ = 0;
  int bits_ = 0;      // of a number
  int samples_ = 0;   // numbers of a pixel
  int channels_ = 0;  // of these the first: colours, or the number of a colour
  int photometric_ = 0;
  bool is_planar_ = false;  // all reds first, then all greens, ...
  bool is_jpeg_ = false;
  Opacity opacity_ = kOpaque;
};

}  // namespace

ImageFacts tiff_facts(const std::string& bytes) {
  const TiffReader tiff(bytes);
  return {"TIFF", tiff.width(), tiff.height(), tiff.colours(), tiff.orientation(), tiff.has_other_colours()};
}

at::Tensor decode_tiff(const std::string& bytes, SmallestSize /*smallest*/) {
  TiffReader tiff(bytes);
  const at::Tensor pixels = on_white(tiff.decode());
  return upright(pixels, tiff.orientation());
}

}  // namespace dtrain

// In a static libtiff, these take the place of the functions that set up compressions which dtrain does not
// read. So the program does not need their libraries (cmake/Tiff.cmake).
// NOLINTBEGIN(readability-identifier-naming): libtiff's names
extern "C" {
int TIFFInitJBIG(TIFF* tiff, int scheme);
int TIFFInitLERC(TIFF* tiff, int scheme);
int TIFFInitLZMA(TIFF* tiff, int scheme);
int TIFFInitWebP(TIFF* tiff, int scheme);
int TIFFInitZSTD(TIFF* tiff, int scheme);

int TIFFInitJBIG(TIFF* /*tiff*/, int scheme) { return dtrain::leave_out(scheme); }
int TIFFInitLERC(TIFF* /*tiff*/, int scheme) { return dtrain::leave_out(scheme); }
int TIFFInitLZMA(TIFF* /*tiff*/, int scheme) { return dtrain::leave_out(scheme); }
int TIFFInitWebP(TIFF* /*tiff*/, int scheme) { return dtrain::leave_out(scheme); }
int TIFFInitZSTD(TIFF* /*tiff*/, int scheme) { return dtrain::leave_out(scheme); }
}
// NOLINTEND(readability-identifier-naming)
