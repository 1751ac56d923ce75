// What image files can hold beyond plain pixels.
#include <ATen/ATen.h>
#include <turbojpeg.h>
#include <webp/encode.h>

#include "catch.h"
#include "codecs/image_file.h"
#include "data/data_files.h"
#include "data/picture_files.h"
#include "files.h"
#include "images/fit.h"
#include "images/look.h"

namespace dtrain {
namespace {

using namespace test;

at::Tensor decoded(const std::string& content) {
  const TemporaryFolder folder;
  write_file(folder.path() / "image", content);
  return read_image_file(folder.path() / "image");
}

std::string refused(const std::string& content) {
  return error_of([&] { decoded(content); });
}

// Four blocks of 16 x 16: 250 (above left), 170, 90, 10 (below right) of grey.
at::Tensor four_blocks() {
  const at::Tensor corners = at::tensor({250, 170, 90, 10}, at::kByte).view({2, 2});
  return corners.repeat_interleave(16, 0).repeat_interleave(16, 1).contiguous();
}

std::string jpeg_file(const at::Tensor& rows, int format, int subsampling) {
  const tjhandle encoder = tjInitCompress();
  unsigned char* bytes = nullptr;
  unsigned long size = 0;
  REQUIRE(tjCompress2(encoder, rows.const_data_ptr<uint8_t>(), static_cast<int>(rows.size(1)), 0,
                      static_cast<int>(rows.size(0)), format, &bytes, &size, subsampling, 100, 0) == 0);
  std::string content(reinterpret_cast<char*>(bytes), size);
  tjFree(bytes);
  tjDestroy(encoder);
  return content;
}

std::string little(uint64_t value, int bytes) {
  std::string text;
  for (int i = 0; i < bytes; ++i) text += static_cast<char>(value >> 8 * i & 0xff);
  return text;
}

std::string big(uint64_t value, int bytes) {
  const std::string text = little(value, bytes);
  return {text.rbegin(), text.rend()};
}

// EXIF metadata with an orientation: a TIFF header and a directory.
std::string exif_with(uint64_t orientation, bool little_endian = true) {
  const auto number = little_endian ? little : big;
  const std::string entry =
      number(0x0112, 2) + number(3, 2) + number(1, 4) + number(orientation, 2) + number(0, 2);
  const std::string other = number(0x010F, 2) + number(2, 2) + number(4, 4) + number(0, 4);
  return (little_endian ? "II" : "MM") + number(42, 2) + number(8, 4) + number(2, 2) + other + entry +
         number(0, 4);
}

const std::string kExif("Exif\0\0", 6);

// `jpeg` with a segment for metadata after its first marker.
std::string with_segment(const std::string& jpeg, const std::string& content) {
  return jpeg.substr(0, 2) + "\xff\xe1" + big(content.size() + 2, 2) + content + jpeg.substr(2);
}

std::string with_orientation(const std::string& jpeg, uint64_t orientation, bool little_endian = true) {
  return with_segment(jpeg, kExif + exif_with(orientation, little_endian));
}

// The greys in the middle of the corners: above left, above right, below left, below right.
std::vector<int64_t> corners_of(const at::Tensor& image) {
  std::vector<int64_t> greys;
  for (const int64_t y : {8, 24}) {
    for (const int64_t x : {8, 24}) greys.push_back((image[0][0][y][x].item<int64_t>() + 5) / 10 * 10);
  }
  return greys;
}

using Corners = std::vector<int64_t>;

// Where the stored corners are seen (CIPA DC-008, 4.6.4 A, Orientation).
const std::vector<Corners> seen = {{250, 170, 90, 10}, {170, 250, 10, 90}, {10, 90, 170, 250},
                                   {90, 10, 250, 170}, {250, 90, 170, 10}, {90, 250, 10, 170},
                                   {10, 170, 90, 250}, {170, 10, 250, 90}};

TEST_CASE("a photograph is turned as its EXIF orientation says") {
  const std::string jpeg = jpeg_file(four_blocks(), TJPF_GRAY, TJSAMP_GRAY);
  REQUIRE(corners_of(decoded(jpeg)) == Corners{250, 170, 90, 10});
  for (uint64_t orientation = 1; orientation <= 8; ++orientation) {
    INFO(orientation);
    CHECK(corners_of(decoded(with_orientation(jpeg, orientation))) == seen[orientation - 1]);
    CHECK(corners_of(decoded(with_orientation(jpeg, orientation, false))) == seen[orientation - 1]);
  }
  for (const uint64_t nonsense : {0, 9, 255, 65535})
    CHECK(corners_of(decoded(with_orientation(jpeg, nonsense))) == seen[0]);

  const at::Tensor wide = at::arange(48, at::kByte).expand({16, 48}).contiguous();
  const std::string turned = with_orientation(jpeg_file(wide, TJPF_GRAY, TJSAMP_GRAY), 6);
  CHECK(decoded(turned).sizes() == at::IntArrayRef({1, 1, 48, 16}));
  const ImageFacts facts = image_facts(turned);
  CHECK(facts.format == "JPEG");
  CHECK(facts.width == 48);
  CHECK(facts.height == 16);
  CHECK(facts.colours == "grey");
  CHECK(facts.orientation == 6);
  CHECK(facts.lies_on_its_side());
}

TEST_CASE("a JPEG can be decoded at a fraction of its size that is not below what is needed") {
  at::manual_seed(6);
  const at::Tensor seeds = at::randint(0, 256, {1, 3, 6, 8}, at::kByte);
  const at::Tensor smooth = fit_images(seeds, {3, 96, 130}, Fit::kStretch);
  const std::string jpeg = jpeg_file(smooth[0].permute({1, 2, 0}).contiguous(), TJPF_RGB, TJSAMP_444);
  const auto sides = [](const std::string& bytes, int64_t height, int64_t width) {
    return decode_image_file(bytes, {.height = height, .width = width}).sizes().slice(2).vec();
  };
  using Sides = std::vector<int64_t>;
  CHECK(sides(jpeg, 0, 0) == Sides{96, 130});
  CHECK(sides(jpeg, 49, 20) == Sides{96, 130});
  CHECK(sides(jpeg, 48, 65) == Sides{48, 65});
  CHECK(sides(jpeg, 24, 34) == Sides{48, 65});
  CHECK(sides(jpeg, 20, 20) == Sides{24, 33});  // 130 / 4, rounded up
  CHECK(sides(jpeg, 1, 1) == Sides{12, 17});
  CHECK(sides(with_orientation(jpeg, 6), 60, 40) == Sides{65, 48});  // on its side
  CHECK(sides(with_orientation(jpeg, 6), 40, 60) == Sides{130, 96});
  CHECK(sides(png_file(smooth[0]), 1, 1) == Sides{96, 130});  // no other format can

  const at::Tensor whole = fit_images(decode_image_file(jpeg), {3, 20, 28}, Fit::kStretch);
  const at::Tensor fast = fit_images(decode_image_file(jpeg, {20, 28}), {3, 20, 28}, Fit::kStretch);
  CHECK((whole.to(at::kFloat) - fast.to(at::kFloat)).abs().mean().item<double>() < 5);
  CHECK_FALSE(at::equal(whole, fast));
}

TEST_CASE("pictures look alike at another size and brightness, and others do not") {
  at::manual_seed(5);
  const at::Tensor seeds = at::randint(0, 200, {20, 3, 6, 6}, at::kByte);
  const auto picture = [&](int64_t index, int64_t height, int64_t width) {
    return fit_images(seeds.narrow(0, index, 1), {3, height, width}, Fit::kStretch);
  };
  for (int64_t index = 0; index < 20; ++index) {
    const Look look = look_of(picture(index, 120, 160));
    CHECK(look_alike(look, look_of(picture(index, 60, 80))));
    CHECK(look_alike(look, look_of(picture(index, 120, 160) + 40)));
    for (int64_t other = 0; other < index; ++other)
      CHECK_FALSE(look_alike(look, look_of(picture(other, 120, 160))));
  }
}

TEST_CASE("a damaged EXIF segment is read to its end and no further") {
  const std::string jpeg = jpeg_file(four_blocks(), TJPF_GRAY, TJSAMP_GRAY);
  const std::string whole = with_orientation(jpeg, 6);
  const size_t end = whole.size() - jpeg.size() + 2;
  for (size_t at = 12; at < end; ++at) {
    for (const char byte : {'\0', '\x7f', '\xff'}) {
      std::string spoiled = whole;
      spoiled[at] = byte;
      CHECK(decoded(spoiled).numel() == 32 * 32);
    }
  }
}

TEST_CASE("a JPEG of inks becomes colours") {
  const at::Tensor inks = at::tensor({200, 100, 50, 255}, at::kByte).expand({16, 16, 4}).contiguous();
  const at::Tensor image = decoded(jpeg_file(inks, TJPF_CMYK, TJSAMP_444));
  REQUIRE(image.sizes() == at::IntArrayRef({1, 3, 16, 16}));
  const at::Tensor expected = at::tensor({200, 100, 50}, at::kInt).view({1, 3, 1, 1});
  CHECK((image.to(at::kInt) - expected).abs().max().item<int>() <= 2);
}

std::string webp_file(const at::Tensor& rows) {
  uint8_t* bytes = nullptr;
  const auto encode = rows.size(2) == 4 ? WebPEncodeLosslessRGBA : WebPEncodeLosslessRGB;
  const size_t size = encode(rows.const_data_ptr<uint8_t>(), static_cast<int>(rows.size(1)),
                             static_cast<int>(rows.size(0)), static_cast<int>(rows.stride(0)), &bytes);
  REQUIRE(size > 0);
  std::string content(reinterpret_cast<char*>(bytes), size);
  WebPFree(bytes);
  return content;
}

std::string chunk(const std::string& kind, const std::string& content) {
  return kind + little(content.size(), 4) + content + (content.size() % 2 ? std::string(1, '\0') : "");
}

// An animation whose frames cover the canvas.
std::string animated_webp(const std::vector<at::Tensor>& frames) {
  const auto width = static_cast<uint64_t>(frames[0].size(1)),
             height = static_cast<uint64_t>(frames[0].size(0));
  std::string body = "WEBP" + chunk("VP8X", little(2, 4) + little(width - 1, 3) + little(height - 1, 3)) +
                     chunk("ANIM", little(0, 6));
  for (const at::Tensor& frame : frames)
    body += chunk("ANMF", little(0, 6) + little(width - 1, 3) + little(height - 1, 3) + little(100, 3) +
                              little(0, 1) + webp_file(frame).substr(12));
  return "RIFF" + little(body.size(), 4) + body;
}

at::Tensor noise(at::IntArrayRef shape) {
  at::manual_seed(5);
  return at::randint(0, 256, shape, at::kByte);
}

// A WebP file with an extended header and a chunk after its pixels.
std::string webp_with(const at::Tensor& rows, const std::string& kind, const std::string& content) {
  constexpr uint64_t kHasExif = 8, kHasXmp = 4, kHasIcc = 32;
  const std::string sides =
      little(static_cast<uint64_t>(rows.size(1)) - 1, 3) + little(static_cast<uint64_t>(rows.size(0)) - 1, 3);
  const std::string body = "WEBP" +
                           chunk("VP8X", little(kind == "EXIF"   ? kHasExif
                                                : kind == "ICCP" ? kHasIcc
                                                                 : kHasXmp,
                                                4) +
                                             sides) +
                           webp_file(rows).substr(12) + chunk(kind, content);
  return "RIFF" + little(body.size(), 4) + body;
}

std::string xmp_with(uint64_t orientation) {
  std::string text = "<rdf:Description tiff:Orientations=\"8\" tiff:Orientation=\"";
  text += std::to_string(orientation);
  return text + "\"/>";
}

TEST_CASE("a PNG and a WebP are turned as their metadata says, wherever it is") {
  const at::Tensor grey = four_blocks(), colour = grey.unsqueeze(2).expand({32, 32, 3}).contiguous();
  std::vector<std::string> rows;
  for (int64_t row = 0; row < 32; ++row)
    rows.emplace_back(static_cast<const char*>(grey[row].const_data_ptr()), 32);
  const auto png = [&](const std::string& before, const std::string& after = "") {
    return png_of_rows(rows, 32, 8, 0, before, after);
  };
  REQUIRE(corners_of(decoded(png(""))) == seen[0]);
  REQUIRE(corners_of(decoded(webp_with(colour, "EXIF", ""))) == seen[0]);
  const std::string jpeg = jpeg_file(grey, TJPF_GRAY, TJSAMP_GRAY);
  const std::string jpeg_xmp("http://ns.adobe.com/xap/1.0/\0", 29),
      png_xmp("XML:com.adobe.xmp\0\0\0\0\0", 22);
  for (uint64_t orientation = 1; orientation <= 8; ++orientation) {
    INFO(orientation);
    const Corners& expected = seen[orientation - 1];
    for (const bool little_endian : {true, false}) {
      const std::string exif = exif_with(orientation, little_endian), xmp = xmp_with(orientation);
      CHECK(corners_of(decoded(png(png_chunk("eXIf", exif)))) == expected);
      CHECK(corners_of(decoded(png("", png_chunk("eXIf", exif)))) == expected);
      CHECK(corners_of(decoded(webp_with(colour, "EXIF", exif))) == expected);
      CHECK(corners_of(decoded(webp_with(colour, "EXIF", kExif + exif))) == expected);
      // XMP says it where EXIF does not.
      CHECK(corners_of(decoded(png(png_chunk("iTXt", png_xmp + xmp)))) == expected);
      CHECK(corners_of(decoded(webp_with(colour, "XMP ", xmp))) == expected);
      CHECK(corners_of(decoded(with_segment(jpeg, jpeg_xmp + xmp))) == expected);
      CHECK(corners_of(decoded(with_segment(with_orientation(jpeg, 1), jpeg_xmp + xmp))) == seen[0]);
      CHECK(image_facts(png("", png_chunk("eXIf", exif))).orientation == static_cast<int>(orientation));
      CHECK(image_facts(webp_with(colour, "EXIF", exif)).orientation == static_cast<int>(orientation));
    }
  }
  const std::string whole = exif_with(6);
  for (size_t kept = 0; kept < whole.size(); ++kept)
    CHECK(decoded(png(png_chunk("eXIf", whole.substr(0, kept)))).numel() == 32 * 32);
  CHECK(corners_of(decoded(png(png_chunk("iTXt", png_xmp + "tiff:Orientation=\"")))) == seen[0]);
}

TEST_CASE("a colour profile that is not sRGB's is noticed, and changes no pixel") {
  const at::Tensor grey = four_blocks(), colour = grey.unsqueeze(2).expand({32, 32, 3}).contiguous();
  const std::string jpeg = jpeg_file(grey, TJPF_GRAY, TJSAMP_GRAY);
  const auto with_profile = [&](const std::string& profile) {
    const std::string content = std::string("ICC_PROFILE\0\1\1", 14) + profile;
    return jpeg.substr(0, 2) + "\xff\xe2" + big(content.size() + 2, 2) + content + jpeg.substr(2);
  };
  const std::string wide = std::string(100, 'x') + "Adobe RGB (1998)" + std::string(100, 'x');
  const std::string usual = std::string(100, 'x') + std::string("s\0R\0G\0B\0", 8) + std::string(100, 'x');
  CHECK_FALSE(image_facts(jpeg).other_colours);
  CHECK(image_facts(with_profile(wide)).other_colours);
  CHECK_FALSE(image_facts(with_profile(usual)).other_colours);
  CHECK(at::equal(decoded(with_profile(wide)), decoded(jpeg)));
  CHECK(image_facts(webp_with(colour, "ICCP", wide)).other_colours);
  CHECK_FALSE(image_facts(webp_with(colour, "ICCP", "sRGB IEC61966-2.1")).other_colours);
}

TEST_CASE("a WebP file is read, of an animation the first frame") {
  const at::Tensor pixels = noise({20, 30, 3});
  const at::Tensor expected = pixels.permute({2, 0, 1}).unsqueeze(0);
  CHECK(at::equal(decoded(webp_file(pixels)), expected));
  CHECK(at::equal(decoded(animated_webp({pixels, at::zeros_like(pixels)})), expected));

  at::Tensor layered = at::cat({pixels, at::full({20, 30, 1}, 255, at::kByte)}, 2);
  layered[3][4] = at::tensor({10, 20, 30, 0}, at::kByte);
  const at::Tensor image = decoded(webp_file(layered));
  CHECK(at::equal(image[0].select(1, 3).select(1, 4), at::tensor({255, 255, 255}, at::kByte)));
  CHECK(at::equal(image[0][0][0], expected[0][0][0]));
}

TEST_CASE("a WebP file that lies about itself is refused") {
  const std::string whole = webp_file(noise({20, 30, 3}));
  for (size_t kept = 12; kept + 2 < whole.size(); kept += 11)
    CHECK_THAT(refused(whole.substr(0, kept)), ContainsSubstring("no sound WebP: it is cut off"));
  const std::string animation = animated_webp({noise({20, 30, 3}), noise({20, 30, 3})});
  CHECK_THAT(refused(animation.substr(0, 200)), ContainsSubstring("no sound WebP: it is cut off"));
  std::string huge = animation;  // a canvas of 2^14 x 2^14 and more
  huge.replace(24, 6, little(16'383, 3) + little(16'383, 3));
  const MemoryLimit limit(int64_t{300} << 20);
  CHECK_THAT(refused(huge), ContainsSubstring("16384 x 16384 pixels"));
}

TEST_CASE("crop keeps the middle, pad adds black bars, and both keep proportions") {
  const at::Tensor tall = at::full({1, 1, 40, 20}, 200, at::kByte);
  at::Tensor marked = tall.clone();
  marked.narrow(2, 0, 10).fill_(100);
  marked.narrow(2, 30, 10).fill_(50);
  CHECK(at::equal(fit_images(marked, {1, 20, 20}, Fit::kCrop), at::full({1, 1, 20, 20}, 200, at::kByte)));

  const at::Tensor padded = fit_images(tall, {1, 20, 20}, Fit::kPad);
  CHECK(at::equal(padded.narrow(3, 5, 10), at::full({1, 1, 20, 10}, 200, at::kByte)));
  CHECK(padded.sum().item<int64_t>() == 200 * 20 * 10);
  CHECK(fit_images(tall, {1, 20, 20}, Fit::kStretch).eq(200).all().item<bool>());
  // Sides that do not divide, and images of one pixel, fit too.
  for (const Fit fit : {Fit::kStretch, Fit::kCrop, Fit::kPad}) {
    for (const int64_t side : {1, 2, 7, 333}) {
      CHECK(fit_images(noise({1, 3, side, 5}), {3, 9, 11}, fit).sizes() == at::IntArrayRef({1, 3, 9, 11}));
      CHECK(fit_images(noise({1, 3, 5, side}), {1, 9, 11}, fit).sizes() == at::IntArrayRef({1, 1, 9, 11}));
    }
  }
}

}  // namespace
}  // namespace dtrain
