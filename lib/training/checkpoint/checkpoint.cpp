#include "checkpoint/checkpoint.h"

#include <ATen/ATen.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <torch/headeronly/version.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "core/checksum.h"
#include "core/descriptor.h"
#include "core/error.h"
#include "core/files.h"
#include "core/text.h"
#include "core/version.h"

namespace dtrain {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void refuse(const fs::path& path, const std::string& why) {
  throw Error(ExitCode::kCheckpoint, "{}: {}", path.string(), why);
}

// Checks that the file is the one that the manifest describes, as far as its size and header show.
void check_header(const fs::path& path, const SafetensorsFile& file, const FileChecksums& expected) {
  if (file.bytes() != expected.bytes)
    refuse(path, fmt::format("has {} bytes, but was saved with {}", file.bytes(), expected.bytes));
  if (file.header_checksum() != expected.header)
    refuse(path, "its header is damaged: its checksum does not match");
  if (file.tensors().size() != expected.tensors.size())
    refuse(path, fmt::format("has {} tensors, but was saved with {}", file.tensors().size(),
                             expected.tensors.size()));
}

bool is_as_saved(const FileChecksums& saved, const TensorEntry& entry, const std::string& checksum) {
  const auto expected = saved.tensors.find(entry.name);
  return expected != saved.tensors.end() && expected->second == checksum;
}

std::string damaged(const TensorEntry& entry) {
  return fmt::format("'{}' is damaged: its checksum does not match", printable(entry.name, 100));
}

NamedTensors load_file(const fs::path& path, const FileChecksums& saved) {
  const SafetensorsFile file(path);
  check_header(path, file, saved);
  NamedTensors tensors;
  for (const TensorEntry& entry : file.tensors()) {
    std::string checksum;
    tensors.emplace_back(entry.name, file.read(entry, &checksum));
    if (!is_as_saved(saved, entry, checksum)) refuse(path, damaged(entry));
  }
  return tensors;
}

// `saved` is nullptr if the manifest cannot be trusted.
FileReport inspect_file(const fs::path& checkpoint, const std::string& name, const FileChecksums* saved,
                        std::vector<std::string>& problems) {
  FileReport report;
  report.name = name;
  try {
    const fs::path path = plain_file(checkpoint, name);
    const SafetensorsFile file(path);
    for (const TensorEntry& entry : file.tensors()) {
      TensorReport tensor{
          entry.name, safetensors_dtype(entry.dtype), entry.shape, entry.end - entry.begin, {}};
      if (saved) tensor.good = is_as_saved(*saved, entry, file.checksum(entry));
      if (saved && !*tensor.good) problems.push_back(fmt::format("{}: {}", path.string(), damaged(entry)));
      report.tensors.push_back(std::move(tensor));
    }
    if (saved) check_header(path, file, *saved);
  } catch (const Error& error) {
    problems.push_back(error.what());
  }
  return report;
}

Descriptor open_to_read(const fs::path& path) {
  return Descriptor(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
}

FileChecksums checksums_of_program(const fs::path& path) {
  const Descriptor file = open_to_read(path);
  if (file.get() < 0) refuse(path, std::string("cannot open: ") + std::strerror(errno));
  FileChecksums found;
  Checksum all;
  std::vector<char> piece(size_t{1} << 20);
  while (const ssize_t got = ::read(file.get(), piece.data(), piece.size())) {
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) refuse(path, std::string("cannot read: ") + std::strerror(errno));
    all.add(piece.data(), static_cast<size_t>(got));
    found.bytes += got;
  }
  found.header = all.text();
  return found;
}

// Why old checkpoints are still there, for people; "" if `remove` could remove them.
std::string failure_to_remove(const std::function<void()>& remove) {
  try {
    remove();
  } catch (const Error& error) {
    return fmt::format("what a new checkpoint replaces could not be removed, and is tried again later: {}",
                       error.what());
  }
  return "";
}

FileReport inspect_program(const fs::path& checkpoint, const FileChecksums& saved,
                           std::vector<std::string>& problems) {
  try {
    const fs::path path = plain_file(checkpoint, kProgramFile);
    const FileChecksums found = checksums_of_program(path);
    if (found.bytes != saved.bytes || found.header != saved.header)
      refuse(path, "is damaged: its checksum does not match");
  } catch (const Error& error) {
    problems.push_back(std::string(error.what()) + "; put the model.file of the run there, if you have it");
  }
  return {kProgramFile, {}};
}

void sync_file(const fs::path& path) {
  const Descriptor file = open_to_read(path);
  if (file.get() < 0) fail_to_save(path, "open the file");
  if (::fsync(file.get()) != 0) fail_to_save(path, "write the file to the disk");
}

// A second name for a file that nobody changes; where the file system has none, a copy.
void keep_as(const fs::path& own, const fs::path& file) {
  std::error_code failed;
  fs::create_hard_link(file, own, failed);
  if (!failed) return;
  fs::copy_file(file, own, failed);
  if (failed) {
    errno = failed.value();
    fail_to_save(own, "copy the file");
  }
  sync_file(own);
}

void write_checkpoint(const fs::path& path, const Checkpoint& checkpoint) {
  Manifest manifest;
  manifest.state = checkpoint.state;
  manifest.state.dtrain = kVersion;
  manifest.state.libtorch = TORCH_VERSION;
  const Metadata metadata = {{"format", "pt"}};  // tells other readers that tensors are row-major
  manifest.files[kModelFile] = write_safetensors(path / kModelFile, checkpoint.model, metadata);
  manifest.files[kOptimizerFile] = write_safetensors(path / kOptimizerFile, checkpoint.optimizer, metadata);
  if (!checkpoint.program.path.empty()) {
    keep_as(path / kProgramFile, checkpoint.program.path);
    manifest.files[kProgramFile] = checkpoint.program.saved;
  }
  const std::string text = manifest_text(manifest);
  NewFile file(path / kManifestFile);
  file.write(text.data(), text.size());
  file.sync();
  sync_folder(path);
}

}  // namespace

KeptProgram settled_program(const fs::path& path) {
  if (path.empty()) return {};
  sync_file(path);
  sync_folder(path.parent_path());
  return {path, checksums_of_program(path)};
}

fs::path save_checkpoint(const fs::path& folder, const Checkpoint& checkpoint) {
  make_checkpoint_folder(folder);
  const fs::path path = folder / checkpoint_name(checkpoint.state.step, !checkpoint.state.suspicion.empty());
  StagingFolder staging(folder, checkpoint.state.step);
  write_checkpoint(staging.path(), checkpoint);
  staging.put_in_place(path);
  return path;
}

void bring_checkpoints(const fs::path& from, int64_t step, const fs::path& folder,
                       const BestCheckpointSpec& best) {
  const std::optional<SavedCheckpoint> saved = best_checkpoint(from.parent_path(), best, step);
  if (!saved) return;
  make_checkpoint_folder(folder);
  const auto bring = [&folder](const fs::path& path, int64_t its_step) {
    StagingFolder staging(folder, its_step);
    for (const fs::path& file : paths_in(path)) {
      if (std::error_code none; fs::is_regular_file(file, none))  // and nothing that a user has put there
        keep_as(staging.path() / file.filename(), file);
    }
    sync_folder(staging.path());
    staging.put_in_place(folder / path.filename());
  };
  bring(from, step);
  if (saved->path.filename() != from.filename()) bring(saved->path, saved->step);
}

Checkpoint load_checkpoint(const fs::path& path) {
  const Manifest manifest = read_manifest(path);
  return {.model = load_file(plain_file(path, kModelFile), manifest.files.at(kModelFile)),
          .optimizer = load_file(plain_file(path, kOptimizerFile), manifest.files.at(kOptimizerFile)),
          .state = manifest.state};
}

NamedTensors load_model(const fs::path& path) {
  return load_file(plain_file(path, kModelFile), read_manifest(path).files.at(kModelFile));
}

NamedTensors outline_of_model(const fs::path& path) {
  const fs::path model = plain_file(path, kModelFile);
  const SafetensorsFile file(model);
  check_header(model, file, read_manifest(path).files.at(kModelFile));
  NamedTensors outlines;
  for (const TensorEntry& entry : file.tensors()) {
    const auto options = at::TensorOptions(entry.dtype).device(at::kMeta);
    outlines.emplace_back(entry.name, at::empty(entry.shape, options));
  }
  return outlines;
}

CheckpointReport inspect_checkpoint(const fs::path& path) {
  CheckpointReport report;
  std::optional<Manifest> manifest;
  try {
    manifest = read_manifest(path);
    report.state = manifest->state;
  } catch (const Error& error) {
    report.problems.push_back(error.what());
  }
  for (const char* name : {kModelFile, kOptimizerFile}) {
    const FileChecksums* saved = manifest ? &manifest->files.at(name) : nullptr;
    report.files.push_back(inspect_file(path, name, saved, report.problems));
  }
  if (manifest && manifest->files.contains(kProgramFile))
    report.files.push_back(inspect_program(path, manifest->files.at(kProgramFile), report.problems));
  return report;
}

fs::path latest_good_checkpoint(const fs::path& folder, const std::function<void(const std::string&)>& warn,
                                const std::function<bool(const SavedCheckpoint&)>& counts) {
  std::vector<SavedCheckpoint> found = list_checkpoints(folder);
  std::erase_if(found, std::not_fn(counts));
  // The loop below runs from the end, so suspect checkpoints go to the front: they are tried last.
  std::stable_partition(found.begin(), found.end(),
                        [](const SavedCheckpoint& saved) { return saved.suspect; });
  std::string problem;  // of the one that is tried first
  for (auto saved = found.rbegin(); saved != found.rend(); ++saved) {
    const CheckpointReport report = inspect_checkpoint(saved->path);
    if (report.problems.empty()) {
      for (const SavedCheckpoint& other : found) {
        if (other.suspect && (other.step > saved->step || saved->suspect))
          warn(fmt::format("{} may be corrupt and is {}; dtrain inspect says why", other.path.string(),
                           other.path == saved->path ? "used, as there is no better one" : "not used"));
      }
      return saved->path;
    }
    // Removed meanwhile by the run, which then has a newer one.
    std::error_code none;
    if (fs::symlink_status(saved->path, none).type() == fs::file_type::not_found)
      return latest_good_checkpoint(folder, warn, counts);
    if (problem.empty()) problem = report.problems.front();
    warn(fmt::format(
        "{} is not used: {}{}", saved->path.string(), report.problems.front(),
        report.problems.size() == 1 ? "" : fmt::format(" (and {} more)", report.problems.size() - 1)));
  }
  throw Error(
      ExitCode::kCheckpoint,
      found.empty()
          ? fmt::format("{}: there is no checkpoint; a spec with checkpoint: {{every_epochs: 1}} saves some",
                        folder.string())
          : fmt::format("{}: none of the {} is good (the first one tried: {}); `dtrain inspect` shows what "
                        "is wrong with "
                        "each, and a run without --resume starts over",
                        folder.string(), counted(std::ssize(found), "checkpoint"), problem));
}

CheckpointWriter::CheckpointWriter(std::filesystem::path folder, const CheckpointSpec& spec,
                                   std::function<void()> settle, std::function<void(const std::string&)> warn)
    : folder_(std::move(folder)), spec_(spec), settle_(std::move(settle)), warn_(std::move(warn)) {
  tell(failure_to_remove([&] { remove_leftovers(folder_); }));
}

void CheckpointWriter::save(Checkpoint checkpoint) {
  finish();
  writing_ = std::async(std::launch::async, [this, checkpoint = std::move(checkpoint)] {
    // A low priority, of this thread only: Linux keeps it per thread, and 0 means the caller. If that fails,
    // the checkpoint is written at a normal one.
    constexpr int kNiceness = 10;
    static_cast<void>(::setpriority(PRIO_PROCESS, 0, kNiceness));
    settle_();
    save_checkpoint(folder_, checkpoint);
    return failure_to_remove([&] {
      if (checkpoint.state.suspicion.empty()) {
        remove_old_checkpoints(folder_, checkpoint.state.step, spec_);
      } else {
        remove_other_suspects(folder_, checkpoint.state.step);
      }
      remove_leftovers(folder_);
    });
  });
}

bool CheckpointWriter::is_idle(std::chrono::milliseconds within) {
  if (writing_.valid() && writing_.wait_for(within) != std::future_status::ready) return false;
  finish();
  return true;
}

void CheckpointWriter::finish() {
  if (writing_.valid()) tell(writing_.get());
}

// Once, and not after each checkpoint.
void CheckpointWriter::tell(const std::string& failure) {
  const bool is_news = !failure.empty() && failure != told_;
  told_ = failure;
  if (is_news) warn_(failure);
}

}  // namespace dtrain
