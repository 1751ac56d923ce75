#include "data/shared_table.h"

#include <ATen/ATen.h>
#include <c10/util/accumulate.h>
#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>

#include <exception>
#include <memory>
#include <new>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "images/shared_memory.h"

namespace dtrain {
namespace {

using nlohmann::json;

// Thrown in place of what went wrong with the memory: the table can be had without.
struct NoPlace {};

constexpr int64_t kPage = int64_t{1} << 16;  // or more than that of any processor

// The memory has a header as image_block.h reads it, the tensors, and what describes them at its end, which
// may be long: words are names of inputs. The tensors are in the order in which `encode` asks for them.
at::Tensor tensor_in(const OpenFile& memory, int64_t begin, at::IntArrayRef shape, at::ScalarType type,
                     int protection) {
  const int64_t bytes = c10::multiply_integers(shape) * static_cast<int64_t>(at::elementSize(type));
  const std::shared_ptr<uint8_t> mapped = memory.map(bytes, protection, begin);
  return at::from_blob(
      mapped.get(), shape, [mapped](void*) {}, type);
}

void write_text(const OpenFile& memory, const std::string& text, int64_t begin) {
  memory.check(::pwrite(memory.descriptor(), text.data(), text.size(), begin) == std::ssize(text),
               "cannot be written");
}

void write_table(const OpenFile& memory, const std::string& source, const EncodeTable& encode) {
  json tensors = json::array();
  int64_t end = kPage;
  const EncodedTable table = encode([&](at::IntArrayRef shape, at::ScalarType type) {
    const int64_t begin = end;
    tensors.push_back(json({{"begin", begin}, {"shape", shape.vec()}, {"type", static_cast<int>(type)}}));
    end += c10::multiply_integers(shape) * static_cast<int64_t>(at::elementSize(type));
    end = (end + kPage - 1) / kPage * kPage;
    try {
      memory.reserve(end);
      return tensor_in(memory, begin, shape, type, PROT_READ | PROT_WRITE);
    } catch (const Error&) {
      throw NoPlace();
    }
  });
  const json about = {
      {"tensors", tensors}, {"format", table_format_text(table.format)}, {"warnings", table.warnings}};
  const std::string description = about.dump(-1, ' ', false, json::error_handler_t::replace);
  memory.reserve(end + std::ssize(description));
  write_text(memory, description, end);
  const json header = {{"root", source.size() < 1000 ? source : "a table"},
                       {"images", table.train.size()},
                       {"shape", json::array({table.format.width()})},
                       {"description", json::array({end, description.size()})}};
  write_text(memory, header.dump(-1, ' ', false, json::error_handler_t::replace), 0);
}

json read_json(const OpenFile& memory, int64_t begin, int64_t bytes) {
  std::string text(static_cast<size_t>(bytes), '\0');
  memory.check(::pread(memory.descriptor(), text.data(), text.size(), begin) == bytes, "cannot be read");
  return json::parse(text.c_str());
}

EncodedTable read_table(const OpenFile& memory) {
  const auto place = read_json(memory, 0, kPage).at("description").get<std::vector<int64_t>>();
  const json description = read_json(memory, place.at(0), place.at(1));
  std::vector<at::Tensor> tensors;
  for (const json& one : description.at("tensors"))
    tensors.push_back(tensor_in(memory, one.at("begin").get<int64_t>(),
                                one.at("shape").get<std::vector<int64_t>>(),
                                static_cast<at::ScalarType>(one.at("type").get<int>()), PROT_READ));
  EncodedTable table{.format = parse_table_format(description.at("format").get<std::string>()),
                     .train = {tensors.at(0), tensors.at(1)},
                     .parts = tensors.at(2)};
  if (tensors.size() > 3) table.test = {tensors.at(3), tensors.at(4)};
  description.at("warnings").get_to(table.warnings);
  return table;
}

}  // namespace

EncodedTable shared_table(const std::string& key, const std::string& source, const EncodeTable& encode) {
  bool is_fault = false;  // of the table, and not of the place where others find it
  const auto encode_or_note = [&](const MakeTensor& make_tensor) {
    try {
      return encode(make_tensor);
    } catch (const std::exception&) {
      is_fault = true;
      throw;
    }
  };
  const auto fill = [&](const OpenFile& memory) {
    write_table(memory, source, encode_or_note);
    ::malloc_trim(0);  // reading takes several times what is left
  };
  try {
    return read_table(shared_memory(key, fill));
  } catch (const NoPlace&) {
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception&) {  // also of a description that is damaged
    if (is_fault) throw;
  }
  return encode({});
}

}  // namespace dtrain
