#include "store/describe_exception.h"

#include <ATen/ATen.h>
#include <c10/util/Exception.h>

#include <cstdint>
#include <filesystem>
#include <new>
#include <stdexcept>
#include <system_error>

#include "catch.h"

namespace dtrain {
namespace {

template <class Throw>
Failure failure_of(Throw action) {
  try {
    action();
  } catch (...) {
    return describe_current_exception();
  }
  FAIL("nothing was thrown");
  return {};
}

#if !defined(__SANITIZE_ADDRESS__)  // which ends the process at such an allocation
TEST_CASE("running out of memory is exit code 5 with advice, whoever ran out") {
  const Failure heap = failure_of([] {
    volatile size_t size = size_t{1} << 60;
    char* volatile block = new char[size];
    delete[] block;
  });
  CHECK(heap.code == ExitCode::kMemory);
  CHECK_THAT(heap.message, ContainsSubstring("out of memory; use a smaller batch.per_replica"));

  const Failure tensor = failure_of([] { at::empty({int64_t{1} << 50}, at::kFloat); });
  CHECK(tensor.code == ExitCode::kMemory);
  CHECK_THAT(tensor.message, ContainsSubstring("out of memory: DefaultCPUAllocator"));
  CHECK_THAT(tensor.message, ContainsSubstring("4503599627370496 bytes"));
  CHECK_THAT(tensor.message, ContainsSubstring("batch.accumulate_steps"));
  CHECK_THAT(tensor.message, !ContainsSubstring("Exception raised from"));  // LibTorch's backtrace
}
#endif

TEST_CASE("other ways to run out of memory") {
  CHECK(failure_of([] { throw std::bad_alloc(); }).code == ExitCode::kMemory);
  const Failure device =
      failure_of([] { TORCH_CHECK_WITH(OutOfMemoryError, false, "no room on the device"); });
  CHECK(device.code == ExitCode::kMemory);
  CHECK_THAT(device.message, ContainsSubstring("no room on the device"));
  // What std::thread throws when there can be no further thread.
  CHECK(failure_of([] {
          throw std::system_error(std::make_error_code(std::errc::resource_unavailable_try_again));
        }).code == ExitCode::kMemory);
}

TEST_CASE("an error of ours keeps its code and message") {
  for (const ExitCode code : {ExitCode::kUsage, ExitCode::kData, ExitCode::kPeerLost, ExitCode::kMemory,
                              ExitCode::kDiverged, ExitCode::kCheckpoint, ExitCode::kStopped}) {
    const Failure failure = failure_of([&] { throw Error(code, "what to do"); });
    CHECK(failure.code == code);
    CHECK(failure.message == "what to do");
  }
}

TEST_CASE("what the file system refuses is the disk's fault or the user's") {
  const Failure disk = failure_of([] {
    throw std::filesystem::filesystem_error("cannot copy",
                                            std::make_error_code(std::errc::no_space_on_device));
  });
  CHECK(disk.code == ExitCode::kDisk);

  const Failure files = failure_of([] { static_cast<void>(std::filesystem::file_size("/nonexistent")); });
  CHECK(files.code == ExitCode::kUsage);
  CHECK_THAT(files.message, ContainsSubstring("/nonexistent"));
}

TEST_CASE("anything else is a bug, told in its own words") {
  const Failure shapes = failure_of([] { at::ones({2, 3}).matmul(at::ones({2, 3})); });
  CHECK(shapes.code == ExitCode::kBug);
  CHECK_THAT(shapes.message, ContainsSubstring("LibTorch: mat1 and mat2 shapes cannot be multiplied"));
  CHECK_THAT(shapes.message, !ContainsSubstring("Exception raised from"));

  const Failure standard = failure_of([] { throw std::logic_error("impossible"); });
  CHECK(standard.code == ExitCode::kBug);
  CHECK(standard.message == "impossible");

  const Failure strange = failure_of([] { throw 42; });
  CHECK(strange.code == ExitCode::kBug);
  CHECK(strange.message == "an exception of unknown type");
}

}  // namespace
}  // namespace dtrain
