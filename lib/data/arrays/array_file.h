// Arrays by name, in the formats of NumPy and in safetensors files. The files are untrusted: sizes are
// checked before memory is allocated, and Python objects (pickles) are never read.
#pragma once

#include <ATen/core/Tensor.h>

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace dtrain {

inline constexpr int64_t kMaxArrayBytes = int64_t{64} << 30;  // of one array that is read into memory

// Reads the array in a .npy file without copying it: the file is mapped into memory, and must not change as
// long as the tensor is used. Integers that LibTorch does not have become int64, float16 becomes float32.
// Throws Error(kData) that names the file: for what is no array, objects, big-endian or Fortran order, or a
// size that does not fit the file.
at::Tensor map_npy(const std::filesystem::path& path);

// Refuses examples [n, ...] with infinities or NaN, or with numbers that become infinite as `type`. Throws
// Error(kData) that begins with `what` and tells the first such example.
void require_finite(const std::string& what, const at::Tensor& examples, at::ScalarType type);

// The arrays at `path` whose names are among `names`: the files NAME.npy of a folder, or the members of an
// .npz or .safetensors file. Throws Error(kData) as map_npy() does.
std::map<std::string, at::Tensor> read_arrays(const std::filesystem::path& path,
                                              const std::vector<std::string>& names);

}  // namespace dtrain
