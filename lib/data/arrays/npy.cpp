#include "arrays/npy.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <charconv>
#include <cstring>

#include "core/error.h"
#include "core/patterns.h"
#include "core/text.h"

namespace dtrain {
namespace {

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

}  // namespace

int64_t NpyHeader::data_bytes() const {
  int64_t bytes = item_bytes;
  for (const int64_t size : shape) bytes *= size;
  return bytes;
}

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

}  // namespace dtrain
