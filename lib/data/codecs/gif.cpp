#include <ATen/ATen.h>
#include <gif_lib.h>

#include <algorithm>
#include <array>
#include <memory>
#include <vector>

#include "codecs/codecs.h"
#include "core/error.h"

namespace dtrain {
namespace {

// Reads the first frame alone: others, of which a small file could have very many, are never decoded.
class GifReader {
 public:
  explicit GifReader(const std::string& bytes) : left_(bytes) {
    int fault = 0;
    gif_.reset(DGifOpen(this, give, &fault));
    if (gif_ == nullptr) refuse(fault);
    find_first_frame();
    const GifImageDesc& frame = gif_->Image;
    width_ = std::max<int64_t>(gif_->SWidth, int64_t{frame.Left} + frame.Width);
    height_ = std::max<int64_t>(gif_->SHeight, int64_t{frame.Top} + frame.Height);
  }

  int64_t width() const { return width_; }
  int64_t height() const { return height_; }
  bool is_transparent() const { return transparent_ != NO_TRANSPARENT_COLOR; }

  // uint8 [height, width, 3, or with opacity 4]. What the frame does not cover is transparent, or without
  // such a colour has the first one, as in Pillow.
  at::Tensor decode() {
    const int64_t channels = is_transparent() ? 4 : 3;
    at::Tensor pixels = rows_of_pixels(width_, height_, channels);
    const auto colours = palette();
    const size_t ground = is_transparent() ? static_cast<size_t>(transparent_) : 0;
    uint8_t* to = pixels.mutable_data_ptr<uint8_t>();
    for (int64_t pixel = 0; pixel < width_ * height_; ++pixel)
      to = std::copy_n(colours[ground].begin(), channels, to);
    const GifImageDesc& frame = gif_->Image;
    std::vector<GifPixelType> line(static_cast<size_t>(frame.Width));
    for (const int row : order_of_rows(frame)) {
      if (DGifGetLine(gif_.get(), line.data(), frame.Width) == GIF_ERROR) refuse(gif_->Error);
      to = pixels.mutable_data_ptr<uint8_t>() + ((frame.Top + row) * width_ + frame.Left) * channels;
      for (const GifPixelType index : line) to = std::copy_n(colours[index].begin(), channels, to);
    }
    return pixels;
  }

 private:
  struct Close {
    void operator()(GifFileType* gif) const { DGifCloseFile(gif, nullptr); }
  };

  [[noreturn]] void refuse(int fault) const {
    const char* text = is_cut_ ? kCut : GifErrorString(fault);
    throw Error(ExitCode::kData, "no sound GIF: {}", text != nullptr ? text : "it is damaged");
  }

  void require(int result) const {
    if (result == GIF_ERROR) refuse(gif_->Error);
  }

  void find_first_frame() {
    for (GifRecordType record = UNDEFINED_RECORD_TYPE; record != IMAGE_DESC_RECORD_TYPE;) {
      require(DGifGetRecordType(gif_.get(), &record));
      if (record == EXTENSION_RECORD_TYPE) read_extension();
      if (record == TERMINATE_RECORD_TYPE) throw Error(ExitCode::kData, "no sound GIF: it has no frame");
    }
    require(DGifGetImageDesc(gif_.get()));
    if (gif_->Image.Width <= 0 || gif_->Image.Height <= 0)
      throw Error(ExitCode::kData, "no sound GIF: its first frame has no pixels");
  }

  void read_extension() {
    int kind = 0;
    GifByteType* block = nullptr;  // its first byte is how many follow
    require(DGifGetExtension(gif_.get(), &kind, &block));
    GraphicsControlBlock control{};
    if (kind == GRAPHICS_EXT_FUNC_CODE && block != nullptr &&
        DGifExtensionToGCB(block[0], block + 1, &control) == GIF_OK)
      transparent_ = control.TransparentColor;
    while (block != nullptr) require(DGifGetExtensionNext(gif_.get(), &block));
  }

  // Red, green, blue and opacity. A number that the file gives no colour is a grey, as in Pillow.
  std::array<std::array<uint8_t, 4>, 256> palette() const {
    std::array<std::array<uint8_t, 4>, 256> colours{};
    for (size_t i = 0; i < colours.size(); ++i) {
      const auto grey = static_cast<uint8_t>(i);
      colours[i] = {grey, grey, grey, 255};
    }
    const ColorMapObject* map = gif_->Image.ColorMap;
    if (map == nullptr) map = gif_->SColorMap;
    for (int i = 0; map != nullptr && i < std::min(map->ColorCount, 256); ++i)
      colours[static_cast<size_t>(i)] = {map->Colors[i].Red, map->Colors[i].Green, map->Colors[i].Blue, 255};
    if (is_transparent()) colours[static_cast<size_t>(transparent_)][3] = 0;
    return colours;
  }

  // The rows of the frame in the order of the file: interlaced ones come in four passes.
  static std::vector<int> order_of_rows(const GifImageDesc& frame) {
    using Passes = std::vector<std::array<int, 2>>;  // the first row, and how far the next one is
    const Passes passes = frame.Interlace ? Passes{{0, 8}, {4, 8}, {2, 4}, {1, 2}} : Passes{{0, 1}};
    std::vector<int> rows;
    for (const auto& [first, step] : passes) {
      for (int row = first; row < frame.Height; row += step) rows.push_back(row);
    }
    return rows;
  }

  static int give(GifFileType* gif, GifByteType* to, int count) {
    auto& reader = *static_cast<GifReader*>(gif->UserData);
    const size_t given = std::min(reader.left_.size(), static_cast<size_t>(std::max(count, 0)));
    if (given < static_cast<size_t>(count)) reader.is_cut_ = true;
    std::copy_n(reader.left_.data(), given, to);
    reader.left_.remove_prefix(given);
    return static_cast<int>(given);
  }

  std::string_view left_;  // of the file
  bool is_cut_ = false;    // more bytes were asked for than the file has
  int transparent_ = NO_TRANSPARENT_COLOR;
  int64_t width_ = 0, height_ = 0;  // of the canvas, and of all that the frame covers
  std::unique_ptr<GifFileType, Close> gif_;
};

}  // namespace

ImageFacts gif_facts(const std::string& bytes) {
  const GifReader gif(bytes);
  return {"GIF", gif.width(), gif.height(), gif.is_transparent() ? "colour, transparent" : "colour"};
}

at::Tensor decode_gif(const std::string& bytes, SmallestSize /*smallest*/) {
  return on_white(GifReader(bytes).decode());
}

}  // namespace dtrain
