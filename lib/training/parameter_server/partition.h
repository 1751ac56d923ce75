// How the variables are divided among the servers of a parameter-server job.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

namespace dtrain {

// Consecutive elements of a parameter, and their position in the memory of the server that holds them.
struct Piece {
  size_t parameter = 0;  // its index in the model's list
  int64_t begin = 0;     // its first element, in the parameter's memory order
  int64_t length = 0;    // elements
  int64_t offset = 0;    // of the first element among the server's elements
};

// The elements that one server holds. Its pieces fill [0, elements) without gaps.
struct ServerPart {
  std::vector<Piece> pieces;
  int64_t elements = 0;
};

// Divides parameters of `lengths` elements over `servers`: each parameter is cut into as many equal pieces of
// at least `min_shard_bytes` as possible, at most one per server (tf.distribute's MinSizePartitioner). The
// pieces are assigned, largest first, to the server that has the least (longest processing time first, Graham
// 1969). The result is the same in every process. A server may get nothing.
std::vector<ServerPart> partition_parameters(const std::vector<int64_t>& lengths, int64_t element_bytes,
                                             int servers, int64_t min_shard_bytes);

// The pieces of the trained ones among the parameters, as a part of these alone: what messages carry while
// the others are frozen. `trained`: by parameter.
ServerPart trained_part(const ServerPart& whole, const std::vector<bool>& trained);

// Copies a server's pieces of `tensors` (one per parameter, contiguous) into `flat` [elements], and back.
void gather_pieces(const ServerPart& part, const std::vector<at::Tensor>& tensors, at::Tensor& flat);
void scatter_pieces(const ServerPart& part, const at::Tensor& flat, const std::vector<at::Tensor>& tensors);

}  // namespace dtrain
