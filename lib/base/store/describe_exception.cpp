#include "store/describe_exception.h"

#include <c10/util/Exception.h>

#include <filesystem>
#include <new>
#include <system_error>

#include "core/files.h"

namespace dtrain {
namespace {

Failure out_of_memory(const std::string& detail) {
  return {ExitCode::kMemory,
          "out of memory" + detail +
              "; use a smaller batch.per_replica with batch.accumulate_steps, fewer replicas, or a smaller "
              "model (dtrain plan shows the numbers)"};
}

}  // namespace

Failure describe_current_exception() {
  try {
    throw;
  } catch (const Error& error) {
    return {error.code(), error.what()};
  } catch (const std::bad_alloc&) {
    return out_of_memory("");
  } catch (const c10::OutOfMemoryError& error) {
    return out_of_memory(": " + std::string(error.what_without_backtrace()));
  } catch (const c10::DistError& error) {  // whoever was on the other side is gone
    const std::string text = error.what_without_backtrace();
    return {ExitCode::kPeerLost, "a peer was lost: " + text.substr(0, text.find('\n'))};
  } catch (const c10::Error& error) {
    const std::string text = error.what_without_backtrace();
    // LibTorch's CPU allocator has no exception type of its own.
    const size_t allocator = text.find("DefaultCPUAllocator");
    if (allocator != std::string::npos) return out_of_memory(": " + text.substr(allocator));
    return {ExitCode::kBug, "LibTorch: " + text};
  } catch (const std::filesystem::filesystem_error& error) {
    return {file_failure_code(error.code().value(), ExitCode::kUsage), error.what()};
  } catch (const std::system_error& error) {
    // No room for another thread.
    if (error.code() == std::errc::resource_unavailable_try_again) return out_of_memory("");
    return {ExitCode::kBug, error.what()};
  } catch (const std::exception& error) {
    return {ExitCode::kBug, error.what()};
  } catch (...) {
    return {ExitCode::kBug, "an exception of unknown type"};
  }
}

}  // namespace dtrain
