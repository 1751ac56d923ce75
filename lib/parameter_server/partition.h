// Which server of a parameter-server job holds which part of the variables.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

namespace dtrain {

// Consecutive elements of a parameter, and where they stand in the memory of the server that holds them.
struct Piece {
  size_t parameter = 0;  // its number in the model's list
  int64_t begin = 0;     // its first element, in the order in which the parameter lies in memory
  int64_t length = 0;    // elements
  int64_t offset = 0;    // of the first in the server's elements
};

// What one server holds; its pieces fill [0, elements) without a gap.
struct ServerPart {
  std::vector<Piece> pieces;
  int64_t elements = 0;
};

// Divides parameters of `lengths` elements over `servers`: each is cut into as many equal pieces as have at
// least `min_shard_bytes`, at most one per server (tf.distribute's MinSizePartitioner), and the pieces go,
// the largest first, to the server that has least (longest processing time first, Graham 1969). The same on
// every process. A server may get nothing.
std::vector<ServerPart> partition_parameters(const std::vector<int64_t>& lengths, int64_t element_bytes,
                                             int servers, int64_t min_shard_bytes);

// Copies a server's pieces of `tensors` (one per parameter, contiguous) into `flat` [elements], and back.
void gather_pieces(const ServerPart& part, const std::vector<at::Tensor>& tensors, at::Tensor& flat);
void scatter_pieces(const ServerPart& part, const at::Tensor& flat, const std::vector<at::Tensor>& tensors);

}  // namespace dtrain
