// Reads and writes safetensors files, a format for weights that cannot contain code
// (https://huggingface.co/docs/safetensors). A file has eight bytes with the length of the header, little
// endian; the header, which is a JSON object {name: {"dtype", "shape", "data_offsets": [begin, end]},
// "__metadata__": {text: text}}; and the tensors' bytes, row by row, without gaps.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <utility>
#include <vector>

#include "core/descriptor.h"

namespace dtrain {

// Files that have to survive a crash. If the disk is full or fails, functions throw Error(kDisk); for any
// other reason why a file cannot be written they throw Error(kUsage) (core/files.h).

// A file that is written sequentially from start to end.
class NewFile {
 public:
  // Throws Error if the file exists or cannot be created.
  explicit NewFile(const std::filesystem::path& path);
  // Throws Error, for instance if the disk is full.
  void write(const void* bytes, size_t count);
  // Returns when all data is on the disk. Throws Error.
  void sync();
  int64_t bytes() const { return bytes_; }

 private:
  std::filesystem::path path_;
  Descriptor file_;
  int64_t bytes_ = 0;
};

// Returns when the folder's entries are on the disk. Throws Error.
void sync_folder(const std::filesystem::path& path);

// Throws the error (errno) of the last system call, which was on `path`, as an Error with advice.
[[noreturn]] void fail_to_save(const std::filesystem::path& path, const char* what);

using NamedTensors = std::vector<std::pair<std::string, at::Tensor>>;
using Metadata = std::map<std::string, std::string>;

// The location of a tensor in a file's data.
struct TensorEntry {
  std::string name;
  at::ScalarType dtype = at::kFloat;
  std::vector<int64_t> shape;
  int64_t begin = 0;  // in bytes from the start of the data
  int64_t end = 0;
};

// Checksums of the parts of a file. The parts together are the whole file.
struct FileChecksums {
  int64_t bytes = 0;                           // the size of the file
  std::string header;                          // over the length and the header
  std::map<std::string, std::string> tensors;  // by tensor name
};

// Writes `tensors` (on the CPU, with any layout; floating-point numbers of 16 bits or more, integers or bool)
// to a new file and returns when it is on the disk. Tensors with larger elements come first, so that each
// tensor is aligned for its type; otherwise the order is kept. Throws Error(kUsage, kDisk) if the file cannot
// be written, and Error(kBug) for another dtype or a duplicate name.
FileChecksums write_safetensors(const std::filesystem::path& path, const NamedTensors& tensors,
                                const Metadata& metadata);

// The same file as bytes in memory.
std::string safetensors_bytes(const NamedTensors& tensors, const Metadata& metadata);

// An open file whose header was checked. The file may come from an untrusted source: nothing is allocated
// that is larger than the file's size justifies.
class SafetensorsFile {
 public:
  // Throws an Error(kCheckpoint) with the reason if the file cannot be read or is not a valid safetensors
  // file: the header is over 16 MiB or not JSON, names are duplicate, a dtype is unknown, a shape does not
  // fit its bytes, or bytes overlap, are missing, or belong to no tensor. With names in `only`, the others
  // are not among tensors(), and may be of any dtype.
  explicit SafetensorsFile(const std::filesystem::path& path, const std::vector<std::string>& only = {});

  const std::vector<TensorEntry>& tensors() const { return tensors_; }  // in the order of their offsets
  const Metadata& metadata() const { return metadata_; }
  int64_t bytes() const { return bytes_; }
  const std::string& header_checksum() const { return header_checksum_; }

  // Reads the tensor, and the checksum of its bytes into `checksum` if given. Throws Error(kCheckpoint).
  at::Tensor read(const TensorEntry& entry, std::string* checksum = nullptr) const;
  // Computes the same checksum with a fixed amount of memory.
  std::string checksum(const TensorEntry& entry) const;

 private:
  void read_at(int64_t offset, void* bytes, size_t count) const;
  [[noreturn]] void refuse(const std::string& why, int error = 0) const;

  std::filesystem::path path_;
  Descriptor file_;
  int64_t bytes_ = 0;
  int64_t data_begin_ = 0;
  std::string header_checksum_;
  std::vector<TensorEntry> tensors_;
  Metadata metadata_;
};

// "F32"; throws Error(kBug) for a dtype that files cannot hold.
std::string safetensors_dtype(at::ScalarType dtype);

// Parses JSON from files that others may have written, in O(n log n) of its length, whatever its content.
// Throws an Error(kCheckpoint) that begins with `what` ("model.safetensors: its header") if the text is not
// JSON, is nested deeper than `depth`, or has a key twice in one object (readers differ in which value they
// take). Uses about 20 times the memory of the text, so limit the text's length first.
nlohmann::json parse_strict_json(const std::string& text, int depth, const std::string& what);

}  // namespace dtrain
