#include <ATen/ATen.h>
#include <png.h>

#include <algorithm>
#include <csetjmp>
#include <new>
#include <string_view>
#include <vector>

#include "codecs/codecs.h"
#include "codecs/image_file.h"
#include "core/error.h"

namespace dtrain {
namespace {

constexpr size_t kSignatureBytes = 8;
constexpr size_t kChunkFrame = 12;  // bytes of a chunk beside its content: a length, a kind, a checksum

// libpng's functions with a state: its short ones would correct colours by a gAMA chunk, and blend in linear
// light, which neither Pillow nor OpenCV does.
class PngReader {
 public:
  explicit PngReader(const std::string& bytes) : left_(bytes) {
    png_.state =
        png_create_read_struct(PNG_LIBPNG_VER_STRING, this, on_fault, [](png_structp, png_const_charp) {});
    if (png_.state != nullptr) png_.info = png_create_info_struct(png_.state);
    if (png_.info == nullptr) throw std::bad_alloc();
    png_set_read_fn(png_.state, this, give);
    attempt([this] { png_read_info(png_.state, png_.info); });
  }

  int64_t width() const { return png_get_image_width(png_.state, png_.info); }
  int64_t height() const { return png_get_image_height(png_.state, png_.info); }
  bool has_colour() const { return (png_get_color_type(png_.state, png_.info) & PNG_COLOR_MASK_COLOR) != 0; }
  bool has_16_bits() const { return png_get_bit_depth(png_.state, png_.info) == 16; }
  bool is_transparent() const {
    return (png_get_color_type(png_.state, png_.info) & PNG_COLOR_MASK_ALPHA) != 0 ||
           png_get_valid(png_.state, png_.info, PNG_INFO_tRNS) != 0;
  }

  bool has_other_colours() const {
    png_charp name = nullptr;
    png_bytep profile = nullptr;
    png_uint_32 size = 0;
    int packing = 0;
    if (png_get_iCCP(png_.state, png_.info, &name, &packing, &profile, &size) == 0) return false;
    return dtrain::has_other_colours({reinterpret_cast<const char*>(profile), size});
  }

  // uint8 [height, width, 1 to 4]: grey or colours, with opacity if it is transparent.
  at::Tensor decode() {
    require_size(width(), height());
    attempt([this] {
      png_set_expand(png_.state);    // palettes, few bits, a transparent colour
      png_set_strip_16(png_.state);  // to the upper 8
      png_set_interlace_handling(png_.state);
      png_read_update_info(png_.state, png_.info);
    });
    at::Tensor pixels = rows_of_pixels(width(), height(), png_get_channels(png_.state, png_.info));
    std::vector<png_bytep> rows;
    for (int64_t row = 0; row < pixels.size(0); ++row)
      rows.push_back(pixels.mutable_data_ptr<uint8_t>() + row * pixels.stride(0));
    attempt([this, &rows] { png_read_image(png_.state, rows.data()); });
    return pixels;
  }

 private:
  struct Handles {
    png_structp state = nullptr;
    png_infop info = nullptr;

    Handles() = default;
    Handles(Handles&&) = delete;  // nor copied
    ~Handles() { png_destroy_read_struct(&state, &info, nullptr); }
  };

  // libpng reports a fault by longjmp(): `work` makes nothing that has to be destroyed.
  template <typename Work>
  void attempt(const Work& work) {
    if (setjmp(png_jmpbuf(png_.state)) == 0) return work();
    throw Error(ExitCode::kData, "no sound PNG: " + fault_);
  }

  static void on_fault(png_structp state, png_const_charp message) {
    static_cast<PngReader*>(png_get_error_ptr(state))->fault_ = message;
    png_longjmp(state, 1);
  }

  static void give(png_structp state, png_bytep to, size_t count) {
    std::string_view& left = static_cast<PngReader*>(png_get_io_ptr(state))->left_;
    if (count > left.size()) png_error(state, kCut);
    std::copy_n(left.data(), count, to);
    left.remove_prefix(count);
  }

  std::string_view left_;  // of the file
  std::string fault_;
  Handles png_;
};

// The metadata may come before the pixels or after them.
Metadata png_metadata(std::string_view bytes) {
  using namespace std::string_view_literals;
  constexpr auto kXmp = "XML:com.adobe.xmp\0\0"sv;  // not compressed
  Metadata found;
  for (size_t at = kSignatureBytes; bytes.size() >= at + kChunkFrame;) {
    const size_t length = png_get_uint_32(reinterpret_cast<png_const_bytep>(bytes.data() + at));
    if (length > bytes.size() - at - kChunkFrame) break;
    const std::string_view kind = bytes.substr(at + 4, 4), content = bytes.substr(at + 8, length);
    if (kind == "eXIf") found.exif = content;
    if (kind == "iTXt" && content.starts_with(kXmp)) found.xmp = content.substr(kXmp.size());
    at += kChunkFrame + length;
  }
  return found;
}

}  // namespace

ImageFacts png_facts(const std::string& bytes) {
  const PngReader png(bytes);
  std::string colours = png.has_colour() ? "colour" : "grey";
  if (png.has_16_bits()) colours += ", 16 bits";
  if (png.is_transparent()) colours += ", transparent";
  return {"PNG",
          png.width(),
          png.height(),
          colours,
          orientation_of(png_metadata(bytes)),
          png.has_other_colours()};
}

at::Tensor decode_png(const std::string& bytes, SmallestSize /*smallest*/) {
  return upright(on_white(PngReader(bytes).decode()), orientation_of(png_metadata(bytes)));
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
    throw Error(ExitCode::kBug, "no PNG could be made: {}", header.message);
  bytes.resize(size);
  return bytes;
}

}  // namespace dtrain
