// Many image files, read by several threads as examples of one shape.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "codecs/image_file.h"
#include "core/error.h"
#include "images/archive_bytes.h"
#include "images/fit.h"

namespace dtrain {

// An image in a file of its own, or in an archive.
struct ImageFile {
  std::string path;         // below the set's root
  std::string member = {};  // its name in the archive `path`; empty: the file is the image
  int64_t offset = 0;       // of its bytes in the archive
  int64_t bytes = 0;
  std::shared_ptr<const ArchiveBytes> archive = {};  // packed, or elsewhere; null: it is a plain file

  bool operator==(const ImageFile&) const = default;
};

struct ImageSet {
  std::filesystem::path root;
  std::vector<ImageFile> files = {};
  std::vector<int64_t> shape;  // channels, height, width of every example
  Fit fit = Fit::kStretch;
  bool scaled_decoding = false;  // a JPEG is decoded at a fraction of its size that is not below `shape`

  int64_t bytes_of_one() const { return shape[0] * shape[1] * shape[2]; }
};

// An image of a set that cannot be read: its place in the set, and why.
struct BadImage {
  int64_t index = 0;
  std::string fault;
};
using BadImages = std::vector<BadImage>;  // in the order of the set

// The places of all other images, of `images` in all.
std::vector<int64_t> places_without(int64_t images, const BadImages& bad);
ImageSet without(const ImageSet& set, const BadImages& bad);

// The name of an image for messages: "pictures/rose/1.jpg", or "shards/train-0.tar: 000001.jpg".
std::string title_of(const std::filesystem::path& root, const ImageFile& file);

// The message of an error about the image of that title, without the title at its beginning.
std::string fault_of(const Error& error, const std::string& title);

// The bytes of the image's file. Throws Error(kData) that names it.
std::string read_image_bytes(const std::filesystem::path& root, const ImageFile& file);

// The image as read_image_file() returns it, which throws for it in the same way.
at::Tensor read_image(const std::filesystem::path& root, const ImageFile& file, SmallestSize smallest = {});

// Has other threads fetch the bytes of images in archives elsewhere, for what reads each of them once while
// the result lives. Null, whatever the images: they are here. Not `counts`: these readings are expected
// already, if any are.
std::shared_ptr<const void> expect_images(const ImageSet& set, std::span<const int64_t> indices,
                                          bool counts = true);

// Calls `work` with 0 to count - 1, each once, on at most `threads` threads. Each computes alone: LibTorch
// uses no other threads there. Throws what one of the calls has thrown; some others are then not made.
void for_each_image(int64_t count, int64_t threads, const std::function<void(int64_t at)>& work);

// Callbacks of read_image_set(), called by one thread at a time.
struct ImageCalls {
  std::function<void(int64_t at)> on_image = {};  // after each image: its place in `indices`
  // For an image that cannot be read, instead of throwing: its place in `indices`, and why. What `out` has of
  // it is not defined.
  std::function<void(int64_t at, const std::string& fault)> on_bad = {};
};

// Reads the images `indices` of the set, fitted to its shape, into `out`, which has room for exactly that
// many, one after the other; nullptr: only reads them. Uses at most `threads` threads; the bytes are the same
// with any number. Throws the error of one of the images that cannot be read, Error(kData) that names its
// file; with `calls.on_bad` only Error(kDisk), which is no fault of an image.
void read_image_set(const ImageSet& set, std::span<const int64_t> indices, uint8_t* out, int64_t threads,
                    const ImageCalls& calls = {});

}  // namespace dtrain
