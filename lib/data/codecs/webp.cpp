#include <ATen/ATen.h>
#include <webp/decode.h>
#include <webp/demux.h>

#include <memory>

#include "codecs/codecs.h"
#include "core/error.h"

namespace dtrain {
namespace {

constexpr size_t kRiffHeader = 8;  // "RIFF", and how many bytes follow

WebPData data_of(const std::string& bytes) {
  return {reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()};
}

// `part` is damaged, or missing.
[[noreturn]] void refuse_webp(const std::string& bytes, const std::string& part) {
  uint64_t follow = 0;
  for (size_t at = kRiffHeader; at-- > kRiffHeader / 2;)
    follow = follow << 8 | (at < bytes.size() ? static_cast<unsigned char>(bytes[at]) : 0xFF);
  const bool cut = bytes.size() < kRiffHeader + follow;
  throw Error(ExitCode::kData, "no sound WebP: " + (cut ? kCut : part + " is damaged"));
}

// The metadata of a file whose header is sound.
Metadata webp_metadata(const std::string& bytes) {
  const WebPData data = data_of(bytes);
  const std::unique_ptr<WebPDemuxer, decltype(&WebPDemuxDelete)> chunks(WebPDemux(&data), WebPDemuxDelete);
  const auto content = [&chunks](const char* kind) {
    WebPChunkIterator chunk{};
    if (!chunks || WebPDemuxGetChunk(chunks.get(), kind, 1, &chunk) == 0) return std::string_view();
    const std::string_view found(reinterpret_cast<const char*>(chunk.chunk.bytes), chunk.chunk.size);
    WebPDemuxReleaseChunkIterator(&chunk);
    return found;
  };
  return {.exif = content("EXIF"), .xmp = content("XMP "), .icc = content("ICCP")};
}

// The first frame on the animation's canvas, uint8 [height, width, 4]. The canvas has been checked.
at::Tensor first_frame(const std::string& bytes, int width, int height) {
  const WebPData data = data_of(bytes);
  const std::unique_ptr<WebPAnimDecoder, decltype(&WebPAnimDecoderDelete)> decoder(
      WebPAnimDecoderNew(&data, /*options=*/nullptr), WebPAnimDecoderDelete);
  uint8_t* canvas = nullptr;
  int milliseconds = 0;
  if (!decoder || WebPAnimDecoderGetNext(decoder.get(), &canvas, &milliseconds) == 0)
    refuse_webp(bytes, "its first frame");
  return at::from_blob(canvas, {height, width, 4}, at::kByte).clone();
}

WebPBitstreamFeatures header_of_webp(const std::string& bytes) {
  WebPBitstreamFeatures features{};
  if (const WebPData data = data_of(bytes);
      WebPGetFeatures(data.bytes, data.size, &features) != VP8_STATUS_OK)
    refuse_webp(bytes, "its header");
  return features;
}

}  // namespace

ImageFacts webp_facts(const std::string& bytes) {
  const WebPBitstreamFeatures features = header_of_webp(bytes);
  std::string colours = "colour";
  if (features.has_alpha != 0) colours += ", transparent";
  if (features.has_animation != 0) colours += ", animated";
  const Metadata metadata = webp_metadata(bytes);
  return {"WebP",  features.width,           features.height,
          colours, orientation_of(metadata), has_other_colours(metadata.icc)};
}

at::Tensor decode_webp(const std::string& bytes, SmallestSize /*smallest*/) {
  const WebPData data = data_of(bytes);
  const WebPBitstreamFeatures features = header_of_webp(bytes);
  const bool layered = features.has_alpha != 0 || features.has_animation != 0;
  at::Tensor pixels = rows_of_pixels(features.width, features.height, layered ? 4 : 3);
  if (features.has_animation != 0) {
    pixels = first_frame(bytes, features.width, features.height);
  } else {
    const auto decode = layered ? WebPDecodeRGBAInto : WebPDecodeRGBInto;
    const auto stride = static_cast<int>(pixels.stride(0));
    if (decode(data.bytes, data.size, pixels.mutable_data_ptr<uint8_t>(), pixels.nbytes(), stride) == nullptr)
      refuse_webp(bytes, "its picture");
  }
  return upright(on_white(pixels), orientation_of(webp_metadata(bytes)));
}

}  // namespace dtrain
