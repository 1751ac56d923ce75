#include "step/collect.h"

#include <ATen/ATen.h>

#include "catch.h"

namespace dtrain {
namespace {

TEST_CASE("the memory of a copy is used again once nobody holds the copy, where the next one fits") {
  const at::Tensor own = at::empty({4, 3, 2, 2}, at::MemoryFormat::ChannelsLast);
  CopyMemory memory;
  if (GENERATE(false, true)) memory.prepare({{"weight", own}, {"gone", own}});
  const void* first = nullptr;
  {
    const at::Tensor copy = memory.take("weight", own);
    CHECK(copy.strides() == own.strides());
    first = copy.const_data_ptr();
    CHECK(memory.take("weight", own).const_data_ptr() != first);  // it is still held
  }
  const void* const second = memory.take("weight", own).const_data_ptr();
  CHECK(memory.take("weight", own).const_data_ptr() == second);
  CHECK(memory.take("weight", own.contiguous()).is_contiguous());
  CHECK(memory.take("weight", at::empty({2}, at::kDouble)).sizes() == at::IntArrayRef{2});
  CHECK(memory.take("other", own).sizes() == own.sizes());
}

}  // namespace
}  // namespace dtrain
