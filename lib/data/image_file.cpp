#include "data/image_file.h"

#include <ATen/ATen.h>
#include <fmt/format.h>
#include <png.h>
#include <turbojpeg.h>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>

#include "core/error.h"
#include "core/files.h"
#include "core/text.h"
#include "data/idx.h"
#include "data/packed_file.h"

namespace dtrain {
namespace {

[[noreturn]] void refuse(const std::string& fault) { throw Error(ExitCode::kData, fault); }

void check_size(int64_t width, int64_t height) {
  const bool fits = width >= 1 && height >= 1 && width <= kMaxImageSide && height <= kMaxImageSide &&
                    width * height <= kMaxImagePixels;
  if (fits) return;
  refuse(fmt::format("{} x {} pixels, where sides of 1 to {} and {} pixels in all can be read", width, height,
                     with_separators(kMaxImageSide), with_separators(kMaxImagePixels)));
}

at::Tensor rows_of_pixels(int64_t width, int64_t height, bool colour) {
  return at::empty({height, width, colour ? 3 : 1}, at::kByte);
}

at::Tensor decode_png(const std::string& bytes) {
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  const std::unique_ptr<png_image, decltype(&png_image_free)> freed(&image, png_image_free);
  if (png_image_begin_read_from_memory(&image, bytes.data(), bytes.size()) == 0)
    refuse(fmt::format("no sound PNG: {}", image.message));
  check_size(image.width, image.height);
  const bool colour = (image.format & PNG_FORMAT_FLAG_COLOR) != 0;
  image.format = colour ? PNG_FORMAT_RGB : PNG_FORMAT_GRAY;
  // Without this flag, 16-bit samples are read as linear light unless the file says otherwise.
  image.flags |= PNG_IMAGE_FLAG_16BIT_sRGB;
  at::Tensor pixels = rows_of_pixels(image.width, image.height, colour);
  const png_color white{255, 255, 255};
  if (png_image_finish_read(&image, &white, pixels.mutable_data_ptr(), /*row_stride=*/0, nullptr) == 0)
    refuse(fmt::format("no sound PNG: {}", image.message));
  return pixels;
}

at::Tensor decode_jpeg(const std::string& bytes) {
  const std::unique_ptr<std::remove_pointer_t<tjhandle>, int (*)(tjhandle)> decoder(tjInitDecompress(),
                                                                                    tjDestroy);
  if (!decoder) throw std::bad_alloc();
  const auto* data = reinterpret_cast<const unsigned char*>(bytes.data());
  int width = 0, height = 0, subsampling = 0, colours = 0;
  const auto check = [&](int failed) {
    if (failed != 0) refuse(fmt::format("no sound JPEG: {}", tjGetErrorStr2(decoder.get())));
  };
  check(tjDecompressHeader3(decoder.get(), data, bytes.size(), &width, &height, &subsampling, &colours));
  check_size(width, height);
  const bool colour = colours != TJCS_GRAY;
  at::Tensor pixels = rows_of_pixels(width, height, colour);
  // Warnings mean that data is missing or damaged. The number of scans is limited because a small file could
  // have very many.
  constexpr int kStrict = TJFLAG_STOPONWARNING | TJFLAG_LIMITSCANS | TJFLAG_ACCURATEDCT;
  check(tjDecompress2(decoder.get(), data, bytes.size(), pixels.mutable_data_ptr<uint8_t>(), width,
                      /*pitch=*/0, height, colour ? TJPF_RGB : TJPF_GRAY, kStrict));
  return pixels;
}

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
    if (at_ == begin) refuse(fmt::format("no sound PGM or PPM: byte {}: no {}", at_, what));
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

at::Tensor decode_pnm(const std::string& bytes) {
  PnmHeader header(bytes);
  const int64_t width = header.number("width");
  const int64_t height = header.number("height");
  const int64_t largest = header.number("largest value");
  check_size(width, height);
  if (largest < 1 || largest > 255)
    refuse(fmt::format("its largest value is {}, where 1 to 255 can be read", largest));
  at::Tensor pixels = rows_of_pixels(width, height, bytes[1] == '6');
  const auto expected = static_cast<int64_t>(header.end()) + pixels.numel();
  if (expected != static_cast<int64_t>(bytes.size()))
    refuse(fmt::format("{} bytes, where an image of {} x {} pixels takes {}", bytes.size(), width, height,
                       expected));
  const auto* values = reinterpret_cast<const uint8_t*>(bytes.data()) + header.end();
  std::transform(values, values + pixels.numel(), pixels.mutable_data_ptr<uint8_t>(),
                 [largest](int64_t value) {
                   return static_cast<uint8_t>((std::min(value, largest) * 255 + largest / 2) / largest);
                 });
  return pixels;
}

struct Format {
  std::string magic;  // the first bytes of its files
  at::Tensor (*decode)(const std::string& bytes);
  std::string fault = {};  // why such files cannot be read
};

const std::vector<Format>& formats() {
  using namespace std::string_literals;
  static const std::vector<Format> table = {
      {"\x89PNG", decode_png},
      {"\xff\xd8\xff", decode_jpeg},
      {"P5", decode_pnm},
      {"P6", decode_pnm},
      {"\0\0\x08\x01"s, nullptr, "a file of labels, not of images"},
      {"GIF8", nullptr, "GIF cannot be read: convert it to PNG"},
      {"RIFF", nullptr, "WebP cannot be read: convert it to PNG"},
      {"BM", nullptr, "BMP cannot be read: convert it to PNG"},
      {"", nullptr, "no PNG, JPEG, PGM, PPM or IDX file of images"},
  };
  return table;
}

at::Tensor read_images_of(const std::filesystem::path& path) {
  std::string magic(4, '\0');
  PackedFile(path).read(magic.data(), 4);
  if (magic == std::string("\0\0\x08\x03", 4)) return read_images(path, read_image_header(path).count);
  const auto format = std::find_if(formats().begin(), formats().end(), [&magic](const Format& any) {
    return magic.compare(0, any.magic.size(), any.magic) == 0;
  });
  const std::string name = printable(path.string(), 1000) + ": ";
  if (format->decode == nullptr) refuse(name + format->fault);
  const std::string bytes = read_file(path, kMaxImageFileBytes, ExitCode::kData);
  try {
    return format->decode(bytes).permute({2, 0, 1}).unsqueeze(0).contiguous();
  } catch (const Error& error) {
    throw Error(error.code(), name + error.what());
  }
}

at::Tensor to_grey(const at::Tensor& images) {
  const at::Tensor wide = images.to(at::kInt);
  const at::Tensor grey =
      wide.narrow(1, 0, 1) * 299 + wide.narrow(1, 1, 1) * 587 + wide.narrow(1, 2, 1) * 114;
  return at::floor_divide(grey + 500, 1000).to(at::kByte);
}

}  // namespace

at::Tensor read_image_file(const std::filesystem::path& path) { return read_images_of(path); }

at::Tensor fit_images(const at::Tensor& images, const std::vector<int64_t>& shape, bool resize) {
  const int64_t channels = shape[0], height = shape[1], width = shape[2];
  at::Tensor fitted = images;
  if (images.size(2) != height || images.size(3) != width) {
    if (!resize) {
      refuse(fmt::format("{} x {} pixels, and the model takes {} x {}: --resize scales it", images.size(3),
                         images.size(2), width, height));
    }
    fitted = at::_upsample_bilinear2d_aa(fitted, {height, width}, /*align_corners=*/false);
  }
  if (fitted.size(1) != channels) {
    if (channels != 1 && channels != 3)
      refuse(fmt::format("the model takes {} channels, and no image file has as many", channels));
    fitted = channels == 1 ? to_grey(fitted) : fitted.expand({-1, channels, -1, -1});
  }
  return fitted.contiguous();
}

std::string png_file(const at::Tensor& image) {
  const at::Tensor pixels = image.permute({1, 2, 0}).contiguous();
  png_image header{};
  header.version = PNG_IMAGE_VERSION;
  header.width = static_cast<png_uint_32>(pixels.size(1));
  header.height = static_cast<png_uint_32>(pixels.size(0));
  header.format = pixels.size(2) == 3 ? PNG_FORMAT_RGB : PNG_FORMAT_GRAY;
  std::string bytes(PNG_IMAGE_PNG_SIZE_MAX(header), '\0');
  png_alloc_size_t size = bytes.size();
  if (png_image_write_to_memory(&header, bytes.data(), &size, /*convert_to_8_bit=*/0, pixels.const_data_ptr(),
                                /*row_stride=*/0, nullptr) == 0)
    throw Error(ExitCode::kBug, fmt::format("no PNG could be made: {}", header.message));
  bytes.resize(size);
  return bytes;
}

}  // namespace dtrain
