#include "arrays/array_file.h"

#include <ATen/ATen.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zip.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <functional>
#include <memory>
#include <numeric>
#include <string_view>

#include "core/data_errors.h"
#include "core/descriptor.h"
#include "core/error.h"
#include "core/patterns.h"
#include "core/text.h"
#include "safetensors/safetensors.h"

namespace dtrain {
namespace {

namespace fs = std::filesystem;

// The format .npy (numpy.lib.format): a magic, a version, and a Python dictionary as text.

constexpr size_t kMostNpyHeaderBytes = 4096;
constexpr int64_t kMostNumbers = int64_t{1} << 40;
constexpr size_t kMostDimensions = 8;

// How an array is stored, and what it becomes.
struct NpyType {
  const char* name;
  at::ScalarType stored;
  at::ScalarType type;
};

// Types of 2 to 8 bytes are little-endian ("<"), those of a byte have no order ("|").
constexpr NpyType kNpyTypes[] = {
    {"<f8", at::kDouble, at::kDouble}, {"<f4", at::kFloat, at::kFloat}, {"<f2", at::kHalf, at::kFloat},
    {"<i8", at::kLong, at::kLong},     {"<i4", at::kInt, at::kLong},    {"<i2", at::kShort, at::kLong},
    {"|i1", at::kChar, at::kLong},     {"|u1", at::kByte, at::kByte},   {"|b1", at::kBool, at::kLong},
    {"<u2", at::kUInt16, at::kLong},   {"<u4", at::kUInt32, at::kLong}, {"<u8", at::kUInt64, at::kLong}};

const NpyType& type_named(const std::string& name) {
  for (const NpyType& type : kNpyTypes) {
    if (name == type.name) return type;
  }
  if (name.find('O') != std::string::npos)
    throw Error(ExitCode::kData,
                "holds Python objects, which dtrain does not read because they can run code; save numbers: "
                "numpy.save(file, array.astype(numpy.float32))");
  if (name.front() == '>')
    throw Error(ExitCode::kData, "is big-endian; save array.astype(array.dtype.newbyteorder('<'))");
  throw Error(ExitCode::kData, "has elements of the type '{}', which are no numbers that dtrain reads",
              printable(name, 60));
}

std::vector<int64_t> shape_from(const std::string& text) {
  std::vector<int64_t> shape;
  for (const char* at = text.data(); at < text.data() + text.size();) {
    int64_t size = 0;
    const auto [end, fault] = std::from_chars(at, text.data() + text.size(), size);
    if (fault == std::errc() && size >= 0) shape.push_back(size);
    at = fault == std::errc() ? end : at + 1;
    if (shape.size() > kMostDimensions) throw Error(ExitCode::kData, "has more dimensions than dtrain reads");
  }
  return shape;
}

struct NpyHeader {
  std::string type;  // such as "<f4"
  std::vector<int64_t> shape;
  int64_t item_bytes = 0;
  int64_t data_begin = 0;  // in the file

  int64_t data_bytes() const {
    return std::accumulate(shape.begin(), shape.end(), item_bytes, std::multiplies<>());
  }
};

// Parses the beginning of a file; `start` is the whole file or its first kMostNpyHeaderBytes. Throws
// Error(kData) with the fault, without a file's name.
NpyHeader parse_npy_header(std::string_view start) {
  constexpr std::string_view kMagic = "\x93NUMPY";
  if (start.size() < 12 || start.substr(0, kMagic.size()) != kMagic)
    throw Error(ExitCode::kData, "is not a .npy file");
  const auto byte = [&](size_t at) { return static_cast<size_t>(static_cast<unsigned char>(start[at])); };
  const size_t version = byte(6);
  if (version < 1 || version > 3)
    throw Error(ExitCode::kData, "has version {} of .npy; known are 1 to 3", version);
  const size_t begin = version == 1 ? 10 : 12;
  const size_t length = version == 1 ? byte(8) + (byte(9) << 8)
                                     : byte(8) + (byte(9) << 8) + (byte(10) << 16) + (byte(11) << 24);
  if (begin + length > start.size() || begin + length > kMostNpyHeaderBytes)
    throw Error(ExitCode::kData, "its header is cut off, or longer than that of any array of numbers");
  const std::string text(start.substr(begin, length));
  static const Pattern kType("'descr': *'([^']{1,16})'"), kOrder("'fortran_order': *(True|False)"),
      kShape("'shape': *\\(([0-9L, ]*)\\)");
  const auto type = kType.search(text), order = kOrder.search(text), shape = kShape.search(text);
  if (!type || !order || !shape)
    throw Error(ExitCode::kData, "its header does not describe an array of numbers (of records, perhaps)");
  if ((*order)[1].text == "True")
    throw Error(ExitCode::kData, "is in Fortran's order; save numpy.ascontiguousarray(array)");
  NpyHeader header;
  header.type = (*type)[1].text;
  header.shape = shape_from((*shape)[1].text);
  header.item_bytes = static_cast<int64_t>(at::elementSize(type_named(header.type).stored));
  header.data_begin = static_cast<int64_t>(begin + length);
  double numbers = 1;  // in floating point, where a product of such sizes cannot overflow
  for (const int64_t size : header.shape) numbers *= static_cast<double>(size);
  if (numbers > static_cast<double>(kMostNumbers))
    throw Error(ExitCode::kData, "its header promises more numbers than fit a computer");
  return header;
}

// The array at `data`, with data_bytes(), as a type that LibTorch computes with: without a copy where it has
// the type and `data` is aligned for it. `release` is called when the memory is no longer needed.
at::Tensor npy_tensor(const NpyHeader& header, void* data, const std::function<void()>& release) {
  const NpyType& type = type_named(header.type);
  const auto options = at::TensorOptions().dtype(type.stored);
  if (reinterpret_cast<uintptr_t>(data) % static_cast<uintptr_t>(header.item_bytes) == 0) {
    const at::Tensor tensor = at::from_blob(
        data, header.shape, [release](void*) { release(); }, options);
    return type.type == type.stored ? tensor : tensor.to(type.type);
  }
  at::Tensor copy = at::empty(header.shape, options);
  std::memcpy(copy.mutable_data_ptr(), data, static_cast<size_t>(header.data_bytes()));
  release();
  return copy.to(type.type);
}

// Calls `make`, and puts the file before the message of an error.
template <class Make>
auto in_file(const std::string& where, const Make& make) {
  try {
    return make();
  } catch (const Error& error) {
    refuse_file(where, error.what());
  }
}

using Zip = std::unique_ptr<zip_t, decltype(&zip_discard)>;
using ZipMember = std::unique_ptr<zip_file_t, decltype(&zip_fclose)>;

void read_member(zip_file_t* member, void* out, int64_t bytes, const std::string& where) {
  for (int64_t done = 0; done < bytes;) {
    const zip_int64_t got =
        zip_fread(member, static_cast<char*>(out) + done, static_cast<zip_uint64_t>(bytes - done));
    if (got <= 0) refuse_file(where, "is damaged or cut off; make the file again");
    done += got;
  }
}

// Deflate cannot shrink content further than that (RFC 1951).
constexpr uint64_t kMostShrunk = 1032;

at::Tensor read_npz_member(zip_t* zip, zip_uint64_t index, const zip_stat_t& about,
                           const std::string& where) {
  if (about.size > static_cast<uint64_t>(kMaxArrayBytes) || about.size / kMostShrunk > about.comp_size + 1)
    refuse_file(where, "promises more than it can hold");
  const ZipMember member(zip_fopen_index(zip, index, 0), zip_fclose);
  if (!member) refuse_file(where, "cannot be unpacked: {}", zip_strerror(zip));
  std::string start(std::min<size_t>(about.size, kMostNpyHeaderBytes), '\0');
  read_member(member.get(), start.data(), std::ssize(start), where);
  const NpyHeader header = in_file(where, [&] { return parse_npy_header(start); });
  if (header.data_begin + header.data_bytes() != static_cast<int64_t>(about.size))
    refuse_file(where, "its header promises {} bytes, and it has {}", header.data_bytes(),
                static_cast<int64_t>(about.size) - header.data_begin);
  auto data = std::make_shared<std::vector<char>>(static_cast<size_t>(header.data_bytes()));
  const auto early = std::min<int64_t>(std::ssize(start) - header.data_begin, std::ssize(*data));
  std::memcpy(data->data(), start.data() + header.data_begin, static_cast<size_t>(early));
  read_member(member.get(), data->data() + early, std::ssize(*data) - early, where);
  char end = 0;
  if (zip_fread(member.get(), &end, 1) != 0) refuse_file(where, "is damaged: its checksum does not match");
  char* const begin = data->data();
  return npy_tensor(header, begin, [data = std::move(data)] {});
}

std::map<std::string, at::Tensor> read_npz(const fs::path& path, const std::vector<std::string>& names) {
  int fault = 0;
  const Zip zip(zip_open(path.c_str(), ZIP_RDONLY, &fault), zip_discard);
  if (!zip) {
    zip_error_t error;
    zip_error_init_with_code(&error, fault);
    const std::string text = zip_error_strerror(&error);
    zip_error_fini(&error);
    refuse_file(path, "is not an .npz file that can be read: {}", text);
  }
  std::map<std::string, at::Tensor> arrays;
  for (const std::string& name : names) {
    const zip_int64_t index = zip_name_locate(zip.get(), (name + ".npy").c_str(), ZIP_FL_ENC_RAW);
    if (index < 0) continue;
    zip_stat_t about;
    const std::string where = fmt::format("{}: {}.npy", path.string(), name);
    constexpr zip_uint64_t kNeeded = ZIP_STAT_SIZE | ZIP_STAT_COMP_SIZE;
    if (zip_stat_index(zip.get(), static_cast<zip_uint64_t>(index), 0, &about) != 0 ||
        (about.valid & kNeeded) != kNeeded)
      refuse_file(where, "has no size");
    arrays[name] = read_npz_member(zip.get(), static_cast<zip_uint64_t>(index), about, where);
  }
  return arrays;
}

std::map<std::string, at::Tensor> read_safetensors_arrays(const fs::path& path,
                                                          const std::vector<std::string>& names) {
  std::map<std::string, at::Tensor> arrays;
  try {
    const SafetensorsFile file(path, names);
    for (const TensorEntry& entry : file.tensors()) {
      at::Tensor tensor = file.read(entry);
      if (tensor.scalar_type() == at::kHalf || tensor.scalar_type() == at::kBFloat16)
        tensor = tensor.to(at::kFloat);
      if (at::isIntegralType(tensor.scalar_type(), /*includeBool=*/true) && tensor.scalar_type() != at::kByte)
        tensor = tensor.to(at::kLong);
      arrays[entry.name] = tensor;
    }
  } catch (const Error& error) {
    throw Error(error.code() == ExitCode::kCheckpoint ? ExitCode::kData : error.code(), error.what());
  }
  return arrays;
}

}  // namespace

at::Tensor map_npy(const fs::path& path) {
  const std::string where = path.string();
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.get() < 0) fail_on_file(where, "cannot be opened", errno);
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) fail_on_file(where, "cannot be looked at", errno);
  if (!S_ISREG(status.st_mode)) refuse_file(where, "is not a regular file");
  std::array<char, kMostNpyHeaderBytes> start{};
  const ssize_t got = ::pread(file.get(), start.data(), start.size(), 0);
  if (got < 0) fail_on_file(where, "cannot be read", errno);
  const NpyHeader header = in_file(where, [&] {
    return parse_npy_header({start.data(), static_cast<size_t>(got)});
  });
  const int64_t bytes = header.data_begin + header.data_bytes();
  if (bytes != status.st_size)
    refuse_file(where, "its header promises {} bytes, and the file has {}; it is incomplete or damaged",
                bytes, status.st_size);
  const auto size = static_cast<size_t>(bytes);
  void* const mapped = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, file.get(), 0);
  if (mapped == MAP_FAILED) fail_on_file(where, "cannot be mapped", errno);
  return npy_tensor(header, static_cast<char*>(mapped) + header.data_begin,
                    [mapped, size] { ::munmap(mapped, size); });
}

void require_finite(const std::string& what, const at::Tensor& examples, at::ScalarType type) {
  constexpr int64_t kAtOnce = 4096;
  for (int64_t begin = 0; examples.is_floating_point() && begin < examples.size(0); begin += kAtOnce) {
    const at::Tensor some = examples.narrow(0, begin, std::min(kAtOnce, examples.size(0) - begin)).to(type);
    const at::Tensor finite = at::isfinite(some).flatten(1).all(1).to(at::kByte);
    const auto first = finite.argmin().item<int64_t>();
    if (finite[first].item<uint8_t>() == 0)
      refuse_file(what, "not all numbers of example {}, counted from 0, are finite as {}", begin + first,
                  type == at::kDouble ? "float64" : "float32");
  }
}

std::map<std::string, at::Tensor> read_arrays(const fs::path& path, const std::vector<std::string>& names) {
  if (!fs::exists(path)) refuse_file(path, "there is no such file or folder");
  if (path.extension() == ".npz") return read_npz(path, names);
  if (path.extension() == ".safetensors") return read_safetensors_arrays(path, names);
  if (!fs::is_directory(path))
    refuse_file(path, "is neither a folder of .npy files nor a .npz or .safetensors file");
  std::map<std::string, at::Tensor> arrays;
  for (const std::string& name : names) {
    const fs::path file = path / (name + ".npy");
    if (fs::exists(file)) arrays[name] = map_npy(file);
  }
  return arrays;
}

}  // namespace dtrain
