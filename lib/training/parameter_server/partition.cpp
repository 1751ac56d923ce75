#include "parameter_server/partition.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <functional>
#include <tuple>

#include "core/range.h"

namespace dtrain {
namespace {

std::vector<Piece> cut(const std::vector<int64_t>& lengths, int64_t element_bytes, int servers,
                       int64_t min_shard_bytes) {
  std::vector<Piece> pieces;
  for (size_t parameter = 0; parameter < lengths.size(); ++parameter) {
    const int64_t fitting =
        std::min(lengths[parameter], lengths[parameter] * element_bytes / min_shard_bytes);
    const int64_t count = std::clamp<int64_t>(fitting, 1, servers);
    for (int64_t i = 0; i < count; ++i) {
      const Range range = share_of({0, lengths[parameter]}, i, count);
      pieces.push_back({parameter, range.begin, range.size(), 0});
    }
  }
  return pieces;
}

at::Tensor of_parameter(const Piece& piece, const at::Tensor& tensor) {
  return tensor.detach().view(-1).narrow(0, piece.begin, piece.length);
}

void set_offsets(ServerPart& part) {
  part.elements = 0;
  for (Piece& piece : part.pieces) {
    piece.offset = part.elements;
    part.elements += piece.length;
  }
}

}  // namespace

std::vector<ServerPart> partition_parameters(const std::vector<int64_t>& lengths, int64_t element_bytes,
                                             int servers, int64_t min_shard_bytes) {
  std::vector<Piece> pieces = cut(lengths, element_bytes, servers, min_shard_bytes);
  std::ranges::stable_sort(pieces, std::greater(), &Piece::length);
  std::vector<ServerPart> parts(static_cast<size_t>(servers));
  for (const Piece& piece : pieces) {
    ServerPart& least = *std::ranges::min_element(parts, {}, &ServerPart::elements);
    least.pieces.push_back(piece);
    least.elements += piece.length;
  }
  for (ServerPart& part : parts) {  // in the model's order, to make a server's memory readable
    std::ranges::sort(part.pieces, [](const Piece& a, const Piece& b) {
      return std::tie(a.parameter, a.begin) < std::tie(b.parameter, b.begin);
    });
    set_offsets(part);
  }
  return parts;
}

ServerPart trained_part(const ServerPart& whole, const std::vector<bool>& trained) {
  std::vector<size_t> numbers;  // by parameter: how many trained ones come before it
  size_t before = 0;
  for (const bool is_trained : trained) numbers.push_back(is_trained ? before++ : before);
  ServerPart part;
  for (Piece piece : whole.pieces) {
    if (!trained[piece.parameter]) continue;
    piece.parameter = numbers[piece.parameter];
    part.pieces.push_back(piece);
  }
  set_offsets(part);
  return part;
}

void gather_pieces(const ServerPart& part, const std::vector<at::Tensor>& tensors, at::Tensor& flat) {
  for (const Piece& piece : part.pieces)
    flat.narrow(0, piece.offset, piece.length).copy_(of_parameter(piece, tensors[piece.parameter]));
}

void scatter_pieces(const ServerPart& part, const at::Tensor& flat, const std::vector<at::Tensor>& tensors) {
  for (const Piece& piece : part.pieces)
    of_parameter(piece, tensors[piece.parameter]).copy_(flat.narrow(0, piece.offset, piece.length));
}

}  // namespace dtrain
