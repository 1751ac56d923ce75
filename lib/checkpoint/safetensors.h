// Reads and writes safetensors files, the format of weights that holds no code
// (https://huggingface.co/docs/safetensors): eight bytes with the header's length, little endian; the header,
// a JSON object {name: {"dtype", "shape", "data_offsets": [begin, end]}, "__metadata__": {text: text}}; the
// tensors' bytes, row by row, without gaps.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "checkpoint/disk.h"

namespace dtrain {

using NamedTensors = std::vector<std::pair<std::string, at::Tensor>>;
using Metadata = std::map<std::string, std::string>;

// Where a tensor lies in a file's data.
struct TensorEntry {
  std::string name;
  at::ScalarType dtype = at::kFloat;
  std::vector<int64_t> shape;
  int64_t begin = 0;  // bytes from the start of the data
  int64_t end = 0;
};

// The checksums of a file's parts; together the parts are the whole file.
struct FileChecksums {
  int64_t bytes = 0;                           // of the file
  std::string header;                          // of the length and the header
  std::map<std::string, std::string> tensors;  // by name
};

// Writes `tensors` (CPU, of any layout; F64, F32, F16, BF16, I64, I32, U8 or BOOL) to a new file and waits
// until the disk has it. Larger elements come first, so that each tensor is aligned for its type; otherwise
// the order stays. Throws Error(kUsage, kDisk) when it cannot be written, Error(kBug) for another dtype or
// two equal names.
FileChecksums write_safetensors(const std::filesystem::path& path, const NamedTensors& tensors,
                                const Metadata& metadata);

// An open file whose header was checked: it may be anybody's. Nothing is allocated that the file's size does
// not cover.
class SafetensorsFile {
 public:
  // Throws Error(kCheckpoint) when it cannot be read or is not a sound safetensors file, with what is wrong:
  // a header over 16 MiB or not JSON, duplicate names, unknown dtypes, shapes that do not fit their bytes,
  // bytes that overlap, are missing, or belong to no tensor.
  explicit SafetensorsFile(const std::filesystem::path& path);

  const std::vector<TensorEntry>& tensors() const { return tensors_; }  // in the order of their bytes
  const Metadata& metadata() const { return metadata_; }
  int64_t bytes() const { return bytes_; }
  const std::string& header_checksum() const { return header_checksum_; }

  // The tensor, and the checksum of its bytes if `checksum` is given. Throws Error(kCheckpoint).
  at::Tensor read(const TensorEntry& entry, std::string* checksum = nullptr) const;
  // The same checksum in a fixed amount of memory.
  std::string checksum(const TensorEntry& entry) const;

 private:
  void read_at(int64_t offset, void* bytes, size_t count) const;
  [[noreturn]] void refuse(const std::string& why, int error = 0) const;

  std::filesystem::path path_;
  FileDescriptor file_;
  int64_t bytes_ = 0;
  int64_t data_begin_ = 0;
  std::string header_checksum_;
  std::vector<TensorEntry> tensors_;
  Metadata metadata_;
};

// "F32"; throws Error(kBug) for a dtype that files do not hold.
std::string safetensors_dtype(at::ScalarType dtype);

}  // namespace dtrain
