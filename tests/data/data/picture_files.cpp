#include "data/picture_files.h"

#include <ATen/ATen.h>
#include <zlib.h>

#include <new>
#include <numeric>

#include "codecs/image_file.h"
#include "data/dataset.h"

namespace dtrain::test {

namespace fs = std::filesystem;

std::string png_chunk(const std::string& kind, const std::string& content) {
  const std::string covered = kind + content;
  const auto sum =
      ::crc32(0, reinterpret_cast<const Bytef*>(covered.data()), static_cast<uInt>(covered.size()));
  return word(static_cast<uint32_t>(content.size())) + covered + word(static_cast<uint32_t>(sum));
}

std::string png_of_rows(const std::vector<std::string>& rows, uint32_t width, int bits, int type,
                        const std::string& chunks, const std::string& last) {
  std::string pixels;
  for (const std::string& row : rows) pixels += '\0' + row;  // no filter
  std::string packed(::compressBound(pixels.size()), '\0');
  uLongf size = packed.size();
  if (::compress(reinterpret_cast<Bytef*>(packed.data()), &size,
                 reinterpret_cast<const Bytef*>(pixels.data()), pixels.size()) != Z_OK)
    throw std::bad_alloc();
  const std::string header = word(width) + word(static_cast<uint32_t>(rows.size())) +
                             static_cast<char>(bits) + static_cast<char>(type) + std::string(3, '\0');
  return "\x89PNG\r\n\x1a\n" + png_chunk("IHDR", header) + chunks +
         png_chunk("IDAT", packed.substr(0, size)) + last + png_chunk("IEND", "");
}

void write_picture(const fs::path& path, int number) {
  fs::create_directories(path.parent_path());
  at::manual_seed(static_cast<uint64_t>(number));
  write_file(path, png_file(at::randint(0, 256, {3, 5 + number % 7, 4 + number % 5}, at::kByte)));
}

void write_class(const fs::path& folder, int pictures, int first) {
  for (int number = first; number < first + pictures; ++number)
    write_picture(folder / ("picture " + std::to_string(number) + ".png"), number);
}

Pictures::Pictures() {
  spec.dataset = "image_folder";
  spec.path = folder.string();
  spec.image.size = {6, 8};
}

void Pictures::write_three_classes(const std::string& part, int pictures) const {
  int first = part == "test" ? 1000 : 0;
  for (const char* name : {"tulip", "daisy", "rose"})
    write_class(folder / part / name, pictures, first += 100);
}

std::string Pictures::error(ExitCode code) const {
  return error_of([this] { find_dataset(spec); }, code);
}

std::set<std::string> names_of(const PictureList& all, const std::vector<int64_t>& part) {
  std::set<std::string> names;
  for (const int64_t index : part) names.insert(all.pictures[static_cast<size_t>(index)].file.path);
  return names;
}

std::vector<ExampleName> example_names(const ExampleSource& source) {
  std::vector<int64_t> indices(static_cast<size_t>(source.size()));
  std::iota(indices.begin(), indices.end(), int64_t{0});
  return source.names_of(indices);
}

StoredExamples all_of(const ExampleSource& source) {
  std::vector<int64_t> shape = source.shape().vec();
  shape.insert(shape.begin(), source.size());
  ExampleSlot slot{at::empty(shape, at::kByte), at::empty({source.size()}, at::kLong)};
  std::vector<int64_t> indices(static_cast<size_t>(source.size()));
  std::iota(indices.begin(), indices.end(), int64_t{0});
  source.read(indices, {}, slot);
  return {slot.inputs, slot.targets};
}

}  // namespace dtrain::test
