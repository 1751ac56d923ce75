#include "shared_memory/shared_segment.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "core/error.h"
#include "core/files.h"

namespace dtrain {
namespace {

constexpr const char* kMapped = "mapped";
constexpr const char* kGone = "the process that made it has died, or is in another container";

std::string get_text(const StorePtr& store, const std::string& key, std::chrono::milliseconds timeout) {
  store->wait({key}, timeout);
  return store->get_to_str(key);
}

std::string reason(const char* what) {
  const int error = errno;
  return fmt::format("{}: {}{}", what, std::strerror(error), advice_on_writing(error));
}

// Returns what went wrong, or an empty text.
std::string create(size_t bytes, Descriptor& file) {
  file = Descriptor(::memfd_create("dtrain", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (file.get() < 0) return reason("memfd_create");
  if (::fchmod(file.get(), 0600) != 0) return reason("fchmod");
  if (::ftruncate(file.get(), static_cast<off_t>(bytes)) != 0) return reason("ftruncate");
  // Seals the size: if another process shrank the memory, reading it would be fatal.
  if (::fcntl(file.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0)
    return reason("sealing");
  return "";
}

std::string open_peer(const std::string& path, size_t bytes, Descriptor& file) {
  file = Descriptor(::open(path.c_str(), O_RDWR | O_CLOEXEC));
  if (file.get() < 0) return errno == ENOENT ? kGone : reason(path.c_str());
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) return reason("fstat");
  if (status.st_size != static_cast<off_t>(bytes))
    return fmt::format("{} has {} bytes, not {}: the ranks run different jobs", path, status.st_size, bytes);
  return "";
}

}  // namespace

void SharedSegment::Unmap::operator()(std::byte* data) const { ::munmap(data, bytes); }

SharedSegment::SharedSegment(const StorePtr& store, const std::string& name, int rank, int size, size_t bytes,
                             std::chrono::milliseconds timeout)
    : mapping_(nullptr, Unmap{std::max<size_t>(1, bytes)}) {
  if (size == 1) {
    void* const address = ::mmap(nullptr, std::max<size_t>(1, bytes), PROT_READ | PROT_WRITE,
                                 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (address == MAP_FAILED) throw Error(ExitCode::kMemory, "memory for gradients: {}", reason("mmap"));
    mapping_.reset(static_cast<std::byte*>(address));
    return;
  }
  with_peer_errors(fmt::format("rank {} sharing memory with {} others", rank, size - 1), [&] {
    Descriptor file;
    const std::string location = name + "/location";
    std::string problem;
    if (rank == 0) {
      problem = create(bytes, file);
      store->set(location, fmt::format("/proc/{}/fd/{}", ::getpid(), file.get()));
    } else {
      problem = open_peer(get_text(store, location, timeout), bytes, file);
    }
    if (problem.empty()) {
      void* address = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
      if (address == MAP_FAILED) problem = reason("mmap");
      if (address != MAP_FAILED) mapping_.reset(static_cast<std::byte*>(address));
    }
    // Every rank reports its result, and rank 0 keeps its descriptor open until all have done so.
    store->set(fmt::format("{}/{}", name, rank), problem.empty() ? kMapped : problem);
    for (int other = 0; other < size; ++other) {
      const std::string said = get_text(store, fmt::format("{}/{}", name, other), timeout);
      if (said == kMapped) continue;
      throw Error(said == kGone ? ExitCode::kPeerLost : ExitCode::kUsage,
                  "rank {} cannot share memory with the others ({}); set strategy.communication: gloo", other,
                  said);
    }
  });
}

}  // namespace dtrain
