#include "codecs/codecs.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cstdint>
#include <optional>

namespace dtrain {
namespace {

using namespace std::string_view_literals;

constexpr auto kExif = "Exif\0\0"sv;
constexpr auto kXmp = "http://ns.adobe.com/xap/1.0/\0"sv;
constexpr auto kIcc = "ICC_PROFILE\0"sv;
constexpr uint64_t kOrientationTag = 0x0112;
constexpr size_t kEntryBytes = 12;       // of a directory: tag, type, count, value
constexpr uint64_t kMostEntries = 1000;  // of a directory, more than cameras write

// Bytes of a text as numbers; nullopt beyond its end.
std::optional<uint64_t> number(std::string_view bytes, size_t at, size_t count, bool little_endian) {
  if (at > bytes.size() || count > bytes.size() - at) return std::nullopt;
  uint64_t value = 0;
  for (size_t i = 0; i < count; ++i) {
    const size_t from = little_endian ? at + count - 1 - i : at + i;
    value = value << 8 | static_cast<unsigned char>(bytes[from]);
  }
  return value;
}

// The bytes of a whole number of a type of TIFF; 0: it is another type.
size_t bytes_of_type(uint64_t type) {
  constexpr uint64_t kByte = 1, kShort = 3, kLong = 4;
  return type == kByte ? 1 : type == kShort ? 2 : type == kLong ? 4 : 0;
}

// In a TIFF header and its first directory (TIFF 6.0, section 2).
std::optional<uint64_t> orientation_in_exif(std::string_view tiff) {
  while (tiff.starts_with(kExif)) tiff.remove_prefix(kExif.size());
  const bool little = tiff.starts_with("II");
  if (!little && !tiff.starts_with("MM")) return std::nullopt;
  const auto directory = number(tiff, 4, 4, little);
  if (!directory) return std::nullopt;
  const auto entries = number(tiff, *directory, 2, little);
  for (uint64_t entry = 0; entry < entries.value_or(0) && entry < kMostEntries; ++entry) {
    const size_t at = *directory + 2 + entry * kEntryBytes;
    const size_t bytes = bytes_of_type(number(tiff, at + 2, 2, little).value_or(0));
    if (number(tiff, at, 2, little) == kOrientationTag && bytes > 0)
      return number(tiff, at + 8, bytes, little);
  }
  return std::nullopt;
}

std::optional<uint64_t> orientation_in_xmp(std::string_view xmp) {
  constexpr auto kName = "tiff:Orientation"sv;
  for (size_t at = xmp.find(kName); at != std::string_view::npos; at = xmp.find(kName, at + 1)) {
    const std::string_view rest = xmp.substr(at + kName.size());
    const size_t digit = rest.starts_with("=\"") ? 2 : 1;  // an attribute, or an element
    if ((digit == 2 || rest.starts_with(">")) && rest.size() > digit && rest[digit] >= '0' &&
        rest[digit] <= '9')
      return rest[digit] - '0';
  }
  return std::nullopt;
}

}  // namespace

JpegSegments jpeg_segments(std::string_view jpeg) {
  constexpr uint64_t kStartOfScan = 0xFFDA, kApp1 = 0xFFE1, kApp2 = 0xFFE2;
  JpegSegments found;
  // Segments follow the first marker (2 bytes): 0xFF, a kind, and a length that counts itself.
  for (size_t at = 2;;) {
    const auto marker = number(jpeg, at, 2, false), length = number(jpeg, at + 2, 2, false);
    found.cut = !length || at + 2 + *length > jpeg.size();
    if (!length || *marker >> 8 != 0xFF || *marker == kStartOfScan || *length < 2) return found;
    const std::string_view content = jpeg.substr(std::min(jpeg.size(), at + 4), *length - 2);
    if (*marker == kApp1 && content.starts_with(kExif) && found.metadata.exif.empty())
      found.metadata.exif = content;
    if (*marker == kApp1 && content.starts_with(kXmp)) found.metadata.xmp = content.substr(kXmp.size());
    if (*marker == kApp2 && content.starts_with(kIcc) && found.metadata.icc.empty())
      found.metadata.icc = content.substr(kIcc.size());
    at += 2 + *length;
  }
}

int orientation_of(const Metadata& metadata) {
  std::optional<uint64_t> orientation = orientation_in_exif(metadata.exif);
  if (!orientation) orientation = orientation_in_xmp(metadata.xmp);
  return orientation >= 1 && orientation <= 8 ? static_cast<int>(*orientation) : 1;
}

bool has_other_colours(std::string_view icc) {
  // The text is of one byte for each letter, or of two.
  return !icc.empty() && icc.find("sRGB"sv) == std::string_view::npos &&
         icc.find("s\0R\0G\0B"sv) == std::string_view::npos;
}

at::Tensor upright(const at::Tensor& stored, int orientation) {
  constexpr int64_t kRows = 0, kColumns = 1;
  at::Tensor turned = stored;
  if (orientation >= 5) turned = turned.transpose(kRows, kColumns);
  const bool mirrored = orientation == 2 || orientation == 3 || orientation == 6 || orientation == 7;
  const bool upside_down = orientation == 3 || orientation == 4 || orientation == 7 || orientation == 8;
  if (mirrored) turned = turned.flip({kColumns});
  if (upside_down) turned = turned.flip({kRows});
  return turned.contiguous();
}

}  // namespace dtrain
