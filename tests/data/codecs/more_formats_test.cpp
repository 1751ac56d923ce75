// TIFF, GIF and BMP.
#include <ATen/ATen.h>
#include <gif_lib.h>
#include <zlib.h>

#include <map>
#include <numeric>

#include "catch.h"
#include "codecs/image_file.h"
#include "data/data_files.h"
#include "files.h"

namespace dtrain {
namespace {

using namespace test;
using Catch::Matchers::Equals;
using Values = std::vector<int>;

// Row by row, of each pixel its colours.
Values values_in(const std::string& file) {
  const at::Tensor flat = decode_image_file(file)[0].permute({1, 2, 0}).contiguous().view(-1);
  const auto* first = flat.const_data_ptr<uint8_t>();
  return {first, first + flat.numel()};
}

std::string fault_of_file(const std::string& file) {
  return error_of([&] { decode_image_file(file); });
}

std::string digits(uint64_t value, int bytes, bool little_endian = true) {
  std::string text;
  for (int i = 0; i < bytes; ++i) text += static_cast<char>(value >> 8 * i & 0xff);
  return little_endian ? text : std::string(text.rbegin(), text.rend());
}

std::string text_of(const Values& values) {
  std::string text;
  for (const int value : values) text += static_cast<char>(value);
  return text;
}

// A TIFF file of strips or tiles: its header, their bytes, what does not fit into an entry, the directory.
struct TiffFile {
  enum Tag : uint64_t {
    kWidth = 256,
    kHeight = 257,
    kBits = 258,
    kCompression = 259,
    kPhotometric = 262,
    kOffsets = 273,
    kOrientation = 274,
    kSamples = 277,
    kRows = 278,
    kByteCounts = 279,
    kPlanar = 284,
    kPredictor = 317,
    kColours = 320,
    kTileWidth = 322,
    kTileHeight = 323,
    kTileOffsets = 324,
    kTileByteCounts = 325,
    kExtra = 338,
    kFormat = 339
  };
  std::map<uint64_t, std::vector<uint64_t>> tags;
  std::vector<std::string> blocks;
  bool little_endian = true;
  uint64_t next_page = 0;

  TiffFile(uint64_t width, uint64_t height, uint64_t photometric, std::vector<uint64_t> bits,
           std::vector<std::string> content)
      : blocks(std::move(content)) {
    tags[kWidth] = {width};
    tags[kHeight] = {height};
    tags[kSamples] = {bits.size()};
    tags[kBits] = std::move(bits);
    tags[kPhotometric] = {photometric};
    tags[kRows] = {(height + blocks.size() - 1) / blocks.size()};
  }
  TiffFile with(uint64_t tag, std::vector<uint64_t> values) const {
    TiffFile other = *this;
    other.tags[tag] = std::move(values);
    return other;
  }
  std::string bytes() const {
    const auto text = [this](uint64_t value, int size) { return digits(value, size, little_endian); };
    std::string body;
    auto all = tags;
    for (const std::string& block : blocks) {
      all[tags.contains(kTileWidth) ? kTileOffsets : kOffsets].push_back(8 + body.size());
      all[tags.contains(kTileWidth) ? kTileByteCounts : kByteCounts].push_back(block.size());
      body += block + std::string(block.size() % 2, '\0');
    }
    std::string entries;
    for (const auto& [tag, values] : all) {
      const bool is_long =
          tag == kOffsets || tag == kByteCounts || tag == kTileOffsets || tag == kTileByteCounts;
      const int size = is_long ? 4 : 2;
      std::string content;
      for (const uint64_t value : values) content += text(value, size);
      if (content.size() > 4) {
        const uint64_t place = 8 + body.size();
        body += content;
        content = text(place, 4);
      }
      entries += text(tag, 2) + text(is_long ? 4 : 3, 2) + text(values.size(), 4) + content +
                 std::string(4 - content.size(), '\0');
    }
    return (little_endian ? "II" : "MM") + text(42, 2) + text(8 + body.size(), 4) + body +
           text(all.size(), 2) + entries + text(next_page, 4);
  }
};

const Values kSix = {10, 20, 30, 40, 50, 60};

TEST_CASE("grey TIFF files of any number of bits are read to the last bit") {
  CHECK(values_in(TiffFile(3, 2, 1, {8}, {text_of(kSix)}).bytes()) == kSix);
  CHECK(values_in(TiffFile(3, 2, 0, {8}, {text_of(kSix)}).bytes()) == Values{245, 235, 225, 215, 205, 195});
  CHECK(values_in(TiffFile(9, 1, 1, {1}, {"\xA5\x80"}).bytes()) ==
        Values{255, 0, 255, 0, 0, 255, 0, 255, 255});
  CHECK(values_in(TiffFile(5, 1, 1, {2}, {"\x1B\xC0"}).bytes()) == Values{0, 85, 170, 255, 255});
  CHECK(values_in(TiffFile(3, 1, 1, {4}, {"\x1F\x70"}).bytes()) == Values{17, 255, 119});
  for (const bool little_endian : {true, false}) {
    TiffFile deep(2, 1, 1, {16}, {digits(0x1234, 2, little_endian) + digits(0xFEDC, 2, little_endian)});
    deep.little_endian = little_endian;
    CHECK(values_in(deep.bytes()) == Values{0x12, 0xFE});
    CHECK(image_facts(deep.bytes()).has_16_bits());
  }
  // Several strips, of which the last is shorter.
  CHECK(values_in(TiffFile(1, 5, 1, {8}, {"\x01\x02", "\x03\x04", "\x05"}).bytes()) == Values{1, 2, 3, 4, 5});
}

TEST_CASE("TIFF files of colours, with opacity, palettes, planes and tiles are read") {
  const TiffFile colours(2, 1, 2, {8, 8, 8}, {text_of(kSix)});
  CHECK(values_in(colours.bytes()) == kSix);
  CHECK(image_facts(colours.bytes()).colours == "colour");
  CHECK(values_in(TiffFile(2, 1, 2, {8, 8, 8}, {"\x0A\x28", "\x14\x32", "\x1E\x3C"})
                      .with(TiffFile::kRows, {1})
                      .with(TiffFile::kPlanar, {2})
                      .bytes()) == kSix);
  const TiffFile layered(2, 1, 2, {8, 8, 8, 8}, {text_of({10, 20, 30, 0, 50, 100, 150, 128})});
  const Values plain = {255, 255, 255, 152, 177, 202};
  CHECK(values_in(layered.bytes()) == plain);  // as in Pillow: a fourth number is the opacity
  CHECK(values_in(layered.with(TiffFile::kExtra, {2}).bytes()) == plain);
  CHECK(values_in(layered.with(TiffFile::kExtra, {0}).bytes()) == Values{10, 20, 30, 50, 100, 150});
  // Colours that were multiplied by their opacity, and are over white.
  CHECK(values_in(layered.with(TiffFile::kExtra, {1}).bytes()) == Values{255, 255, 255, 177, 227, 255});
  CHECK(image_facts(layered.with(TiffFile::kExtra, {1}).bytes()).colours == "colour, transparent");

  std::vector<uint64_t> map(48);
  for (uint64_t i = 0; i < map.size(); ++i) map[i] = (i + 1) << 8 | 7;
  const TiffFile palette = TiffFile(3, 1, 3, {4}, {"\x0F\x20"}).with(TiffFile::kColours, map);
  CHECK(values_in(palette.bytes()) == Values{1, 17, 33, 16, 32, 48, 3, 19, 35});
  for (uint64_t& value : map) value >>= 8;  // as some programs write it
  CHECK(values_in(palette.with(TiffFile::kColours, map).bytes()) == Values{1, 17, 33, 16, 32, 48, 3, 19, 35});

  // 17 x 18 pixels in four tiles of 16 x 16.
  std::vector<std::string> tiles(4, std::string(256, '\0'));
  for (size_t y = 0; y < 18; ++y) {
    for (size_t x = 0; x < 17; ++x)
      tiles[y / 16 * 2 + x / 16][y % 16 * 16 + x % 16] = static_cast<char>(10 * y + x);
  }
  const TiffFile tiled =
      TiffFile(17, 18, 1, {8}, tiles).with(TiffFile::kTileWidth, {16}).with(TiffFile::kTileHeight, {16});
  const Values read = values_in(tiled.bytes());
  REQUIRE(read.size() == 17 * 18);
  for (size_t at = 0; at < read.size(); ++at) CHECK(read[at] == static_cast<int>(10 * (at / 17) + at % 17));
}

std::string deflated(const std::string& content) {
  std::string packed(compressBound(content.size()), '\0');
  uLongf size = packed.size();
  REQUIRE(compress(reinterpret_cast<Bytef*>(packed.data()), &size,
                   reinterpret_cast<const Bytef*>(content.data()), content.size()) == Z_OK);
  return packed.substr(0, size);
}

TEST_CASE("packed TIFF files are read, and turned as they say") {
  constexpr uint64_t kDeflate = 8, kPackBits = 32773;
  CHECK(values_in(TiffFile(3, 2, 1, {8}, {deflated(text_of(kSix))})
                      .with(TiffFile::kCompression, {kDeflate})
                      .bytes()) == kSix);
  CHECK(values_in(TiffFile(3, 2, 1, {8}, {deflated(text_of({10, 10, 10, 40, 10, 10}))})
                      .with(TiffFile::kCompression, {kDeflate})
                      .with(TiffFile::kPredictor, {2})
                      .bytes()) == kSix);
  CHECK(values_in(TiffFile(3, 2, 1, {8}, {"\xFD\x07\x01\x08\x09"})
                      .with(TiffFile::kCompression, {kPackBits})
                      .bytes()) == Values{7, 7, 7, 7, 8, 9});
  const TiffFile stored(3, 2, 1, {8}, {text_of(kSix)});
  const std::vector<Values> seen = {
      {10, 20, 30, 40, 50, 60}, {30, 20, 10, 60, 50, 40}, {60, 50, 40, 30, 20, 10}, {40, 50, 60, 10, 20, 30},
      {10, 40, 20, 50, 30, 60}, {40, 10, 50, 20, 60, 30}, {60, 30, 50, 20, 40, 10}, {30, 60, 20, 50, 10, 40}};
  for (uint64_t orientation = 1; orientation <= 8; ++orientation) {
    const std::string turned = stored.with(TiffFile::kOrientation, {orientation}).bytes();
    CHECK(values_in(turned) == seen[orientation - 1]);
    CHECK(image_facts(turned).orientation == static_cast<int>(orientation));
  }
  CHECK(values_in(stored.with(TiffFile::kOrientation, {77}).bytes()) == seen[0]);
}

TEST_CASE("of a TIFF with several pages the first is read, and the facts say so") {
  TiffFile book(3, 2, 1, {8}, {text_of(kSix)});
  CHECK(image_facts(book.bytes()).colours == "grey");
  book.next_page = 8;
  CHECK(image_facts(book.bytes()).colours == "grey, the first of several pages");
  CHECK(values_in(book.bytes()) == kSix);
}

TEST_CASE("TIFF files that cannot be read are refused by name") {
  const TiffFile grey(3, 2, 1, {8}, {text_of(kSix)});
  const auto says = [](const TiffFile& file, const std::string& text) {
    CHECK_THAT(fault_of_file(file.bytes()), ContainsSubstring(text));
    CHECK_THAT(error_of([&] { image_facts(file.bytes()); }), ContainsSubstring(text));
  };
  says(TiffFile(1, 1, 5, {8, 8, 8, 8}, {"inks"}), "a TIFF of inks (CMYK) cannot be read: convert it to PNG");
  says(TiffFile(1, 1, 1, {32}, {"real"}).with(TiffFile::kFormat, {3}), "a TIFF of floating-point numbers");
  says(grey.with(TiffFile::kFormat, {2}), "a TIFF of signed or complex numbers");
  says(TiffFile(1, 1, 1, {32}, {"long"}), "a TIFF with 1 number of 32 bits");
  says(TiffFile(1, 1, 8, {8, 8, 8}, {"Lab"}), "a TIFF of colours other than grey and RGB");
  says(grey.with(TiffFile::kCompression, {34661}), "a TIFF of compression 34661");
  says(TiffFile(3, 1, 3, {4}, {"\x01\x20"}), "no sound TIFF: ");  // its palette is missing
}

TEST_CASE("a TIFF that is cut off, or promises more than there is, is refused without taking memory") {
  const std::string whole = TiffFile(20, 20, 1, {8}, {std::string(400, 'x')}).bytes();
  REQUIRE(values_in(whole).size() == 400);
  for (size_t kept = 4; kept + 4 < whole.size(); kept += 7)
    CHECK_THAT(fault_of_file(whole.substr(0, kept)), ContainsSubstring("no sound TIFF: it is cut off"));
  const MemoryLimit limit(64 << 20);
  CHECK_THAT(fault_of_file(TiffFile(60'000, 60'000, 1, {8}, {"x"}).bytes()),
             ContainsSubstring("60000 x 60000 pixels"));
  CHECK_THAT(fault_of_file(TiffFile(20, 20, 1, {8}, {"x"})
                               .with(TiffFile::kTileWidth, {60'000})
                               .with(TiffFile::kTileHeight, {60'000})
                               .bytes()),
             ContainsSubstring("60000 x 60000 pixels"));
}

// A GIF as giflib writes it, with one frame at (left, top) of a canvas.
struct GifFile {
  int canvas_width = 3, canvas_height = 2;
  int left = 0, top = 0, width = 3, height = 2;
  bool interlaced = false;
  int transparent = NO_TRANSPARENT_COLOR;
  int frames = 1;

  std::string bytes(const Values& indices) const {
    std::string file;
    int fault = 0;
    GifFileType* gif = EGifOpen(
        &file,
        [](GifFileType* writer, const GifByteType* from, int count) {
          static_cast<std::string*>(writer->UserData)
              ->append(reinterpret_cast<const char*>(from), static_cast<size_t>(count));
          return count;
        },
        &fault);
    std::vector<GifColorType> colours;
    for (int i = 0; i < 8; ++i)
      colours.push_back(
          {static_cast<GifByteType>(i), static_cast<GifByteType>(10 * i), static_cast<GifByteType>(200 + i)});
    ColorMapObject* map = GifMakeMapObject(8, colours.data());
    EGifSetGifVersion(gif, true);
    REQUIRE(EGifPutScreenDesc(gif, canvas_width, canvas_height, 8, 0, map) == GIF_OK);
    for (int frame = 0; frame < frames; ++frame) {
      GraphicsControlBlock control{};
      control.TransparentColor = transparent;
      GifByteType block[4];
      REQUIRE(EGifGCBToExtension(&control, block) == sizeof block);
      REQUIRE(EGifPutExtension(gif, GRAPHICS_EXT_FUNC_CODE, sizeof block, block) == GIF_OK);
      REQUIRE(EGifPutImageDesc(gif, left, top, width, height, interlaced, nullptr) == GIF_OK);
      for (const int index : indices)
        REQUIRE(EGifPutPixel(gif, static_cast<GifPixelType>(index + frame)) == GIF_OK);
    }
    GifFreeMapObject(map);
    REQUIRE(EGifCloseFile(gif, &fault) == GIF_OK);
    return file;
  }
};

Values colours_of(const Values& indices) {
  Values values;
  for (const int i : indices) {
    const Values colour = i < 0 ? Values{255, 255, 255} : Values{i, 10 * i, 200 + i};
    values.insert(values.end(), colour.begin(), colour.end());
  }
  return values;
}

TEST_CASE("of a GIF the first frame is read, with what is transparent on white") {
  const Values indices = {0, 1, 2, 3, 4, 5};
  CHECK(values_in(GifFile{}.bytes(indices)) == colours_of(indices));
  CHECK(values_in(GifFile{.frames = 3}.bytes(indices)) == colours_of(indices));
  const std::string transparent = GifFile{.transparent = 4}.bytes(indices);
  CHECK(values_in(transparent) == colours_of({0, 1, 2, 3, -1, 5}));
  CHECK(image_facts(transparent).colours == "colour, transparent");
  CHECK(image_facts(transparent).format == "GIF");
  // Rows 0, 4, 2, 1, 3 of a column.
  CHECK(values_in(
            GifFile{.canvas_width = 1, .canvas_height = 5, .width = 1, .height = 5, .interlaced = true}.bytes(
                {0, 4, 2, 1, 3})) == colours_of({0, 1, 2, 3, 4}));
  // A frame that covers a part of the canvas, and one that is larger.
  CHECK(values_in(GifFile{.left = 1, .top = 1, .width = 1, .height = 1, .transparent = 7}.bytes({5})) ==
        colours_of({-1, -1, -1, -1, 5, -1}));
  CHECK(values_in(GifFile{.left = 1, .top = 1, .width = 1, .height = 1}.bytes({5})) ==
        colours_of({0, 0, 0, 0, 5, 0}));
  CHECK(values_in(GifFile{.canvas_width = 1, .canvas_height = 1}.bytes(indices)) == colours_of(indices));
}

TEST_CASE("a GIF that is cut off or too large is refused") {
  Values many(40 * 30);
  for (size_t i = 0; i < many.size(); ++i) many[i] = static_cast<int>(i * i % 8);
  const std::string whole =
      GifFile{.canvas_width = 40, .canvas_height = 30, .width = 40, .height = 30}.bytes(many);
  REQUIRE(values_in(whole) == colours_of(many));
  for (size_t kept = 4; kept + 4 < whole.size(); kept += 13)
    CHECK_THAT(fault_of_file(whole.substr(0, kept)), ContainsSubstring("no sound GIF: it is cut off"));
  CHECK_THAT(fault_of_file(whole.substr(0, 13 + 24) + ";"),
             ContainsSubstring("no sound GIF: it has no frame"));
  std::string huge = whole;
  huge.replace(6, 4, "\xff\xff\xff\xff");
  const MemoryLimit limit(64 << 20);
  CHECK_THAT(fault_of_file(huge), ContainsSubstring("65535 x 65535 pixels"));
}

// A BMP file of Windows; `after` comes between its header and its pixels: masks, a palette.
std::string bmp_file(int32_t width, int32_t height, int bits, const std::string& pixels, uint64_t packing = 0,
                     const std::string& after = "", uint64_t colours = 0, uint64_t header = 40) {
  const std::string head =
      digits(header, 4) + digits(static_cast<uint32_t>(width), 4) + digits(static_cast<uint32_t>(height), 4) +
      digits(1, 2) + digits(static_cast<uint64_t>(bits), 2) + digits(packing, 4) + digits(pixels.size(), 4) +
      digits(0, 8) + digits(colours, 4) + digits(0, 4) + after;
  return "BM" + digits(14 + head.size() + pixels.size(), 4) + digits(0, 4) + digits(14 + head.size(), 4) +
         head + pixels;
}

const std::string kPalette =
    text_of({3, 2, 1, 0, 6, 5, 4, 0, 9, 8, 7, 0, 12, 11, 10, 0});  // blue, green, red

TEST_CASE("BMP files of any number of bits are read") {
  const std::string two_rows = text_of({3, 2, 1, 6, 5, 4, 0, 0, 9, 8, 7, 12, 11, 10, 0, 0});
  CHECK(values_in(bmp_file(2, 2, 24, two_rows)) == Values{7, 8, 9, 10, 11, 12, 1, 2, 3, 4, 5, 6});
  CHECK(values_in(bmp_file(2, -2, 24, two_rows)) == Values{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12});
  CHECK(values_in(bmp_file(1, 1, 32, text_of({3, 2, 1, 99}))) == Values{1, 2, 3});
  CHECK(values_in(bmp_file(2, 1, 8, text_of({3, 0, 0, 0}), 0, kPalette, 4)) == Values{10, 11, 12, 1, 2, 3});
  CHECK(values_in(bmp_file(2, 1, 8, text_of({9, 0, 0, 0}), 0, kPalette, 4)) == Values{9, 9, 9, 1, 2, 3});
  CHECK(values_in(bmp_file(3, 1, 4, text_of({0x12, 0x30, 0, 0}), 0, kPalette, 4)) ==
        Values{4, 5, 6, 7, 8, 9, 10, 11, 12});
  CHECK(values_in(bmp_file(2, 1, 1, text_of({0x40, 0, 0, 0}), 0, kPalette.substr(0, 8))) ==
        Values{1, 2, 3, 4, 5, 6});
  CHECK(values_in(bmp_file(2, 1, 16, digits(0x7C1F, 2) + digits(0x0200, 2))) ==
        Values{255, 0, 255, 0, 131, 0});
  // OS/2
  const std::string old = digits(12, 4) + digits(1, 2) + digits(1, 2) + digits(1, 2) + digits(24, 2);
  CHECK(values_in("BM" + digits(30, 4) + digits(0, 4) + digits(26, 4) + old + text_of({3, 2, 1, 0})) ==
        Values{1, 2, 3});
}

TEST_CASE("BMP files with masks of their colours are read, with opacity on white") {
  const std::string five_six_five = digits(0xF800, 4) + digits(0x7E0, 4) + digits(0x1F, 4);
  CHECK(values_in(bmp_file(2, 1, 16, digits(0xF81F, 2) + digits(0x0400, 2), 3, five_six_five)) ==
        Values{255, 0, 255, 0, 129, 0});
  const std::string masks = digits(0xFF, 4) + digits(0xFF00, 4) + digits(0xFF0000, 4) + digits(0xFF000000, 4);
  const std::string layered = bmp_file(2, 1, 32, text_of({50, 100, 150, 128, 1, 2, 3, 0}), 3, masks, 0, 56);
  CHECK(values_in(layered) == Values{152, 177, 202, 255, 255, 255});
  CHECK(image_facts(layered).colours == "colour, transparent");
  CHECK_THAT(fault_of_file(bmp_file(1, 1, 32, "abcd", 3, std::string(12, '\0'))),
             ContainsSubstring("no masks of its colours"));
}

TEST_CASE("BMP files of runs are read") {
  // Row 0 (the lowest): 3 of colour 2. A step of 1 to the right and 1 up, then colours 3 and 1. The end.
  const std::string runs = text_of({3, 2, 0, 0, 0, 2, 1, 1, 0, 3, 3, 1, 2, 0, 0, 1});
  CHECK(values_in(bmp_file(3, 3, 8, runs, 1, kPalette, 4)) ==
        Values{1, 2, 3, 10, 11, 12, 4, 5, 6, 1, 2, 3, 1, 2, 3, 1, 2, 3, 7, 8, 9, 7, 8, 9, 7, 8, 9});
  CHECK(values_in(bmp_file(4, 1, 4, text_of({3, 0x12, 1, 0x30, 0, 1}), 2, kPalette, 4)) ==
        Values{4, 5, 6, 7, 8, 9, 4, 5, 6, 10, 11, 12});
  CHECK(values_in(bmp_file(3, 1, 4, text_of({0, 3, 0x12, 0x30, 0, 1}), 2, kPalette, 4)) ==
        Values{4, 5, 6, 7, 8, 9, 10, 11, 12});
  CHECK(values_in(bmp_file(1, 1, 8, text_of({255, 1, 0, 1}), 1, kPalette, 4)) ==
        Values{4, 5, 6});  // beyond the row
  CHECK_THAT(fault_of_file(bmp_file(3, 3, 8, text_of({3, 2, 0, 0}), 1, kPalette, 4)),
             ContainsSubstring("it is cut off"));
}

TEST_CASE("a BMP that is cut off, too large or of another kind is refused") {
  const std::string whole = bmp_file(20, 20, 24, std::string(1200, 'x'));
  REQUIRE(values_in(whole).size() == 1200);
  for (size_t kept = 2; kept < whole.size(); kept += 13)
    CHECK_THAT(fault_of_file(whole.substr(0, kept)), ContainsSubstring("no sound BMP: it is cut off"));
  CHECK_THAT(fault_of_file(bmp_file(1, 1, 24, "abcd", 5)),
             ContainsSubstring("a BMP with compression 5 cannot be read"));
  CHECK_THAT(fault_of_file(bmp_file(1, 1, 7, "abcd")), ContainsSubstring("a BMP with 7 bits for each pixel"));
  CHECK_THAT(fault_of_file(bmp_file(1, 1, 24, "abcd", 0, "", 0, 41)),
             ContainsSubstring("a BMP with a header of 41 bytes"));
  const MemoryLimit limit(64 << 20);
  CHECK_THAT(fault_of_file(bmp_file(100'000, -100'000, 24, "")), ContainsSubstring("100000 x 100000 pixels"));
}

}  // namespace
}  // namespace dtrain
