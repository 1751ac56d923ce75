#include "parameter_server/partition.h"

#include <ATen/ATen.h>

#include <algorithm>

#include "catch.h"

namespace dtrain {
namespace {

constexpr int64_t kKib = 1024;

TEST_CASE("every element of every parameter is held once") {
  const int servers = GENERATE(1, 2, 3, 7);
  const int64_t min_shard = GENERATE(int64_t{1}, 64, 256 * kKib);
  const std::vector<int64_t> lengths = {200704, 256, 32768, 128, 1280, 10, 1};
  const auto parts = partition_parameters(lengths, 4, servers, min_shard);
  REQUIRE(parts.size() == static_cast<size_t>(servers));
  std::vector<std::vector<int>> held;
  for (const int64_t length : lengths) held.emplace_back(static_cast<size_t>(length), 0);
  for (const ServerPart& part : parts) {
    int64_t offset = 0;
    for (const Piece& piece : part.pieces) {
      CHECK(piece.offset == offset);
      CHECK(piece.length > 0);
      offset += piece.length;
      for (int64_t i = 0; i < piece.length; ++i)
        ++held[piece.parameter][static_cast<size_t>(piece.begin + i)];
    }
    CHECK(part.elements == offset);
  }
  for (const auto& counts : held)
    CHECK(std::all_of(counts.begin(), counts.end(), [](int count) { return count == 1; }));
}

size_t pieces_of(const std::vector<ServerPart>& parts, size_t parameter) {
  size_t count = 0;
  for (const ServerPart& part : parts) {
    for (const Piece& piece : part.pieces) count += piece.parameter == parameter ? 1 : 0;
  }
  return count;
}

TEST_CASE("a parameter is cut only into shards of at least the smallest size") {
  // 784 KiB, 1 KiB and 511 KiB of float32, at least 256 KiB each.
  const auto parts = partition_parameters({784 * 256, 256, 511 * 256}, 4, 8, 256 * kKib);
  CHECK(pieces_of(parts, 0) == 3);
  CHECK(pieces_of(parts, 1) == 1);
  CHECK(pieces_of(parts, 2) == 1);
  // At most one per server.
  CHECK(pieces_of(partition_parameters({784 * 256}, 4, 2, 256 * kKib), 0) == 2);
  CHECK(pieces_of(partition_parameters({784 * 256}, 8, 8, 256 * kKib), 0) == 6);  // float64
}

TEST_CASE("servers hold about as much as each other") {
  const auto parts = partition_parameters({784 * 256, 256, 256 * 128, 128, 128 * 10, 10}, 4, 2, 256 * kKib);
  const int64_t all = parts[0].elements + parts[1].elements;
  CHECK(parts[0].elements > all * 0.42);
  CHECK(parts[1].elements > all * 0.42);
}

TEST_CASE("more servers than shards: some hold nothing") {
  const auto parts = partition_parameters({10, 20}, 4, 4, 256 * kKib);
  CHECK(parts[0].elements == 20);
  CHECK(parts[1].elements == 10);
  CHECK(parts[2].elements == 0);
  CHECK(parts[3].pieces.empty());
}

TEST_CASE("pieces come back as they went out") {
  const int servers = GENERATE(1, 3);
  const std::vector<at::Tensor> source = {at::arange(12).view({3, 4}).to(at::kFloat),
                                          at::arange(5).to(at::kFloat) + 100, at::full({}, 7.0F)};
  const std::vector<at::Tensor> target = {at::zeros({3, 4}), at::zeros({5}), at::zeros({})};
  for (const ServerPart& part : partition_parameters({12, 5, 1}, 4, servers, 8)) {
    at::Tensor flat = at::full({part.elements}, -1.0F);
    gather_pieces(part, source, flat);
    scatter_pieces(part, flat, target);
  }
  for (size_t i = 0; i < source.size(); ++i) CHECK(at::equal(source[i], target[i]));
}

TEST_CASE("of a part, what is trained is a part of its own") {
  const auto parts = partition_parameters({8, 4, 6, 2}, 4, 2, 4);
  for (const ServerPart& whole : parts) {
    const ServerPart all = trained_part(whole, {true, true, true, true});
    CHECK(all.elements == whole.elements);
    CHECK(trained_part(whole, {false, false, false, false}).elements == 0);
    const ServerPart some = trained_part(whole, {false, true, false, true});
    REQUIRE(some.pieces.size() == 2);
    CHECK(some.pieces[0].parameter == 0);  // among those that are trained
    CHECK(some.pieces[1].parameter == 1);
    CHECK(some.pieces[0].offset == 0);
    CHECK(some.pieces[1].offset == some.pieces[0].length);
    CHECK(some.elements == some.pieces[0].length + some.pieces[1].length);
  }
}

}  // namespace
}  // namespace dtrain
