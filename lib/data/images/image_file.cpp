#include "images/image_file.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <vector>

#include "core/error.h"
#include "core/files.h"
#include "core/text.h"
#include "images/codecs.h"

namespace dtrain {
namespace {

struct Format {
  std::string magic;  // the first bytes of its files
  at::Tensor (*decode)(const std::string& bytes, SmallestSize smallest);
  ImageFacts (*look)(const std::string& bytes);
  std::string fault = {};  // why such files cannot be read
  size_t at = 0;           // where the magic is
};

const std::vector<Format>& formats() {
  using namespace std::string_literals;
  static const std::vector<Format> table = {
      {"\x89PNG", decode_png, png_facts},
      {"\xff\xd8\xff", decode_jpeg, jpeg_facts},
      {"P5", decode_pnm, pnm_facts},
      {"P6", decode_pnm, pnm_facts},
      {"RIFF", decode_webp, webp_facts},
      {"\0\0\x08\x01"s, nullptr, nullptr, "a file of labels, not of images"},
      {"GIF8", nullptr, nullptr, "GIF cannot be read: convert it to PNG"},
      {"BM", nullptr, nullptr, "BMP cannot be read: convert it to PNG"},
      {"II*\0"s, nullptr, nullptr, "TIFF cannot be read: convert it to PNG"},
      {"MM\0*"s, nullptr, nullptr, "TIFF cannot be read: convert it to PNG"},
      {"ftyp", nullptr, nullptr, "HEIC and AVIF cannot be read: convert it to JPEG or PNG", 4},
      {"", nullptr, nullptr, "no PNG, JPEG, WebP, PGM, PPM or IDX file of images"},
  };
  return table;
}

const Format& format_of(const std::string& bytes) {
  if (bytes.empty()) throw Error(ExitCode::kData, "the file is empty");
  const auto format = std::find_if(formats().begin(), formats().end(), [&bytes](const Format& any) {
    return bytes.size() >= any.at && bytes.compare(any.at, any.magic.size(), any.magic) == 0;
  });
  if (format->decode == nullptr) throw Error(ExitCode::kData, format->fault);
  return *format;
}

}  // namespace

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
