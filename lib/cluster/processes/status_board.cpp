#include "processes/status_board.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <new>

#include "core/cache_lines.h"
#include "core/clock.h"
#include "core/descriptor.h"
#include "core/error.h"
#include "core/files.h"
#include "core/text.h"

namespace dtrain {
namespace {

constexpr uint64_t kMagic = 0x3164726f62527464;  // "dtRbord1" in memory
constexpr int64_t kMaxReplicas = 65536;
constexpr int kActivityShift = 56;  // a slot's state: upper 8 bits activity, lower 56 bits step
constexpr uint64_t kStepMask = (uint64_t{1} << kActivityShift) - 1;

// At the start of a board; fills a cache line.
struct alignas(kCacheLine) Header {
  uint64_t magic;
  int64_t replicas;
};

size_t board_bytes(int64_t replicas) { return kCacheLine * static_cast<size_t>(1 + replicas); }

[[noreturn]] void fail(const char* what) {
  const int error = errno;
  throw Error(file_failure_code(error, ExitCode::kBug),
              fmt::format("status board: {}: {}{}", what, std::strerror(error), advice_on_writing(error)));
}

char* map_board(int descriptor, int64_t replicas) {
  void* const memory =
      ::mmap(nullptr, board_bytes(replicas), PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  if (memory == MAP_FAILED) fail("cannot map");
  return static_cast<char*>(memory);
}

}  // namespace

// Each slot has its own cache line, so that replicas never wait for each other's writes. The activity and the
// step change in one store. The time is stored separately: it is only shown in messages, where a value that
// is a few nanoseconds older does no harm.
struct alignas(kCacheLine) StatusBoard::Slot {
  std::atomic<uint64_t> state{0};
  std::atomic<double> since{0};
  std::atomic<uint64_t> reports{0};
  static_assert(std::atomic<uint64_t>::is_always_lock_free && std::atomic<double>::is_always_lock_free,
                "a lock would live in one process only");
};

const char* activity_name(Activity activity) {
  static constexpr std::array kNames = {
      "starting",         "loading data",        "connecting",    "building the model",
      "waiting for data", "computing",           "communicating", "updating variables",
      "evaluating",       "saving a checkpoint", "serving",       "finished"};  // in the enum's order
  static_assert(kNames.size() == static_cast<size_t>(Activity::kFinished) + 1);
  const auto number = static_cast<size_t>(activity);
  return number < kNames.size() ? kNames[number]
                                : "in an unknown state";  // another process may have written any
}

std::string describe_status(const ReplicaStatus& status, double now) {
  const std::string step = status.step > 0 ? fmt::format(" at step {}", status.step) : "";
  return fmt::format("{}{} for {}", activity_name(status.activity), step,
                     human_duration(std::max(0.0, now - status.since)));
}

std::unique_ptr<StatusBoard> StatusBoard::create(int replicas) {
  if (replicas < 1 || replicas > kMaxReplicas)
    throw Error(ExitCode::kBug, "status board: {} replicas", replicas);
  Descriptor file(::memfd_create("dtrain-status", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (file.get() < 0) fail("cannot create");
  if (::ftruncate(file.get(), static_cast<off_t>(board_bytes(replicas))) != 0) fail("cannot size");
  // Seals the size: if another process shrank the file, touching a missing page would raise SIGBUS.
  if (::fcntl(file.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) fail("cannot seal");
  char* const memory = map_board(file.get(), replicas);
  new (memory) Header{kMagic, replicas};
  Slot* const slots = new (memory + kCacheLine) Slot[static_cast<size_t>(replicas)];
  const double now = steady_seconds();
  for (int rank = 0; rank < replicas; ++rank) slots[rank].since.store(now, std::memory_order_relaxed);
  return std::unique_ptr<StatusBoard>(new StatusBoard(file.release(), slots, replicas));
}

std::unique_ptr<StatusBoard> StatusBoard::open(int descriptor) {
  struct stat status {};
  if (::fstat(descriptor, &status) != 0) fail("cannot look at the descriptor");
  Header header{};
  const ssize_t got = S_ISREG(status.st_mode) ? ::pread(descriptor, &header, sizeof header, 0) : 0;
  if (got != static_cast<ssize_t>(sizeof header) || header.magic != kMagic || header.replicas < 1 ||
      header.replicas > kMaxReplicas || status.st_size != static_cast<off_t>(board_bytes(header.replicas))) {
    throw Error(ExitCode::kBug, "descriptor {} is not a status board", descriptor);
  }
  char* const memory = map_board(descriptor, header.replicas);
  ::fcntl(descriptor, F_SETFD, FD_CLOEXEC);
  Slot* const slots = std::launder(reinterpret_cast<Slot*>(memory + kCacheLine));
  return std::unique_ptr<StatusBoard>(new StatusBoard(descriptor, slots, static_cast<int>(header.replicas)));
}

StatusBoard::StatusBoard(int descriptor, Slot* slots, int replicas)
    : descriptor_(descriptor), slots_(slots), replicas_(replicas) {
  static_assert(sizeof(Slot) == kCacheLine && sizeof(Header) == kCacheLine);
}

StatusBoard::~StatusBoard() {
  ::munmap(reinterpret_cast<char*>(slots_) - kCacheLine, board_bytes(replicas_));
  ::close(descriptor_);
}

StatusBoard::Slot& StatusBoard::slot(int rank) const {
  if (rank < 0 || rank >= replicas_) throw Error(ExitCode::kBug, "status board: no rank {}", rank);
  return slots_[rank];
}

void StatusBoard::set(int rank, Activity activity, int64_t step) {
  Slot& own = slot(rank);
  const uint64_t state =
      static_cast<uint64_t>(activity) << kActivityShift | (static_cast<uint64_t>(step) & kStepMask);
  own.since.store(steady_seconds(), std::memory_order_relaxed);
  own.state.store(state, std::memory_order_release);
}

ReplicaStatus StatusBoard::get(int rank) const {
  const Slot& its = slot(rank);
  const uint64_t state = its.state.load(std::memory_order_acquire);
  return {static_cast<Activity>(state >> kActivityShift), static_cast<int64_t>(state & kStepMask),
          its.since.load(std::memory_order_relaxed)};
}

void StatusBoard::count_report(int rank) { slot(rank).reports.fetch_add(1, std::memory_order_release); }

void StatusBoard::forget_reports(int rank) { slot(rank).reports.store(0, std::memory_order_release); }

uint64_t StatusBoard::reports(int rank) const { return slot(rank).reports.load(std::memory_order_acquire); }

}  // namespace dtrain
