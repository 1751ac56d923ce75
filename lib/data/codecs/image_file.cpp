#include "codecs/image_file.h"

#include <ATen/ATen.h>

#include "codecs/codecs.h"
#include "core/error.h"
#include "core/files.h"
#include "core/named.h"
#include "core/text.h"

namespace dtrain {
namespace {

struct Format {
  std::string name;
  std::vector<std::string> endings;  // of its files' names, in lower case
  std::vector<std::string> magics;   // the first bytes of its files: one of these
  at::Tensor (*decode)(const std::string& bytes, SmallestSize smallest);
  ImageFacts (*look)(const std::string& bytes);
};

const std::vector<Format>& formats() {
  using namespace std::string_literals;
  static const std::vector<Format> table = {
      {"JPEG", {".jpg", ".jpeg"}, {"\xff\xd8\xff"}, decode_jpeg, jpeg_facts},
      {"PNG", {".png"}, {"\x89PNG"}, decode_png, png_facts},
      {"WebP", {".webp"}, {"RIFF"}, decode_webp, webp_facts},
      {"TIFF", {".tif", ".tiff"}, {"II*\0"s, "MM\0*"s, "II+\0"s, "MM\0+"s}, decode_tiff, tiff_facts},
      {"GIF", {".gif"}, {"GIF8"}, decode_gif, gif_facts},
      {"BMP", {".bmp"}, {"BM"}, decode_bmp, bmp_facts},
      {"PPM", {".ppm"}, {"P6"}, decode_pnm, pnm_facts},
      {"PGM", {".pgm"}, {"P5"}, decode_pnm, pnm_facts},
  };
  return table;
}

// Files that people take for images that can be read.
struct Stranger {
  std::string magic;
  std::string what;
  size_t at = 0;  // where the magic is
};

const std::vector<Stranger>& strangers() {
  using namespace std::string_literals;
  const std::string convert = " cannot be read: convert it to JPEG or PNG";
  static const std::vector<Stranger> table = {
      {"\0\0\x08\x01"s, "a file of labels, not of images"},
      {"ftypavi", "AVIF" + convert, 4},
      {"ftyphe", "HEIC" + convert, 4},
      {"ftypmif1", "HEIC or AVIF" + convert, 4},
      {"ftypmsf1", "HEIC or AVIF" + convert, 4},
      {"ftyp", "a video: make a picture of one of its frames", 4},
      {"\xff\x0a", "JPEG XL" + convert},
      {"JXL ", "JPEG XL" + convert, 4},
      {"jP  ", "JPEG 2000" + convert, 4},
      {"8BPS", "PSD (Photoshop)" + convert},
  };
  return table;
}

bool has_at(const std::string& bytes, size_t at, const std::string& magic) {
  return bytes.size() >= at && bytes.compare(at, magic.size(), magic) == 0;
}

const Format& format_of(const std::string& bytes) {
  if (bytes.empty()) throw Error(ExitCode::kData, "the file is empty");
  for (const Format& format : formats()) {
    for (const std::string& magic : format.magics) {
      if (has_at(bytes, 0, magic)) return format;
    }
  }
  for (const Stranger& stranger : strangers()) {
    if (has_at(bytes, stranger.at, stranger.magic)) throw Error(ExitCode::kData, stranger.what);
  }
  throw Error(ExitCode::kData, "no {} or IDX file of images", join(names_of_rows(formats())));
}

}  // namespace

const std::vector<std::string>& image_endings() {
  static const std::vector<std::string> all = [] {
    std::vector<std::string> endings;
    for (const Format& format : formats())
      endings.insert(endings.end(), format.endings.begin(), format.endings.end());
    return endings;
  }();
  return all;
}

ImageFacts image_facts(const std::string& bytes) { return format_of(bytes).look(bytes); }

bool is_nearly_black(const ImageFacts& facts, const at::Tensor& image) {
  constexpr int kBrightest = (1 << 12 >> 8) - 1;  // of 12 bits of which the lower 8 are dropped
  return facts.has_16_bits() && image.max().item<int>() <= kBrightest;
}

at::Tensor decode_image_file(const std::string& bytes, SmallestSize smallest) {
  return format_of(bytes).decode(bytes, smallest).permute({2, 0, 1}).unsqueeze(0);
}

at::Tensor read_image_file(const std::filesystem::path& path, SmallestSize smallest) {
  const std::string bytes = read_file(path, kMaxImageFileBytes, ExitCode::kData);
  try {
    return decode_image_file(bytes, smallest);
  } catch (const Error& error) {
    throw Error(error.code(), printable(path.string(), 1000) + ": " + error.what());
  }
}

}  // namespace dtrain
