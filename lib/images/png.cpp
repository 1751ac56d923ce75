#include <ATen/ATen.h>
#include <fmt/format.h>
#include <png.h>

#include <memory>

#include "core/error.h"
#include "images/codecs.h"
#include "images/image_file.h"

namespace dtrain {
namespace {

using FreedPng = std::unique_ptr<png_image, decltype(&png_image_free)>;

// Reads the header. The result frees what `image` holds.
FreedPng begin_png(png_image& image, const std::string& bytes) {
  image.version = PNG_IMAGE_VERSION;
  FreedPng freed(&image, png_image_free);
  if (png_image_begin_read_from_memory(&image, bytes.data(), bytes.size()) == 0)
    refuse_image(fmt::format("no sound PNG: {}", image.message));
  return freed;
}

}  // namespace

ImageFacts png_facts(const std::string& bytes) {
  png_image image{};
  const FreedPng freed = begin_png(image, bytes);
  std::string colours = (image.format & PNG_FORMAT_FLAG_COLOR) != 0 ? "colour" : "grey";
  if ((image.format & PNG_FORMAT_FLAG_LINEAR) != 0) colours += ", 16 bits";
  if ((image.format & PNG_FORMAT_FLAG_ALPHA) != 0) colours += ", transparent";
  return {"PNG", image.width, image.height, colours};
}

at::Tensor decode_png(const std::string& bytes) {
  png_image image{};
  const FreedPng freed = begin_png(image, bytes);
  const bool colour = (image.format & PNG_FORMAT_FLAG_COLOR) != 0;
  image.format = colour ? PNG_FORMAT_RGB : PNG_FORMAT_GRAY;
  // Without this flag, 16-bit samples are read as linear light unless the file says otherwise.
  image.flags |= PNG_IMAGE_FLAG_16BIT_sRGB;
  at::Tensor pixels = rows_of_pixels(image.width, image.height, colour ? 3 : 1);
  const png_color white{255, 255, 255};
  if (png_image_finish_read(&image, &white, pixels.mutable_data_ptr(), /*row_stride=*/0, nullptr) == 0)
    refuse_image(fmt::format("no sound PNG: {}", image.message));
  return pixels;
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
