// The header of NumPy's format .npy (numpy.lib.format): a magic, a version, and a Python dictionary as text.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace dtrain {

inline constexpr size_t kMostNpyHeaderBytes = 4096;

struct NpyHeader {
  std::string type;  // such as "<f4"
  std::vector<int64_t> shape;
  int64_t item_bytes = 0;
  int64_t data_begin = 0;  // in the file

  int64_t data_bytes() const;
};

// Parses the beginning of a file; `start` is the whole file or its first kMostNpyHeaderBytes. Throws
// Error(kData) with the fault, without a file's name.
NpyHeader parse_npy_header(std::string_view start);

// The array at `data`, with data_bytes(), as a type that LibTorch computes with: without a copy where it has
// the type and `data` is aligned for it. `release` is called when the memory is no longer needed.
at::Tensor npy_tensor(const NpyHeader& header, void* data, const std::function<void()>& release);

}  // namespace dtrain
