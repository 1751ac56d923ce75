#include "arrays/idx.h"

#include <ATen/ATen.h>

#include <fmt/ranges.h>

#include <algorithm>

#include "arrays/array_file.h"
#include "arrays/packed_file.h"
#include "core/text.h"

namespace dtrain {
namespace {

constexpr uint32_t kImageMagic = 0x00000803;  // unsigned bytes, three dimensions
constexpr uint32_t kLabelMagic = 0x00000801;  // unsigned bytes, one dimension
constexpr uint32_t kNpyMagic = 0x934e554d;    // "\x93NUM", of a .npy file
constexpr int64_t kWord = 4;

uint32_t read_word(PackedFile& file) {
  unsigned char bytes[kWord];
  file.read(bytes, kWord);
  return uint32_t{bytes[0]} << 24 | uint32_t{bytes[1]} << 16 | uint32_t{bytes[2]} << 8 | uint32_t{bytes[3]};
}

const char* hint_for_magic(uint32_t magic) {
  if (magic == kImageMagic) return "this is a file of images";
  if (magic == kLabelMagic) return "this is a file of labels";
  if (magic >> 24 == '<') return "this looks like a web page that was saved in its place; fetch it again";
  return "this is no IDX file of unsigned bytes; fetch it again";
}

void check_magic(PackedFile& file, uint32_t expected) {
  const uint32_t magic = read_word(file);
  if (magic == expected) return;
  file.fail(0, "magic number 0x{:08x} instead of 0x{:08x} ({}): {}", magic, expected,
            expected == kImageMagic ? "images" : "labels", hint_for_magic(magic));
}

int64_t read_dimension(PackedFile& file, int64_t offset, const char* name, int64_t limit) {
  const int64_t dimension = read_word(file);
  if (dimension < 1 || dimension > limit) {
    file.fail(offset, "{} {} {}, where 1 to {} can be read", dimension, name, dimension == 1 ? "is" : "are",
              with_separators(limit));
  }
  return dimension;
}

// Leaves the file positioned at its first example.
IdxHeader read_header(PackedFile& file, uint32_t magic) {
  check_magic(file, magic);
  IdxHeader header;
  int64_t words = 2;
  header.count = read_dimension(file, kWord, "examples", kMaxIdxExamples);
  if (magic == kImageMagic) {
    words = 4;
    header.rows = read_dimension(file, 2 * kWord, "rows", kMaxIdxSide);
    header.columns = read_dimension(file, 3 * kWord, "columns", kMaxIdxSide);
  }
  const int64_t bytes =
      words * kWord + header.count * header.rows * header.columns;  // below 2^56 by the limits
  if (bytes > kMaxIdxBytes) {
    file.fail(kWord, "{} examples of {} x {} are {}, over the limit of {}", header.count, header.rows,
              header.columns, human_bytes(bytes), human_bytes(kMaxIdxBytes));
  }
  file.expect_content_size(bytes);
  return header;
}

// Reads the first `count` examples as uint8 [count, 1, rows, columns].
at::Tensor read_examples(PackedFile& file, uint32_t magic, int64_t count) {
  const IdxHeader header = read_header(file, magic);
  if (count > header.count) file.fail(kWord, "{} examples, but {} are to be read", header.count, count);
  at::Tensor examples = at::empty({count, 1, header.rows, header.columns}, at::kByte);
  file.read(examples.mutable_data_ptr<uint8_t>(), examples.numel());
  if (count == header.count) file.expect_end();
  return examples;
}

at::Tensor read_npy_images(const std::filesystem::path& path) {
  const at::Tensor stored = map_npy(path);
  const at::Tensor images = stored.dim() == 3 ? stored.unsqueeze(1) : stored;
  if (images.dim() != 4 || images.numel() == 0 || images.scalar_type() != at::kByte)
    refuse_file(path,
                "has the shape [{}]{}; pictures are uint8 [n, height, width] or [n, channels, height, width]",
                fmt::join(stored.sizes(), ", "),
                stored.scalar_type() == at::kByte ? "" : " and numbers that are not uint8");
  return images;
}

}  // namespace

IdxHeader read_image_header(const std::filesystem::path& path) {
  PackedFile file(path);
  return read_header(file, kImageMagic);
}

IdxHeader read_label_header(const std::filesystem::path& path) {
  PackedFile file(path);
  return read_header(file, kLabelMagic);
}

at::Tensor read_images(const std::filesystem::path& path, int64_t count) {
  PackedFile file(path);
  return read_examples(file, kImageMagic, count);
}

at::Tensor read_labels(const std::filesystem::path& path, int64_t count, int64_t classes) {
  PackedFile file(path);
  const at::Tensor bytes = read_examples(file, kLabelMagic, count);
  const uint8_t* begin = bytes.const_data_ptr<uint8_t>();
  const uint8_t* end = begin + count;
  const uint8_t* bad = std::find_if(begin, end, [classes](uint8_t label) { return label >= classes; });
  if (bad != end) {
    file.fail(2 * kWord + (bad - begin),
              "label {} of example {} is not below the number of classes, {} (data.classes)", *bad,
              bad - begin, classes);
  }
  at::Tensor labels = at::empty({count}, at::kLong);
  std::copy(begin, end, labels.mutable_data_ptr<int64_t>());
  return labels;
}

at::Tensor read_images_of_any_file(const std::filesystem::path& path, SmallestSize smallest) {
  const auto first_word = [&path] {
    PackedFile file(path);
    return read_word(file);
  };
  const uint32_t magic = first_word();
  if (magic == kNpyMagic) return read_npy_images(path);
  return magic == kImageMagic ? read_images(path, read_image_header(path).count)
                              : read_image_file(path, smallest);
}

}  // namespace dtrain
