#include "addresses/fetched_files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <iostream>
#include <mutex>

#include "addresses/copies.h"
#include "core/addresses.h"
#include "core/checksum.h"
#include "core/parallel.h"
#include "core/terminal.h"
#include "core/text.h"
#include "images/cache_file.h"

namespace dtrain {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kPart = int64_t{8} << 20;  // bytes of a large file that are asked for at once
constexpr int64_t kPartsAtOnce = 4;
constexpr int64_t kLarge = 2 * kPart;
constexpr int64_t kFilesAtOnce = 8;  // of those that are not large
constexpr size_t kReadAtOnce = size_t{1} << 20;
constexpr double kLong = 3, kBetween = 0.2;  // seconds

std::atomic<bool> is_quiet = false;  // nothing is shown of fetching

constexpr size_t kShownOnTerminal = 40;  // bytes of an address: the line has to fit, since it changes

// How far fetching is, on standard error: a line that changes on a terminal, else one line if it takes long.
class FetchProgress {
 public:
  FetchProgress(const std::string& address, int64_t all)
      : on_terminal_(is_terminal(STDERR_FILENO)),
        address_(printable(shown_address(address), on_terminal_ ? kShownOnTerminal : 1000)),
        all_(all) {}
  ~FetchProgress() {
    if (drawn_) std::cerr << "\r\x1b[K" << std::flush;
  }

  void add(size_t bytes) {
    if (is_quiet) return;
    const std::lock_guard lock(mutex_);
    done_ += static_cast<int64_t>(bytes);
    const double now = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
    if (now < next_ || (!on_terminal_ && (told_ || now < kLong))) return;
    next_ = now + kBetween;
    const std::string text =
        fmt::format("fetching {}: {} of {}", address_, human_bytes(std::min(done_, all_)), human_bytes(all_));
    std::cerr << (on_terminal_ ? "\r" + text + "\x1b[K" : "dtrain: " + text + "\n") << std::flush;
    drawn_ = on_terminal_;
    told_ = true;
  }

 private:
  const bool on_terminal_;
  const std::string address_;
  const int64_t all_;
  const std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  std::mutex mutex_;  // guards the rest
  int64_t done_ = 0;
  double next_ = 0;
  bool drawn_ = false, told_ = false;
};

// A file of which the server tells neither version nor size may be another one every time.
std::string key_of(const RemoteFile& file) {
  const int64_t now = std::chrono::system_clock::now().time_since_epoch().count();
  const std::string once = file.version.empty() && file.bytes < 0 ? fmt::format("\n{}", now) : "";
  return checksum_of(fmt::format("{}\n{}\n{}{}", file.address, file.version, file.bytes, once));
}

// What another process has already taken of the disk for this copy.
int64_t begun_bytes(const std::string& key) {
  struct stat status {};
  const std::string partial = path_of_copy(key).string() + kPartialCacheFile;
  constexpr int64_t kBlock = 512;
  return ::stat(partial.c_str(), &status) == 0 ? status.st_blocks * kBlock : 0;
}

std::string checksum_of_file(const OpenFile& file) {
  Checksum sum;
  const int64_t size = file.size();
  std::string piece(kReadAtOnce, '\0');
  for (int64_t at = 0; at < size; at += std::ssize(piece)) {
    const auto count = static_cast<size_t>(std::min<int64_t>(std::ssize(piece), size - at));
    if (!file.read(at, piece.data(), count)) fail_on_cache(file.path(), "cannot be read", EIO);
    sum.add(piece.data(), count);
  }
  return sum.text();
}

// Fetches the files of one address.
class Fetching {
 public:
  Fetching(const std::string& address, double most_gigabytes, const HttpTimes& times)
      : address_(address), most_gigabytes_(most_gigabytes), remote_(times) {}

  FetchedFiles fetch(const IsWanted& is_wanted, Descriptor& in_use) {
    const std::vector<RemoteFile> files = remote_.find(address_, is_wanted);
    std::vector<std::string> keys;
    Checksum set;
    for (const RemoteFile& file : files) {
      keys.push_back(key_of(file));
      const std::string line = file.name + "\n" + keys.back() + "\n";
      set.add(line.data(), line.size());
    }
    in_use = use_copies(set.text(), keys);
    fetch_missing(files, keys);
    return fetched(set.text(), files, keys);
  }

 private:
  void fetch_missing(const std::vector<RemoteFile>& files, const std::vector<std::string>& keys) {
    std::vector<size_t> small, large;
    int64_t missing = 0, all = 0;
    for (size_t i = 0; i < files.size(); ++i) {
      all += std::max<int64_t>(files[i].bytes, 0);
      if (find_copy(keys[i])) continue;
      missing += std::max<int64_t>(files[i].bytes - begun_bytes(keys[i]), 0);
      (files[i].bytes >= kLarge && files[i].has_ranges ? large : small).push_back(i);
    }
    if (small.empty() && large.empty()) return;
    const std::string need =
        fmt::format("the files at {} take {}", shown_address(address_), human_bytes(all));
    require_cache_limit(all, most_gigabytes_, need, "or use fewer of them");
    make_room_for(missing, most_gigabytes_ * 1e9);
    require_cache_room(missing, most_gigabytes_, need, "or use fewer of them");
    FetchProgress progress(address_, missing);
    for_each_in_threads(std::ssize(small), kFilesAtOnce, [&](int64_t i) {
      const size_t index = small[static_cast<size_t>(i)];
      fetch_file(files[index], keys[index], progress);
    });
    for (const size_t index : large) fetch_file(files[index], keys[index], progress);
  }

  void fetch_file(const RemoteFile& file, const std::string& key, FetchProgress& progress) {
    make_cache_file(
        path_of_copy(key), [&] { return find_copy(key).has_value(); },
        [&](const OpenFile& copy) {
          const int64_t bytes = read_into(copy, file, progress);
          copy.check(::ftruncate(copy.descriptor(), bytes) == 0, "cannot be written");
          write_about_copy(key, {file.shown(), bytes, checksum_of_file(copy)});
        });
  }

  // Returns how many bytes there are.
  int64_t read_into(const OpenFile& copy, const RemoteFile& file, FetchProgress& progress) {
    if (file.bytes > 0) copy.reserve(file.bytes);
    const RemoteFiles::Write write = [&](int64_t offset, const char* bytes, size_t count) {
      progress.add(count);
      if (file.bytes < 0)
        require_cache_limit(offset + static_cast<int64_t>(count), most_gigabytes_,
                            fmt::format("the file at {} is at least as large", file.shown()),
                            "or use another");
      while (count > 0) {
        const ssize_t written = ::pwrite(copy.descriptor(), bytes, count, offset);
        if (written < 0 && errno == EINTR) continue;
        copy.check(written > 0, "cannot be written");
        bytes += written;
        offset += written;
        count -= static_cast<size_t>(written);
      }
    };
    if (file.bytes < kLarge || !file.has_ranges) return remote_.read(file, 0, -1, write);
    for_each_in_threads((file.bytes + kPart - 1) / kPart, kPartsAtOnce, [&](int64_t part) {
      remote_.read(file, part * kPart, std::min(file.bytes, (part + 1) * kPart), write);
    });
    return file.bytes;
  }

  FetchedFiles fetched(const std::string& set, const std::vector<RemoteFile>& files,
                       const std::vector<std::string>& keys) const {
    std::map<std::string, std::string> key_by_name, checksums, addresses;
    for (size_t i = 0; i < files.size(); ++i) {
      const auto copy = find_copy(keys[i]);
      if (!copy) fail_on_cache(path_of_copy(keys[i]), "was removed while it was in use", EIO);
      key_by_name[files[i].name] = keys[i];
      addresses[files[i].name] = files[i].address;
      checksums[files[i].name] = copy->checksum;
    }
    link_set(set, key_by_name);
    const bool is_one = files.size() == 1 && files.front().address == address_;
    return {is_one ? path_of_set(set) / files.front().name : path_of_set(set), content_of_files(checksums),
            addresses};
  }

  const std::string& address_;
  const double most_gigabytes_;
  RemoteFiles remote_;
};

struct Used {
  FetchedFiles files;
  Descriptor in_use;  // a lock, until the process ends
};

struct AllUsed {
  std::mutex mutex;
  std::map<std::string, Used> by_address;
};

AllUsed& all_used() {
  static AllUsed all;
  return all;
}

// The folder with the links, whether the address is of a file or of several.
fs::path set_of(const fs::path& place) {
  return place.parent_path().filename() == "sets" ? place : place.parent_path();
}

// In messages NAME of the set is "https://host/shards/NAME".
void name_copies(const std::string& address, const fs::path& place) {
  const std::string begin = shown_address(address.substr(0, address.find('{')));
  name_in_messages(set_of(place), begin.substr(0, begin.rfind('/')));
}

}  // namespace

std::string content_of_files(const std::map<std::string, std::string>& checksums) {
  Checksum content;
  for (const auto& [name, checksum] : checksums) {
    const std::string line = name + "\n" + checksum + "\n";
    content.add(line.data(), line.size());
  }
  return content.text();
}

FetchedFiles fetch_files(const std::string& address, double most_gigabytes, const IsWanted& is_wanted,
                         const HttpTimes& times) {
  const std::lock_guard lock(all_used().mutex);
  auto& used = all_used().by_address;
  if (const auto found = used.find(address); found != used.end()) return found->second.files;
  Used now;
  now.files = Fetching(address, most_gigabytes, times).fetch(is_wanted, now.in_use);
  name_copies(address, now.files.place);
  return used.emplace(address, std::move(now)).first->second.files;
}

void fetch_quietly() { is_quiet = true; }

void use_fetched(const std::string& address, const FetchedFiles& files) {
  const std::lock_guard lock(all_used().mutex);
  if (files.place.empty() || all_used().by_address.contains(address)) return;
  Used now{files, use_set(set_of(files.place).filename())};
  std::error_code none;
  if (now.in_use.get() < 0 || !fs::exists(files.place, none)) return;
  name_copies(address, files.place);
  all_used().by_address.emplace(address, std::move(now));
}

}  // namespace dtrain
