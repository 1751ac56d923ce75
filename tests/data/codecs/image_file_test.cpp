#include "codecs/image_file.h"

#include <ATen/ATen.h>
#include <png.h>
#include <turbojpeg.h>

#include <random>

#include "arrays/idx.h"
#include "catch.h"
#include "core/error.h"
#include "data/data_files.h"
#include "data/picture_files.h"
#include "files.h"
#include "images/fit.h"

namespace dtrain {
namespace {

using namespace test;
using Catch::Matchers::Equals;
using Catch::Matchers::StartsWith;
namespace fs = std::filesystem;

std::string bytes_of(const std::vector<uint8_t>& values) { return {values.begin(), values.end()}; }

std::vector<uint8_t> values_of(const at::Tensor& images) {
  const at::Tensor flat = images.contiguous();
  const auto* first = flat.const_data_ptr<uint8_t>();
  return {first, first + flat.numel()};
}

// As libpng writes it; `pixels` are rows of `format` (png.h: PNG_FORMAT_...).
std::string png_of(const void* pixels, uint32_t width, uint32_t height, uint32_t format) {
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  image.width = width;
  image.height = height;
  image.format = format;
  png_alloc_size_t size = 0;
  REQUIRE(png_image_write_get_memory_size(image, size, 0, pixels, 0, nullptr) != 0);
  std::string bytes(size, '\0');
  REQUIRE(png_image_write_to_memory(&image, bytes.data(), &size, 0, pixels, 0, nullptr) != 0);
  return bytes.substr(0, size);
}

std::string jpeg_of(const std::vector<uint8_t>& pixels, int width, int height, bool colour) {
  const tjhandle encoder = tjInitCompress();
  unsigned char* bytes = nullptr;
  unsigned long size = 0;
  REQUIRE(tjCompress2(encoder, pixels.data(), width, 0, height, colour ? TJPF_RGB : TJPF_GRAY, &bytes, &size,
                      colour ? TJSAMP_444 : TJSAMP_GRAY, 100, 0) == 0);
  std::string content(reinterpret_cast<char*>(bytes), size);
  tjFree(bytes);
  tjDestroy(encoder);
  return content;
}

// A PNG whose header promises a size, with sound checksums, and next to nothing in it.
std::string promising_png(uint32_t width, uint32_t height) {
  const std::string header = word(width) + word(height) + std::string("\x08\x00\x00\x00\x00", 5);
  return "\x89PNG\r\n\x1a\n" + png_chunk("IHDR", header) + png_chunk("IDAT", "") + png_chunk("IEND", "");
}

struct Images {
  TemporaryFolder folder;
  at::Tensor read(const std::string& content) const {
    write_file(folder.path() / "image", content);
    return read_images_of_any_file(folder.path() / "image");
  }
  std::string error(const std::string& content) const {
    return error_of([&] { read(content); });
  }
};

const std::vector<uint8_t> kGrey = {0, 1, 127, 128, 254, 255};                             // 3 x 2
const std::vector<uint8_t> kColour = {255, 0, 0, 0, 255, 0, 0, 0, 255, 9, 8, 7, 1, 2, 3};  // 5 x 1

TEST_CASE("PNG images are read to the last bit") {
  const Images images;
  const at::Tensor grey = images.read(png_of(kGrey.data(), 3, 2, PNG_FORMAT_GRAY));
  CHECK(grey.sizes() == at::IntArrayRef({1, 1, 2, 3}));
  CHECK(values_of(grey) == kGrey);
  const at::Tensor colour = images.read(png_of(kColour.data(), 5, 1, PNG_FORMAT_RGB));
  CHECK(colour.sizes() == at::IntArrayRef({1, 3, 1, 5}));
  CHECK(values_of(colour[0][0]) == std::vector<uint8_t>{255, 0, 0, 9, 1});  // red
  CHECK(values_of(colour[0][2]) == std::vector<uint8_t>{0, 0, 255, 7, 3});  // blue

  const std::vector<uint8_t> transparent = {10, 20, 30, 0, 10, 20, 30, 255};
  const at::Tensor shown = images.read(png_of(transparent.data(), 2, 1, PNG_FORMAT_RGBA));
  CHECK(values_of(shown) == std::vector<uint8_t>{255, 10, 255, 20, 255, 30});  // nothing is white
}

TEST_CASE("JPEG images are read, as far as they are exact") {
  const Images images;
  const at::Tensor grey = images.read(jpeg_of(std::vector<uint8_t>(12, 77), 4, 3, false));
  CHECK(grey.sizes() == at::IntArrayRef({1, 1, 3, 4}));
  for (const uint8_t value : values_of(grey)) CHECK(std::abs(value - 77) <= 1);
  std::vector<uint8_t> orange;
  for (int i = 0; i < 64; ++i) orange.insert(orange.end(), {250, 120, 10});
  const at::Tensor colour = images.read(jpeg_of(orange, 8, 8, true));
  CHECK(colour.sizes() == at::IntArrayRef({1, 3, 8, 8}));
  const std::vector<int> expected = {250, 120, 10};
  for (int64_t channel = 0; channel < 3; ++channel) {
    for (const uint8_t value : values_of(colour[0][channel]))
      CHECK(std::abs(value - expected[static_cast<size_t>(channel)]) <= 3);
  }
}

TEST_CASE("PGM and PPM images are read with comments and any largest value") {
  const Images images;
  CHECK(values_of(images.read("P5\n# by hand\n3 2 # wide\n255\n" + bytes_of(kGrey))) == kGrey);
  CHECK(values_of(images.read("P5 3 1 15\n" + bytes_of({0, 8, 15}))) == std::vector<uint8_t>{0, 136, 255});
  const at::Tensor colour = images.read("P6 5 1 255 " + bytes_of(kColour));
  CHECK(values_of(colour[0][1]) == std::vector<uint8_t>{0, 255, 0, 8, 2});
}

TEST_CASE("an IDX file has many images, packed or not") {
  const Images images;
  for (const std::string& content : {image_file(5), gzip(image_file(5))}) {
    const at::Tensor all = images.read(content);
    CHECK(all.sizes() == at::IntArrayRef({5, 1, 4, 3}));
    CHECK(all[4][0][3][2].item<int>() == 59);
  }
}

TEST_CASE("what is no image is refused by name") {
  const Images images;
  for (const auto& [content, fault] : std::vector<std::pair<std::string, std::string>>{
           {"", "is empty"},
           {"abc", "too early"},
           {"hello world", "no JPEG, PNG, WebP, TIFF, GIF, BMP, PPM, PGM or IDX file of images"},
           {"GIF89a....", "no sound GIF: it is cut off"},
           {label_file(3), "a file of labels"},
           {"P5 3 2 65535\n............", "largest value is 65535"},
           {"P5 3 x", "no height"},
           {"P5 3 2 255\n.....", "16 bytes, where an image of 3 x 2 pixels takes 17"},
           {"P5 99999999999 1 255\n", "can be read"},
           {"P6  ", "no width"},
           {"P5# ", "no width"},
           {std::string("II*\0", 4) + "\x08", "no sound TIFF: it is cut off"},
           {std::string("MM\0*", 4), "no sound TIFF: it is cut off"},
           {std::string("\0\0\0\x18", 4) + "ftypheic", "HEIC cannot be read: convert it to JPEG or PNG"},
           {std::string("\0\0\0\x18", 4) + "ftypavif", "AVIF cannot be read: convert it to JPEG or PNG"},
           {std::string("\0\0\0\x18", 4) + "ftypmif1", "HEIC or AVIF cannot be read"},
           {std::string("\0\0\0\x18", 4) + "ftypisom", "a video"},
           {"BM....", "no sound BMP: it is cut off"},
           {"\x89PNG but not really", "no sound PNG"},
           {"\xff\xd8\xff but not really", "no sound JPEG"}}) {
    INFO(content);
    CHECK_THAT(images.error(content),
               StartsWith((images.folder.path() / "image").string() + ": ") && ContainsSubstring(fault));
  }
  CHECK_THAT(error_of([&] { read_images_of_any_file(images.folder.path()); }),
             ContainsSubstring("is a folder"));
  CHECK_THAT(error_of([&] { read_images_of_any_file("no/such.png"); }),
             ContainsSubstring("no/such.png: cannot be opened"));
}

TEST_CASE("promises of size take no memory") {
  const Images images;
  std::string jpeg = jpeg_of(std::vector<uint8_t>(12, 77), 4, 3, false);
  const size_t frame = jpeg.find("\xff\xc0");  // then length (2), precision (1), height (2), width (2)
  REQUIRE(frame != std::string::npos);
  jpeg.replace(frame + 5, 4, std::string("\xff\x00\xff\x00", 4));
  const MemoryLimit limit(64 << 20);
  CHECK_THAT(images.error(promising_png(100'000, 100'000)), ContainsSubstring("100000 x 100000 pixels"));
  CHECK_THAT(images.error(promising_png(16'384, 16'384)), ContainsSubstring("16384 x 16384 pixels"));
  CHECK_THAT(images.error(promising_png(0, 1)), ContainsSubstring("no sound PNG"));
  CHECK_THAT(images.error("P6 16384 16384 255\n"), ContainsSubstring("16384 x 16384 pixels"));
  CHECK_THAT(images.error(jpeg), ContainsSubstring("65280 x 65280 pixels"));
}

TEST_CASE("a file that was cut off is never taken for a whole one") {
  const Images images;
  std::vector<uint8_t> noise(40 * 40);
  std::mt19937 random(7);
  for (uint8_t& value : noise) value = static_cast<uint8_t>(random());
  for (const std::string& whole : {png_of(noise.data(), 40, 40, PNG_FORMAT_GRAY),
                                   jpeg_of(noise, 40, 40, false), "P5 40 40 255\n" + bytes_of(noise)}) {
    REQUIRE(images.read(whole).numel() == 1600);
    // A PNG ends with a mark of 12 bytes that no pixel needs, a JPEG with one of 2.
    for (size_t kept = 4; kept + 30 < whole.size(); kept += 37) {
      INFO(kept << " of " << whole.size());
      const bool in_numbers = whole[0] == 'P' && kept < 13;  // of a PGM's header
      CHECK_THAT(images.error(whole.substr(0, kept)),
                 StartsWith((images.folder.path() / "image").string() + ": ") &&
                     ContainsSubstring(in_numbers ? "no sound PGM" : "it is cut off"));
    }
  }
}

// Pillow 13: alpha_composite() over white, then convert("RGB").
TEST_CASE(
    "half-transparent pixels of a PNG are drawn on white as Pillow does, whatever it says of its colours") {
  const Images images;
  const auto read = [&](const std::string& row, uint32_t width, int bits, int type,
                        const std::string& chunks) {
    return values_of(images.read(png_of_rows({row}, width, bits, type, chunks))[0].permute({1, 2, 0}));
  };
  using Values = std::vector<uint8_t>;
  const std::string colours =
      bytes_of({100, 100, 100, 128, 10, 20, 30, 64, 255, 0, 7, 200, 1, 2, 3, 0, 9, 8, 7, 255});
  const std::string linear = png_chunk("gAMA", word(100'000)), television = png_chunk("gAMA", word(55'556)),
                    srgb = png_chunk("sRGB", std::string(1, '\0'));
  for (const std::string& chunks : {std::string(), linear, television, srgb}) {
    CHECK(read(colours, 5, 8, 6, chunks) ==
          Values{177, 177, 177, 194, 196, 199, 255, 55, 60, 255, 255, 255, 9, 8, 7});
    CHECK(read("d", 1, 8, 0, chunks) == Values{100});
    CHECK(read("dde", 1, 8, 2, chunks) == Values{100, 100, 101});
  }
  CHECK(read(bytes_of({100, 128, 0, 1, 255, 254, 40, 90}), 4, 8, 4, "") == Values{177, 254, 255, 179});
  const std::string palette = png_chunk("PLTE", bytes_of({10, 20, 30, 200, 100, 50, 0, 0, 0})) +
                              png_chunk("tRNS", bytes_of({128, 0}));
  CHECK(read(bytes_of({0, 1, 2}), 3, 8, 3, palette) == Values{132, 137, 142, 255, 255, 255, 0, 0, 0});
  std::string wide, wide_grey;  // 16 bits
  for (const uint8_t high : {0x64, 0x0a, 0xff, 0x80}) {
    const uint8_t low = high == 0x0a ? 0x80 : 0xff;
    wide += bytes_of({high, low, static_cast<uint8_t>(high ^ 0x33), static_cast<uint8_t>(low ^ 0x33), 0x12,
                      0x34, 0x80, 0x80});
    wide_grey += bytes_of({high, low, 0x40, 0xff});
  }
  CHECK(read(wide, 4, 16, 6, linear) == Values{177, 171, 136, 132, 156, 136, 255, 229, 136, 191, 217, 136});
  CHECK(read(wide_grey, 4, 16, 4, "") == Values{216, 194, 255, 223});
  const std::string opaque = bytes_of({0, 255, 128, 128, 255, 0, 15, 255, 128, 255, 255, 255});
  CHECK(read(opaque, 2, 16, 2, "") == Values{0, 128, 255, 15, 128, 255});
  CHECK(read(opaque, 6, 16, 0, linear) == Values{0, 128, 255, 15, 128, 255});
}

TEST_CASE("12 bits in a PNG of 16 are noticed") {
  const auto noticed = [](const std::string& row, int bits) {
    const std::string png = png_of_rows({row}, static_cast<uint32_t>(std::ssize(row) * 8 / bits), bits, 0);
    return is_nearly_black(image_facts(png), decode_image_file(png));
  };
  CHECK(noticed(bytes_of({0, 0, 15, 255, 3, 0}), 16));
  CHECK_FALSE(noticed(bytes_of({0, 0, 16, 0, 3, 0}), 16));
  CHECK_FALSE(noticed(bytes_of({0, 0, 15}), 8));
}

TEST_CASE("spoiled bytes give an image or an error, and nothing else") {
  const Images images;
  std::mt19937 random(11);
  const std::vector<uint8_t> pixels(32 * 32 * 3, 60);
  for (const std::string& whole :
       {png_of(pixels.data(), 32, 32, PNG_FORMAT_RGB), jpeg_of(pixels, 32, 32, true)}) {
    for (int times = 0; times < 200; ++times) {
      std::string spoiled = whole;
      for (int flips = 0; flips < 3; ++flips) spoiled[4 + random() % (whole.size() - 4)] ^= 1 << random() % 8;
      const std::string error = images.error(spoiled);
      CHECK((error == "no error" || error.find("image: ") != std::string::npos));
    }
  }
}

TEST_CASE("images are fitted to the model's colours, and to its size only on request") {
  const at::Tensor colour = at::tensor({255, 0, 0, 255, 0, 255, 0, 255}, at::kByte).view({1, 1, 2, 4});
  const at::Tensor rgb = at::cat({colour, colour * 0 + 100, colour * 0 + 50}, 1);
  const at::Tensor grey = fit_images(rgb, {1, 2, 4}, Fit::kRefuse);
  CHECK(grey.sizes() == at::IntArrayRef({1, 1, 2, 4}));
  CHECK(values_of(grey) == std::vector<uint8_t>{141, 64, 64, 141, 64, 141, 64, 141});  // 0.299 * 255 + 64.4
  CHECK(at::equal(fit_images(grey, {3, 2, 4}, Fit::kRefuse), grey.expand({-1, 3, -1, -1})));
  CHECK_THAT(error_of([&] {
               fit_images(rgb, {1, 28, 28}, Fit::kRefuse);
             }),
             Equals("4 x 2 pixels, and the model takes 28 x 28: --resize scales it"));
  CHECK_THAT(error_of([&] {
               fit_images(rgb, {2, 2, 4}, Fit::kStretch);
             }),
             Equals("3 channels, and the model takes 2"));

  CHECK(at::equal(fit_images(rgb.narrow(1, 1, 1), {1, 5, 7}, Fit::kStretch),
                  at::full({1, 1, 5, 7}, 100, at::kByte)));
  const at::Tensor ramp = at::arange(0, 240, at::kByte).expand({1, 1, 60, 240}).contiguous();
  const at::Tensor small = fit_images(ramp, {1, 6, 24}, Fit::kStretch);  // each pixel is what ten were about
  for (int64_t x = 1; x < 23; ++x) {
    CHECK(std::abs(small[0][0][3][x].item<double>() - (10 * static_cast<double>(x) + 4.5)) <= 1);
    CHECK(at::equal(small[0][0][0], small[0][0][5]));
  }
}

}  // namespace
}  // namespace dtrain
