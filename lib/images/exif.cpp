#include "images/exif.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string_view>

namespace dtrain {
namespace {

constexpr uint64_t kOrientationTag = 0x0112;
constexpr uint64_t kShort = 3;           // the type of a 16-bit number
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

// In a TIFF header and its first directory (TIFF 6.0, section 2).
int orientation_in(std::string_view tiff) {
  const bool little = tiff.substr(0, 2) == "II";
  if (!little && tiff.substr(0, 2) != "MM") return 1;
  const auto directory = number(tiff, 4, 4, little);
  if (!directory) return 1;
  const auto entries = number(tiff, *directory, 2, little);
  for (uint64_t entry = 0; entry < entries.value_or(0) && entry < kMostEntries; ++entry) {
    const size_t at = *directory + 2 + entry * kEntryBytes;
    if (number(tiff, at, 2, little) != kOrientationTag || number(tiff, at + 2, 2, little) != kShort) continue;
    const uint64_t orientation = number(tiff, at + 8, 2, little).value_or(1);
    return orientation >= 1 && orientation <= 8 ? static_cast<int>(orientation) : 1;
  }
  return 1;
}

}  // namespace

int exif_orientation(const std::string& jpeg) {
  using namespace std::string_view_literals;
  constexpr auto kExif = "Exif\0\0"sv;
  const std::string_view bytes = jpeg;
  // Segments follow the first marker (2 bytes): 0xFF, a kind, and a length that counts itself.
  for (size_t at = 2; const auto marker = number(bytes, at, 2, false);) {
    const auto length = number(bytes, at + 2, 2, false);
    constexpr uint64_t kStartOfScan = 0xFFDA, kApp1 = 0xFFE1;
    if (*marker >> 8 != 0xFF || *marker == kStartOfScan || !length || *length < 2) return 1;
    const std::string_view content = bytes.substr(std::min(bytes.size(), at + 4), *length - 2);
    if (*marker == kApp1 && content.substr(0, kExif.size()) == kExif)
      return orientation_in(content.substr(kExif.size()));
    at += 2 + *length;
  }
  return 1;
}

}  // namespace dtrain
