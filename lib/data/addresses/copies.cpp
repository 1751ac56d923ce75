#include "addresses/copies.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <nlohmann/json.hpp>
#include <set>
#include <system_error>

#include "core/error.h"
#include "core/files.h"
#include "images/cache_file.h"

namespace dtrain {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr int64_t kMostAboutBytes = int64_t{1} << 16;
constexpr int64_t kMostUseBytes = int64_t{1} << 28;
constexpr const char* kAbout = ".about";
constexpr const char* kUse = ".use";
constexpr size_t kKeyDigits = 32;

fs::path sets_folder() { return copies_folder() / "sets"; }
fs::path use_of(const std::string& set) { return sets_folder() / (set + kUse); }

// For this user alone: others may not read what a store showed only to the owner of its keys.
void make_folders() {
  make_cache_folder();
  std::error_code code;
  fs::create_directories(sets_folder(), code);
  if (!code) fs::permissions(copies_folder(), fs::perms::owner_all, code);
  if (code) fail_on_cache(sets_folder(), "cannot be made", code.value());
}

// Held for as long as the object lives.
OpenFile lock_folder() {
  make_folders();
  OpenFile lock = open_made(copies_folder() / "lock");
  try_lock(lock, LOCK_EX);
  return lock;
}

// Kept open without the object that checked it.
Descriptor kept_open(const OpenFile& file) {
  Descriptor copy(::fcntl(file.descriptor(), F_DUPFD_CLOEXEC, 3));
  file.check(copy.get() >= 0, "cannot be kept open");
  return copy;
}

std::vector<std::string> keys_of(const fs::path& use) {
  const json keys =
      json::parse(read_file(use, kMostUseBytes, ExitCode::kDisk), nullptr, /*allow_exceptions=*/false);
  std::vector<std::string> found;
  for (const json& key : keys) {
    if (key.is_string()) found.push_back(key.get<std::string>());
  }
  return found;
}

// Renames it first: a folder with some of its links must not be taken for a whole one.
void remove_set(const fs::path& use) {
  const fs::path folder = fs::path(use).replace_extension(), gone = folder.string() + kPartialCacheFile;
  std::error_code none, failed;
  fs::remove_all(gone, none);
  fs::rename(folder, gone, failed);
  if (failed && fs::exists(folder, none)) return;
  fs::remove_all(gone, none);
  fs::remove(use, none);
}

// The keys of all copies that a process uses. Sets that none uses are removed: making them again is quick.
std::set<std::string> used_keys() {
  std::set<std::string> used;
  std::error_code code;
  for (const auto& entry : fs::directory_iterator(sets_folder(), code)) {
    if (entry.path().extension() != kUse) continue;
    const OpenFile use(entry.path(), O_RDWR);  // NFS locks only what may be written
    if (!use.is_open()) continue;
    if (try_lock(use, LOCK_EX | LOCK_NB)) {
      remove_set(entry.path());
    } else {
      const std::vector<std::string> keys = keys_of(entry.path());
      used.insert(keys.begin(), keys.end());
    }
  }
  return used;
}

std::optional<AboutCopy> read_about(const std::string& key) {
  const fs::path path = copies_folder() / (key + kAbout);
  if (!OpenFile(path, O_RDONLY).is_open()) return std::nullopt;
  const json about = json::parse(read_file(path, kMostAboutBytes, ExitCode::kDisk), nullptr, false);
  try {
    return AboutCopy{about.at("address").get<std::string>(), about.at("bytes").get<int64_t>(),
                     about.at("checksum").get<std::string>()};
  } catch (const json::exception&) {
    return std::nullopt;
  }
}

// All copies, the least recently used first.
std::vector<FetchedCopy> copies_with(const std::set<std::string>& used) {
  std::vector<std::pair<fs::file_time_type, FetchedCopy>> found;
  std::error_code code;
  for (const auto& entry : fs::directory_iterator(copies_folder(), code)) {
    const std::string name = entry.path().filename();
    const bool is_partial = name.ends_with(kPartialCacheFile);
    if (!entry.is_regular_file(code) || (name.size() != kKeyDigits && !is_partial)) continue;
    FetchedCopy copy{.file = entry.path(),
                     .bytes = static_cast<int64_t>(entry.file_size(code)),
                     .address = is_partial ? "" : read_about(name).value_or(AboutCopy()).address,
                     .in_use = used.contains(name.substr(0, kKeyDigits))};
    const fs::file_time_type time = fs::last_write_time(copies_folder() / (name + kAbout), code);
    found.emplace_back(code ? fs::file_time_type::min() : time, std::move(copy));
  }
  std::ranges::sort(found, {}, [](const auto& one) { return std::tie(one.first, one.second.file); });
  std::vector<FetchedCopy> copies;
  for (auto& [time, copy] : found) copies.push_back(std::move(copy));
  return copies;
}

void remove_files(const fs::path& copy) {
  for (const char* const end : {kAbout, ""}) {
    const fs::path path = copy.string() + end;
    if (::unlink(path.c_str()) != 0 && errno != ENOENT) fail_on_cache(path, "cannot be removed", errno);
  }
}

}  // namespace

fs::path copies_folder() { return cache_folder() / "addresses"; }
fs::path path_of_copy(const std::string& key) { return copies_folder() / key; }
fs::path path_of_set(const std::string& set) { return sets_folder() / set; }

std::optional<AboutCopy> find_copy(const std::string& key) {
  const OpenFile copy(path_of_copy(key), O_RDONLY);
  const std::optional<AboutCopy> about = copy.is_open() ? read_about(key) : std::nullopt;
  if (!about || about->bytes != copy.size()) return std::nullopt;
  ::utimensat(AT_FDCWD, (copies_folder() / (key + kAbout)).c_str(), nullptr, 0);
  return about;
}

void write_about_copy(const std::string& key, const AboutCopy& about) {
  const json text = {{"address", about.address}, {"bytes", about.bytes}, {"checksum", about.checksum}};
  write_file_atomically(copies_folder() / (key + kAbout),
                        text.dump(-1, ' ', false, json::error_handler_t::replace));
}

Descriptor use_copies(const std::string& set, const std::vector<std::string>& keys) {
  const OpenFile lock = lock_folder();
  const OpenFile use = open_made(use_of(set));
  const std::string text = json(keys).dump();
  if (use.size() != std::ssize(text)) {  // new, or half written: the keys of a set never change
    use.check(::ftruncate(use.descriptor(), 0) == 0 && write_all(use.descriptor(), text.data(), text.size()),
              "cannot be written");
  }
  try_lock(use, LOCK_SH);
  return kept_open(use);
}

Descriptor use_set(const std::string& set) {
  const OpenFile lock = lock_folder();
  std::error_code none;
  const OpenFile use(use_of(set), O_RDONLY);
  if (!use.is_open() || !fs::is_directory(path_of_set(set), none)) return {};
  try_lock(use, LOCK_SH);
  return kept_open(use);
}

void link_set(const std::string& set, const std::map<std::string, std::string>& key_by_name) {
  const OpenFile lock = lock_folder();
  const fs::path folder = path_of_set(set), partial = folder.string() + kPartialCacheFile;
  std::error_code code;
  if (fs::is_directory(folder, code)) return;
  fs::remove_all(partial, code);
  fs::create_directory(partial, code);
  for (const auto& [name, key] : key_by_name) {  // good wherever the cache is mounted
    if (!code) fs::create_symlink(fs::path("../..") / key, partial / name, code);
  }
  if (!code) fs::rename(partial, folder, code);
  if (code) fail_on_cache(folder, "cannot be made", code.value());
}

std::vector<FetchedCopy> list_fetched() {
  std::error_code none;
  if (!fs::exists(copies_folder(), none)) return {};
  const OpenFile lock = lock_folder();
  return copies_with(used_keys());
}

void make_room_for(int64_t bytes, double most_bytes) {
  const OpenFile lock = lock_folder();
  const std::vector<FetchedCopy> copies = copies_with(used_keys());
  int64_t kept = 0;
  for (const FetchedCopy& copy : copies) kept += copy.bytes;
  std::error_code code;
  const fs::space_info space = fs::space(copies_folder(), code);
  int64_t left = code ? bytes : static_cast<int64_t>(space.available);
  for (const FetchedCopy& copy : copies) {
    if (static_cast<double>(kept + bytes) <= most_bytes && left >= bytes) return;
    if (copy.in_use) continue;
    remove_files(copy.file);
    kept -= copy.bytes;
    left += copy.bytes;
  }
}

bool remove_fetched(const FetchedCopy& copy) {
  const OpenFile lock = lock_folder();
  if (used_keys().contains(copy.file.filename().string().substr(0, kKeyDigits))) return false;
  remove_files(copy.file);
  return true;
}

}  // namespace dtrain
