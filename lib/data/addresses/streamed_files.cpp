#include "addresses/streamed_files.h"

#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <exception>
#include <map>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

#include "core/checksum.h"
#include "core/error.h"

namespace dtrain {
namespace {

constexpr int kReadsAtOnce = 32;
constexpr double kPatience = 1.5;                     // seconds, after a stop signal
constexpr int64_t kMostWaiting = int64_t{128} << 20;  // bytes that were fetched, and are not read yet

// Reads parts of files, and fetches those that are expected meanwhile.
class PartReader : public std::enable_shared_from_this<PartReader> {
 public:
  explicit PartReader(HttpTimes times) : remote_(with_stop(times)) {}
  ~PartReader() {
    stop_.request_stop();  // all of them at once, also those that wait for a server
  }

  std::string read(const RemoteFile& file, const FilePart& part) {
    std::unique_lock lock(mutex_);
    const auto found = expected_.find({&file, part.offset});
    if (found != expected_.end()) {
      const std::shared_ptr<Expected> one = found->second;
      if (one->state == State::kWaiting) fetch_into(*one, lock);  // no thread has come to it
      fetched_.wait(lock, [&] { return one->state != State::kFetching; });
      if (one->failure) std::rethrow_exception(one->failure);
      if (one->state == State::kFetched) return --one->readings > 0 ? one->bytes : taken(*one);
    }
    lock.unlock();
    return fetch(file, part);
  }

  // `counts`: one more reading is to come, and what is read before that is kept for it.
  std::shared_ptr<const void> expect(const std::shared_ptr<const RemoteFile>& file, const FilePart& part,
                                     bool counts) {
    const std::lock_guard lock(mutex_);
    add_threads();
    std::shared_ptr<Expected>& known = expected_[{file.get(), part.offset}];
    if (!known) {
      known = std::make_shared<Expected>(Expected{file, part});
      waiting_.push_back(known);
      wanted_.notify_one();
    }
    ++known->handles;
    if (counts) ++known->readings;
    return {known.get(), [self = shared_from_this(), one = known](const void*) { self->give_up(one); }};
  }

 private:
  enum class State { kWaiting, kFetching, kFetched, kGone };
  struct Expected {
    std::shared_ptr<const RemoteFile> file;
    FilePart part;
    State state = State::kWaiting;
    int handles = 0;
    int readings = 0;  // that are still to come, as far as is known
    std::string bytes = {};
    std::exception_ptr failure = {};
  };

  const HttpTimes& with_stop(HttpTimes& times) const {
    times.stop = stop_.get_token();
    times.patience = kPatience;  // a training that is stopped makes its step, and saves
    return times;
  }

  std::string fetch(const RemoteFile& file, const FilePart& part) {
    std::string bytes(static_cast<size_t>(part.bytes), '\0');
    try {
      remote_.read(file, part.offset, part.offset + part.bytes,
                   [&](int64_t offset, const char* from, size_t count) {
                     std::memcpy(bytes.data() + (offset - part.offset), from, count);
                   });
    } catch (const Error& error) {
      if (error.code() == ExitCode::kData) refuse(error.what());
      throw;
    }
    if (checksum_number(bytes.data(), bytes.size()) != part.checksum)
      refuse(file.shown() + ": it has other bytes than when its index was made");
    return bytes;
  }

  [[noreturn]] static void refuse(const std::string& what) {
    throw Error(ExitCode::kData,
                "{}; data.stream needs a server that sends parts of files, and an index of these very files "
                "(`dtrain data pack`)",
                what);
  }

  // The following are called with the mutex.
  void add_threads() {
    try {
      while (std::ssize(threads_) < kReadsAtOnce)
        threads_.emplace_back([this] { fetch_expected(stop_.get_token()); });
    } catch (const std::system_error&) {
      // The system gives no more threads: those that are there fetch, and read() does what they do not.
    }
  }

  std::string taken(Expected& one) {
    one.state = State::kGone;
    held_ -= one.part.bytes;
    wanted_.notify_one();
    return std::exchange(one.bytes, {});
  }

  void fetch_expected(const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    while (true) {
      wanted_.wait(lock, stop, [this] { return !waiting_.empty() && held_ < kMostWaiting; });
      if (stop.stop_requested()) return;
      const std::shared_ptr<Expected> one = waiting_.front();
      waiting_.pop_front();
      if (one->state == State::kWaiting) fetch_into(*one, lock);
    }
  }

  // Without the mutex meanwhile.
  void fetch_into(Expected& one, std::unique_lock<std::mutex>& lock) {
    one.state = State::kFetching;
    held_ += one.part.bytes;
    lock.unlock();
    std::string bytes;
    std::exception_ptr failure;
    try {
      bytes = fetch(*one.file, one.part);
    } catch (...) {
      failure = std::current_exception();
    }
    lock.lock();
    const bool is_wanted = one.state == State::kFetching;
    one.bytes = std::move(bytes);
    one.failure = failure;
    one.state = State::kFetched;
    if (!is_wanted) taken(one);
    fetched_.notify_all();
  }

  void give_up(const std::shared_ptr<Expected>& one) {
    const std::lock_guard lock(mutex_);
    one->readings = std::min(one->readings, --one->handles);
    if (one->handles > 0) return;
    expected_.erase({one->file.get(), one->part.offset});
    if (one->state == State::kFetched) taken(*one);
    one->state = State::kGone;
    fetched_.notify_all();
  }

  std::stop_source stop_;
  RemoteFiles remote_;
  std::mutex mutex_;                     // guards what follows
  std::condition_variable_any wanted_;   // there is something to fetch, or room for it
  std::condition_variable_any fetched_;  // something was
  std::map<std::pair<const RemoteFile*, int64_t>, std::shared_ptr<Expected>> expected_;
  std::deque<std::shared_ptr<Expected>> waiting_;
  int64_t held_ = 0;                   // bytes of what is being fetched, or was and is not read yet
  std::vector<std::jthread> threads_;  // last, so that they are joined before what they use is destroyed
};

class StreamedBytes : public ArchiveBytes {
 public:
  StreamedBytes(std::shared_ptr<PartReader> reader, StreamedFile file)
      : reader_(std::move(reader)),
        remote_(std::make_shared<RemoteFile>(RemoteFile{
            .address = file.address, .name = {}, .bytes = file.bytes, .version = {}, .has_ranges = true})),
        content_(std::move(file.content)),
        parts_(std::move(file.parts)) {}

  std::string content() const override { return content_; }
  std::string read(int64_t offset, int64_t bytes) const override {
    return reader_->read(*remote_, part_at(offset, bytes));
  }
  std::shared_ptr<const void> expect(int64_t offset, int64_t bytes, bool counts) const override {
    return reader_->expect(remote_, part_at(offset, bytes), counts);
  }

 private:
  const FilePart& part_at(int64_t offset, int64_t bytes) const {
    const auto part = std::ranges::lower_bound(parts_, offset, {}, &FilePart::offset);
    if (part == parts_.end() || part->offset != offset || part->bytes != bytes)
      throw Error(ExitCode::kData, "{}: has no part of {} bytes at {}", remote_->shown(), bytes, offset);
    return *part;
  }

  const std::shared_ptr<PartReader> reader_;
  const std::shared_ptr<const RemoteFile> remote_;
  const std::string content_;
  const std::vector<FilePart> parts_;
};

}  // namespace

std::vector<std::shared_ptr<const ArchiveBytes>> stream_files(std::vector<StreamedFile> files,
                                                              const HttpTimes& times) {
  const auto reader = std::make_shared<PartReader>(times);
  std::vector<std::shared_ptr<const ArchiveBytes>> streamed;
  for (StreamedFile& file : files)
    streamed.push_back(std::make_shared<StreamedBytes>(reader, std::move(file)));
  return streamed;
}

}  // namespace dtrain
