#include <ATen/ATen.h>
#include <fmt/format.h>
#include <webp/decode.h>
#include <webp/demux.h>

#include <memory>
#include <new>

#include "images/codecs.h"

namespace dtrain {
namespace {

// The first frame on the animation's canvas, uint8 [height, width, 4]. The canvas has been checked.
at::Tensor first_frame(const std::string& bytes, int width, int height) {
  const WebPData data{reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()};
  const std::unique_ptr<WebPAnimDecoder, decltype(&WebPAnimDecoderDelete)> decoder(
      WebPAnimDecoderNew(&data, /*options=*/nullptr), WebPAnimDecoderDelete);
  uint8_t* canvas = nullptr;
  int milliseconds = 0;
  if (!decoder || WebPAnimDecoderGetNext(decoder.get(), &canvas, &milliseconds) == 0)
    refuse_image("no sound WebP: its first frame is damaged or cut off");
  return at::from_blob(canvas, {height, width, 4}, at::kByte).clone();
}

WebPBitstreamFeatures header_of_webp(const std::string& bytes) {
  WebPBitstreamFeatures features{};
  if (WebPGetFeatures(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size(), &features) !=
      VP8_STATUS_OK)
    refuse_image("no sound WebP: its header is damaged or cut off");
  return features;
}

}  // namespace

ImageFacts webp_facts(const std::string& bytes) {
  const WebPBitstreamFeatures features = header_of_webp(bytes);
  std::string colours = "colour";
  if (features.has_alpha != 0) colours += ", transparent";
  if (features.has_animation != 0) colours += ", animated";
  return {"WebP", features.width, features.height, colours};
}

at::Tensor decode_webp(const std::string& bytes) {
  const auto* data = reinterpret_cast<const uint8_t*>(bytes.data());
  const WebPBitstreamFeatures features = header_of_webp(bytes);
  const bool layered = features.has_alpha != 0 || features.has_animation != 0;
  at::Tensor pixels = rows_of_pixels(features.width, features.height, layered ? 4 : 3);
  if (features.has_animation != 0) return on_white(first_frame(bytes, features.width, features.height));
  const auto decode = layered ? WebPDecodeRGBAInto : WebPDecodeRGBInto;
  const auto stride = static_cast<int>(pixels.stride(0));
  if (decode(data, bytes.size(), pixels.mutable_data_ptr<uint8_t>(), pixels.nbytes(), stride) == nullptr)
    refuse_image("no sound WebP: it is damaged or cut off");
  return layered ? on_white(pixels) : pixels;
}

}  // namespace dtrain
