#include "metrics/jsonl.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <fstream>
#include <utility>

#include "core/files.h"
#include "metrics/events.h"

namespace dtrain {
namespace {

constexpr size_t kBlock = size_t{1} << 20;  // bytes that are written at once

bool stays(const Event& event, int64_t epochs, int64_t step, bool unevaluated) {
  const EventPlace place = place_of(event);
  if (place.run != "distributed") return true;
  if (decode<RunEndEvent>(event) || decode<ComparisonEvent>(event)) return false;
  if (decode<RestartEvent>(event)) return true;  // its cost remains
  const auto evaluation = decode<EvalEvent>(event);
  if (evaluation && evaluation->part == kTestPart) return false;
  if (evaluation && unevaluated) return place.step.value_or(0) < step;
  if (decode<EpochEvent>(event)) return place.epoch.value_or(0) <= epochs;
  return place.step.value_or(0) <= step;
}

// "metrics.damaged.jsonl" beside the file, or "metrics.damaged-2.jsonl".
std::filesystem::path place_of_copy(const std::filesystem::path& file) {
  std::filesystem::path copy = file;
  copy.replace_filename(file.stem().string() + ".damaged" + file.extension().string());
  for (int number = 2; std::filesystem::exists(copy); ++number)
    copy.replace_filename(
        fmt::format("{}.damaged-{}{}", file.stem().string(), number, file.extension().string()));
  return copy;
}

// Removes the file, at first what a killed job has left of it, and at last what has not been renamed.
struct FileThatGoes {
  explicit FileThatGoes(std::filesystem::path file) : path(std::move(file)) { ::unlink(path.c_str()); }
  ~FileThatGoes() { ::unlink(path.c_str()); }
  FileThatGoes(FileThatGoes&&) = delete;  // nor copied

  const std::filesystem::path path;
};

}  // namespace

JsonLinesFile::JsonLinesFile(const std::filesystem::path& path) : path_(path) {
  open();
  struct stat status {};
  char last = '\n';
  const bool has_bytes = ::fstat(file_.get(), &status) == 0 && S_ISREG(status.st_mode) && status.st_size > 0;
  if (has_bytes && ::pread(file_.get(), &last, 1, status.st_size - 1) == 1 && last != '\n') write("\n");
}

void JsonLinesFile::open() {
  file_ = Descriptor(::open(path_.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666));
  if (file_.get() < 0) fail_to_write(path_, "cannot open for the metrics", errno, "--run-dir");
}

// A file that was replaced by another has no name left.
bool JsonLinesFile::is_in_place() const {
  struct stat ours {};
  struct stat there {};
  const bool removed = ::fstat(file_.get(), &ours) == 0 && ours.st_nlink == 0;
  const bool gone = ::stat(path_.c_str(), &there) != 0 && (errno == ENOENT || errno == ENOTDIR);
  return !removed && !gone;
}

void JsonLinesFile::write_again() {
  write_file_atomically(path_, content_of(file_.get()), "--run-dir");
  open();
}

void JsonLinesFile::on_event(const Event& event) {
  if (failed_ || decode<ProgressEvent>(event)) return;
  write(event_text(event) + "\n");
}

void JsonLinesFile::sync() {
  if (!failed_ && ::fdatasync(file_.get()) != 0 && errno != EINVAL)  // of what is no file on a disk
    fail_to_write(path_, "cannot write the metrics to the disk", errno, "--run-dir");
}

void JsonLinesFile::write(const std::string& text) {
  if (write_all(file_.get(), text.data(), text.size())) return;
  failed_ = true;
  fail_to_write(path_, "cannot write the metrics", errno, "--run-dir");
}

void for_each_line(
    const std::filesystem::path& file,
    const std::function<void(const std::string& line, const Event& event, bool is_whole)>& take) {
  read_file_part(file, 0, 0, ExitCode::kUsage);  // fails as it should for what is no file that can be read
  std::ifstream lines(file);
  for (std::string line; std::getline(lines, line);)
    take(line, Event::parse(line, nullptr, /*allow_exceptions=*/false), !lines.eof());
  if (lines.bad()) throw Error(ExitCode::kDisk, "{}: cannot be read to its end", file.string());
}

std::filesystem::path place_while_rewinding(const std::filesystem::path& file) {
  return file.string() + ".rewound";
}

std::optional<std::filesystem::path> rewind_metrics(const std::filesystem::path& file, int64_t epochs,
                                                    int64_t step,
                                                    const std::function<void(const Event&)>& on_kept,
                                                    bool unevaluated) {
  const FileThatGoes kept(place_while_rewinding(file));
  Descriptor made(::open(kept.path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
  if (made.get() < 0) fail_to_write(file, "cannot create", errno, "--run-dir");
  const auto require = [&](bool is_written) {
    if (!is_written) fail_to_write(file, "cannot write", errno, "--run-dir");
  };
  std::string lines;
  bool damaged = false;
  for_each_line(file, [&](const std::string& line, const Event& event, bool is_whole) {
    damaged |= !event.is_object() && is_whole;  // a killed job may leave the last line incomplete
    if (!event.is_object() || !stays(event, epochs, step, unevaluated)) return;
    lines += line + "\n";
    if (lines.size() > kBlock) {
      require(write_all(made.get(), lines.data(), lines.size()));
      lines.clear();
    }
    on_kept(event);
  });
  // On the disk before the name is: after a power failure it may otherwise be a file without content.
  require(write_all(made.get(), lines.data(), lines.size()) && ::fdatasync(made.get()) == 0 &&
          ::close(made.release()) == 0);
  std::optional<std::filesystem::path> copy;
  if (damaged && ::link(file.c_str(), copy.emplace(place_of_copy(file)).c_str()) != 0)  // no links there
    write_file_atomically(*copy, read_file(file, INT64_MAX, ExitCode::kUsage), "--run-dir");
  require(::rename(kept.path.c_str(), file.c_str()) == 0);
  return copy;
}

}  // namespace dtrain
