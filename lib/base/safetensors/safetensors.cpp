#include "safetensors/safetensors.h"

#include <ATen/ATen.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "core/checksum.h"
#include "core/error.h"
#include "core/files.h"
#include "core/text.h"

namespace dtrain {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

static_assert(std::endian::native == std::endian::little,
              "safetensors files are little endian, written as they are");

constexpr int64_t kLengthBytes = 8;
constexpr int64_t kMaxHeaderBytes = int64_t{16} << 20;
constexpr int kHeaderDepth = 3;  // levels: the file, a tensor, its shape
constexpr size_t kMaxDimensions = 64;
constexpr size_t kPiece = size_t{1} << 20;
const char* const kMetadataKey = "__metadata__";

const std::vector<std::pair<std::string, at::ScalarType>> kDtypes = {
    {"F64", at::kDouble}, {"F32", at::kFloat}, {"F16", at::kHalf},   {"BF16", at::kBFloat16},
    {"I64", at::kLong},   {"I32", at::kInt},   {"U8", at::kByte},    {"BOOL", at::kBool},
    {"I16", at::kShort},  {"I8", at::kChar},   {"U16", at::kUInt16}, {"U32", at::kUInt32},
    {"U64", at::kUInt64},
};

int64_t element_bytes(at::ScalarType dtype) { return static_cast<int64_t>(at::elementSize(dtype)); }

// What is wrong with a header. The caller adds the name of the file.
struct HeaderProblem {
  std::string text;
};

std::string in_quotes(const std::string& name) { return "'" + printable(name, 100) + "'"; }

int64_t read_count(const json& value, const std::string& name, const char* what) {
  if (!value.is_number_unsigned() || value.get<uint64_t>() > static_cast<uint64_t>(INT64_MAX))
    throw HeaderProblem{fmt::format("{} of {} is not a count", what, in_quotes(name))};
  return value.get<int64_t>();
}

at::ScalarType read_dtype(const json& value, const std::string& name) {
  std::vector<std::string> known;
  for (const auto& [text, dtype] : kDtypes) {
    if (value == text) return dtype;
    known.push_back(text);
  }
  throw HeaderProblem{fmt::format("the dtype of {} is not one of {}", in_quotes(name), join(known))};
}

const json& member(const json& object, const std::string& name, const char* key, json::value_t type) {
  const auto at = object.find(key);
  if (at == object.end() || at->type() != type)
    throw HeaderProblem{fmt::format("{} has no valid '{}'", in_quotes(name), key)};
  return *at;
}

// Of one that is not `wanted`, the dtype and the size may be any.
TensorEntry read_entry(const std::string& name, const json& value, bool wanted) {
  using Type = json::value_t;
  if (!value.is_object() || value.size() != 3)
    throw HeaderProblem{in_quotes(name) + " is no description of a tensor"};
  TensorEntry entry;
  entry.name = name;
  const json& dtype = member(value, name, "dtype", Type::string);
  if (wanted) entry.dtype = read_dtype(dtype, name);
  int64_t bytes = element_bytes(entry.dtype);
  int64_t extent = bytes;  // counts sizes of 0 as 1, because strides must not overflow either
  const json& shape = member(value, name, "shape", Type::array);
  if (shape.size() > kMaxDimensions) throw HeaderProblem{in_quotes(name) + " has too many dimensions"};
  for (const json& size : shape) {
    entry.shape.push_back(read_count(size, name, "a size"));
    if (__builtin_mul_overflow(extent, std::max<int64_t>(entry.shape.back(), 1), &extent))
      throw HeaderProblem{in_quotes(name) + " is larger than any file"};
    bytes *= entry.shape.back();
  }
  const json& offsets = member(value, name, "data_offsets", Type::array);
  if (offsets.size() != 2) throw HeaderProblem{in_quotes(name) + " has no valid 'data_offsets'"};
  entry.begin = read_count(offsets[0], name, "an offset");
  entry.end = read_count(offsets[1], name, "an offset");
  if (entry.end < entry.begin || (wanted && entry.end - entry.begin != bytes)) {
    throw HeaderProblem{fmt::format("{} takes {} bytes by its shape, but lies at {} to {}", in_quotes(name),
                                    bytes, entry.begin, entry.end)};
  }
  return entry;
}

Metadata read_metadata(const json& value) {
  if (!value.is_object()) throw HeaderProblem{"its metadata are not text by name"};
  Metadata metadata;
  for (const auto& [key, text] : value.items()) {
    if (!text.is_string()) throw HeaderProblem{"its metadata are not text by name"};
    metadata[key] = text.get<std::string>();
  }
  return metadata;
}

// Sorts the tensors by their offsets and checks that they cover the bytes 0 to `data_bytes` without gaps.
void check_layout(std::vector<TensorEntry>& tensors, int64_t data_bytes) {
  std::ranges::stable_sort(tensors, [](const TensorEntry& a, const TensorEntry& b) {
    return std::make_pair(a.begin, a.end) < std::make_pair(b.begin, b.end);
  });
  int64_t end = 0;
  for (const TensorEntry& entry : tensors) {
    if (entry.begin != end) {
      throw HeaderProblem{fmt::format("{} begins at byte {} of the data, but the tensor before it ends at {}",
                                      in_quotes(entry.name), entry.begin, end)};
    }
    end = entry.end;
  }
  if (end != data_bytes)
    throw HeaderProblem{
        fmt::format("the header describes {} bytes of data, but the file has {}", end, data_bytes)};
}

// Makes the header's text, in the order of the tensors, and fills in each tensor's offsets.
std::string make_header(std::vector<TensorEntry>& entries, const Metadata& metadata) {
  std::string text = "{";
  std::set<std::string> names = {kMetadataKey};
  const auto add = [&text](const std::string& name, const ordered_json& value) {
    text += (text.size() > 1 ? "," : "") + json(name).dump() + ":" + value.dump();
  };
  if (!metadata.empty()) add(kMetadataKey, metadata);
  int64_t end = 0;
  for (TensorEntry& entry : entries) {
    if (!names.insert(entry.name).second)
      throw Error(ExitCode::kBug, "two tensors are named " + in_quotes(entry.name));
    entry.begin = end;
    end = entry.end = entry.begin + c10::multiply_integers(entry.shape) * element_bytes(entry.dtype);
    add(entry.name, {{"dtype", safetensors_dtype(entry.dtype)},
                     {"shape", entry.shape},
                     {"data_offsets", {entry.begin, entry.end}}});
  }
  text = printable_json(text) + "}";
  text.resize((text.size() + kLengthBytes - 1) / kLengthBytes * kLengthBytes, ' ');  // aligns the data
  return text;
}

// Gives `write` the bytes of a file, piece by piece.
FileChecksums put_safetensors(const NamedTensors& tensors, const Metadata& metadata,
                              const std::function<void(const void* bytes, size_t count)>& write) {
  NamedTensors ordered = tensors;
  std::ranges::stable_sort(ordered, [](const auto& a, const auto& b) {
    return a.second.element_size() > b.second.element_size();
  });
  std::vector<TensorEntry> entries;
  for (const auto& [name, tensor] : ordered)
    entries.push_back({.name = name, .dtype = tensor.scalar_type(), .shape = tensor.sizes().vec()});
  const std::string header = make_header(entries, metadata);
  const uint64_t length = header.size();

  FileChecksums checksums;
  const auto write_part = [&](const void* bytes, size_t count) {
    write(bytes, count);
    checksums.bytes += static_cast<int64_t>(count);
    return Checksum(bytes, count).text();
  };
  std::string beginning(sizeof(length), '\0');
  std::memcpy(beginning.data(), &length, sizeof(length));
  beginning += header;
  checksums.header = write_part(beginning.data(), beginning.size());
  for (size_t i = 0; i < entries.size(); ++i) {
    const at::Tensor bytes = ordered[i].second.detach().contiguous();
    checksums.tensors[entries[i].name] = write_part(bytes.const_data_ptr(), bytes.nbytes());
  }
  return checksums;
}

}  // namespace

void fail_to_save(const std::filesystem::path& path, const char* what) {
  const int error = errno;
  const bool is_full = error == ENOSPC || error == EDQUOT;
  throw Error(file_failure_code(error), "{}: cannot {}: {}{}{}; older checkpoints are unchanged",
              path.string(), what, std::strerror(error), advice_on_writing(error, "--run-dir"),
              is_full ? "; a smaller checkpoint.keep keeps fewer" : "");
}

// O_EXCL and O_NOFOLLOW: in a folder that others may write to, the name could be a link to one of our files.
NewFile::NewFile(const std::filesystem::path& path)
    : path_(path), file_(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666)) {
  if (file_.get() < 0) fail_to_save(path_, "create the file");
}

void NewFile::write(const void* bytes, size_t count) {
  if (!write_all(file_.get(), bytes, count)) fail_to_save(path_, "write the file");
  bytes_ += static_cast<int64_t>(count);
}

void NewFile::sync() {
  if (::fsync(file_.get()) != 0) fail_to_save(path_, "write the file to the disk");
}

void sync_folder(const std::filesystem::path& path) {
  const Descriptor folder(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (folder.get() < 0) fail_to_save(path, "open the folder");
  // Some network file systems cannot sync a folder; their own guarantees then apply.
  if (::fsync(folder.get()) != 0 && errno != EINVAL) fail_to_save(path, "write the folder to the disk");
}

std::string safetensors_dtype(at::ScalarType dtype) {
  for (const auto& [text, known] : kDtypes) {
    if (known == dtype) return text;
  }
  throw Error(ExitCode::kBug, "checkpoints hold no tensors of dtype {}", at::toString(dtype));
}

FileChecksums write_safetensors(const std::filesystem::path& path, const NamedTensors& tensors,
                                const Metadata& metadata) {
  std::optional<NewFile> file;  // made with its first bytes: what cannot be written makes none
  const FileChecksums checksums = put_safetensors(tensors, metadata, [&](const void* bytes, size_t count) {
    if (!file) file.emplace(path);
    file->write(bytes, count);
  });
  file->sync();
  return checksums;
}

std::string safetensors_bytes(const NamedTensors& tensors, const Metadata& metadata) {
  size_t data = 0;
  for (const auto& [name, tensor] : tensors) data += tensor.nbytes();
  std::string all;
  all.reserve(data + (size_t{1} << 16));  // mostly: growing would take twice the memory
  put_safetensors(tensors, metadata, [&all](const void* bytes, size_t count) {
    all.append(static_cast<const char*>(bytes), count);
  });
  return all;
}

// O_NONBLOCK: opening a pipe that nobody writes to must not hang.
SafetensorsFile::SafetensorsFile(const std::filesystem::path& path, const std::vector<std::string>& only)
    : path_(path), file_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {
  struct stat status {};
  if (file_.get() < 0 || ::fstat(file_.get(), &status) != 0)
    refuse(fmt::format("cannot be opened: {}", std::strerror(errno)), errno);
  if (!S_ISREG(status.st_mode)) refuse("is not a regular file");
  bytes_ = status.st_size;
  uint64_t length = 0;
  if (bytes_ < kLengthBytes) refuse("is cut off: it does not even have its header's length");
  read_at(0, &length, sizeof(length));
  if (length > static_cast<uint64_t>(kMaxHeaderBytes) ||
      static_cast<int64_t>(length) > bytes_ - kLengthBytes) {
    refuse(fmt::format(
        "is cut off, or no safetensors file: it says that its header has {} bytes, of {} in the file", length,
        bytes_));
  }
  data_begin_ = kLengthBytes + static_cast<int64_t>(length);
  std::string header(length, '\0');
  read_at(kLengthBytes, header.data(), header.size());
  Checksum checksum(&length, sizeof(length));
  checksum.add(header.data(), header.size());
  header_checksum_ = checksum.text();
  const json described = parse_strict_json(header, kHeaderDepth, path_.string() + ": its header");
  try {
    if (!described.is_object()) throw HeaderProblem{"its header is no object"};
    for (const auto& [name, value] : described.items()) {
      if (name == kMetadataKey) {
        metadata_ = read_metadata(value);
      } else {
        tensors_.push_back(read_entry(name, value, only.empty() || contains(only, name)));
      }
    }
    check_layout(tensors_, bytes_ - data_begin_);
    std::erase_if(tensors_,
                  [&](const TensorEntry& one) { return !only.empty() && !contains(only, one.name); });
  } catch (const HeaderProblem& problem) {
    refuse("is damaged, or no safetensors file: " + problem.text);
  }
}

void SafetensorsFile::refuse(const std::string& why, int error) const {
  throw Error(file_failure_code(error, ExitCode::kCheckpoint), fmt::format("{}: {}", path_.string(), why));
}

void SafetensorsFile::read_at(int64_t offset, void* bytes, size_t count) const {
  const int64_t got = read_all(file_.get(), offset, bytes, count);
  if (got < 0) refuse(fmt::format("cannot be read: {}", std::strerror(errno)), errno);
  if (static_cast<size_t>(got) < count) refuse("became shorter while it was read");
}

at::Tensor SafetensorsFile::read(const TensorEntry& entry, std::string* checksum) const {
  at::Tensor tensor = at::empty(entry.shape, at::TensorOptions().dtype(entry.dtype));
  read_at(data_begin_ + entry.begin, tensor.mutable_data_ptr(), tensor.nbytes());
  if (checksum) *checksum = Checksum(tensor.const_data_ptr(), tensor.nbytes()).text();
  // In C++ a bool with a value other than 0 and 1 is undefined behaviour.
  if (entry.dtype == at::kBool) {
    const auto* bytes = static_cast<const uint8_t*>(tensor.const_data_ptr());
    if (std::any_of(bytes, bytes + tensor.numel(), [](uint8_t byte) { return byte > 1; }))
      refuse(in_quotes(entry.name) + " has values that are neither true nor false");
  }
  return tensor;
}

std::string SafetensorsFile::checksum(const TensorEntry& entry) const {
  std::string piece(std::min(kPiece, static_cast<size_t>(entry.end - entry.begin)), '\0');
  Checksum sum;
  for (int64_t at = entry.begin; at < entry.end;) {
    const size_t count = std::min(piece.size(), static_cast<size_t>(entry.end - at));
    read_at(data_begin_ + at, piece.data(), count);
    sum.add(piece.data(), count);
    at += static_cast<int64_t>(count);
  }
  return sum.text();
}

}  // namespace dtrain
