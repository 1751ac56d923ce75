#include "shared_memory/slice_sum.h"

#include <c10/util/BFloat16.h>

#include <numeric>
#include <vector>

#include "catch.h"
#include "core/error.h"

namespace dtrain {
namespace {

const std::byte* bytes(const std::vector<float>& values) {
  return reinterpret_cast<const std::byte*>(values.data());
}
std::byte* bytes(std::vector<float>& values) { return reinterpret_cast<std::byte*>(values.data()); }

std::vector<float> counting_from(float first, size_t count) {
  std::vector<float> values(count);
  std::iota(values.begin(), values.end(), first);
  return values;
}

TEST_CASE("the sum goes to every output, one of which may be an input") {
  const size_t inputs = GENERATE(1, 2, 3, 7);
  const size_t count = GENERATE(0, 1, 1023, 1024, 1025, 5000);
  const size_t in_place = GENERATE(0, 1, 6);
  if (in_place >= inputs) return;
  std::vector<std::vector<float>> values;
  std::vector<float> expected(count);
  for (size_t input = 0; input < inputs; ++input) {
    values.push_back(counting_from(static_cast<float>(input * 10), count));
    for (size_t i = 0; i < count; ++i) expected[i] += values.back()[i];
  }
  std::vector<const std::byte*> pointers;
  for (const auto& input : values) pointers.push_back(bytes(input));
  std::vector<float> copy(count, -1);
  sum_arrays(at::kFloat, pointers, {bytes(values[in_place]), bytes(copy)}, count);
  CHECK(values[in_place] == expected);
  CHECK(copy == expected);
}

TEST_CASE("the order of summation is that of the inputs") {
  // In float32, (1e8 + 1) - 1e8 is 0 and (1e8 - 1e8) + 1 is 1.
  const std::vector<float> large = {1e8F}, one = {1}, minus = {-1e8F};
  std::vector<float> sum = {-1};
  sum_arrays(at::kFloat, {bytes(large), bytes(one), bytes(minus)}, {bytes(sum)}, 1);
  CHECK(sum[0] == 0);
  sum_arrays(at::kFloat, {bytes(large), bytes(minus), bytes(one)}, {bytes(sum)}, 1);
  CHECK(sum[0] == 1);
}

TEST_CASE("half precision is rounded once, not after each input") {
  // Each 1 alone would be lost: bfloat16 has 8 significant bits.
  const std::vector<c10::BFloat16> large = {256.0F}, one = {1.0F};
  std::vector<c10::BFloat16> sum = {0.0F};
  const auto pointer = [](const auto& values) { return reinterpret_cast<const std::byte*>(values.data()); };
  sum_arrays(at::kBFloat16, {pointer(large), pointer(one), pointer(one)},
             {reinterpret_cast<std::byte*>(sum.data())}, 1);
  CHECK(static_cast<float>(sum[0]) == 258);
}

TEST_CASE("whole buffers go to the rank that has the least, the largest first") {
  CHECK(owners_of({5, 60, 5, 30, 40}, 2) == std::vector<int>{0, 0, 0, 1, 1});
  CHECK(owners_of({5, 60, 5, 30, 40}, 1) == std::vector<int>(5, 0));
  CHECK(owners_of({7}, 3) == std::vector<int>{0});
  CHECK(owners_of({4, 4, 4}, 3) == std::vector<int>{0, 1, 2});
  CHECK(owners_of({}, 3).empty());
}

TEST_CASE("types that have no sum are refused") {
  std::vector<float> values = {1, 2};
  CHECK_THROWS_AS(sum_arrays(at::kComplexFloat, {bytes(values)}, {bytes(values)}, 1), Error);
}

}  // namespace
}  // namespace dtrain
