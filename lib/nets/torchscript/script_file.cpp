#include "torchscript/script_file.h"

#include <ATen/ATen.h>
#include <caffe2/serialize/inline_container.h>
#include <caffe2/serialize/read_adapter_interface.h>
#include <fmt/format.h>
#include <torch/csrc/jit/passes/autocast.h>
#include <torch/csrc/jit/runtime/graph_executor.h>
#include <torch/csrc/jit/runtime/print_handler.h>
#include <torch/csrc/jit/serialization/import.h>

#include <algorithm>
#include <cstring>
#include <iostream>
#include <map>
#include <set>
#include <string_view>
#include <tuple>

#include "core/error.h"
#include "core/text.h"

namespace dtrain {
namespace {

using torch::jit::Module;

// What the compressed source of a large module may be; its tensors are not compressed.
constexpr size_t kMostUnpacked = size_t{256} << 20;
constexpr size_t kMostLines = 6;  // of a module's source in a message
constexpr size_t kMostText = 600;

[[noreturn]] void refuse(const std::string& why) { throw Error(ExitCode::kUsage, why); }

class BytesReader final : public caffe2::serialize::ReadAdapterInterface {
 public:
  explicit BytesReader(const std::string& bytes) : bytes_(bytes) {}
  size_t size() const override { return bytes_.size(); }
  size_t read(uint64_t begin, void* to, size_t count, const char* /*what*/) const override {
    if (begin >= bytes_.size()) return 0;
    count = std::min(count, bytes_.size() - static_cast<size_t>(begin));
    std::memcpy(to, bytes_.data() + begin, count);
    return count;
  }

 private:
  const std::string& bytes_;
};

// For all modules of this process. The executor without profiles has no fusers, and computes a module's
// operations as they are written; autocast is then that of each operation, as in our own models. What a
// module prints goes to standard error: standard output has what a command gives.
bool compute_as_written() {
  torch::jit::getExecutorMode() = true;
  torch::jit::getProfilingMode() = false;
  torch::jit::setAutocastMode(false);
  torch::jit::setPrintHandler([](const std::string& text) { std::cerr << printable_lines(text); });
  return true;
}

// Where the comment or the text in quotes that begins here ends, as LibTorch's lexer reads it: `begin` if
// none does, npos if it has no end.
size_t end_of_words(std::string_view source, size_t begin) {
  const std::string_view rest = source.substr(begin);
  const char sign = rest.front();
  if (sign == '#') return rest.starts_with("# type:") ? begin : source.find('\n', begin);
  if (sign != '"' && sign != '\'') return begin;
  const std::string_view quotes = rest.substr(0, rest.starts_with(std::string(3, sign)) ? 3 : 1);
  size_t end = quotes.size();
  while (end < rest.size() && !rest.substr(end).starts_with(quotes)) {
    if (rest[end] == '\n' && quotes.size() == 1) return std::string_view::npos;
    end += rest[end] == '\\' ? 2 : 1;
  }
  return end < rest.size() ? begin + end + quotes.size() : std::string_view::npos;
}

// Whether brackets, operators or blocks lie within each other so often that LibTorch's compiler, which calls
// itself for each, may run out of stack. Networks of torchvision have some 50 at most.
bool nests_deeply(std::string_view source) {
  constexpr size_t kMostNested = 1000;
  std::vector<size_t> operators = {0};  // of each open bracket, since its last comma
  size_t nested = 0;
  for (size_t at = 0; at < source.size(); ++at) {
    const char sign = source[at];
    if (const size_t end = end_of_words(source, at); end != at) {
      at = end - 1;
    } else if (std::strchr("([{", sign) != nullptr) {
      operators.push_back(1);
      ++nested;
    } else if (std::strchr(")]}", sign) != nullptr && operators.size() > 1) {
      nested -= operators.back();
      operators.pop_back();
    } else if (sign == ',' || (sign == '\n' && operators.size() == 1)) {
      const size_t bracket = operators.size() > 1 ? 1 : 0;
      nested -= std::exchange(operators.back(), bracket) - bracket;
    } else if (std::strchr(" +-*/%~|&^<>=.", sign) != nullptr) {
      ++operators.back();
      ++nested;
    }
    if (nested > kMostNested) return true;
  }
  return false;
}

// Before anything is unpacked.
void check_archive(const std::shared_ptr<BytesReader>& bytes) {
  caffe2::serialize::PyTorchStreamReader archive(bytes);
  if (!archive.hasRecord("constants.pkl"))
    refuse(
        "was written by torch.save and contains no module: write it with "
        "torch.jit.save(torch.jit.script(model), file)");
  size_t left = bytes->size() + kMostUnpacked;
  for (const std::string& record : archive.getAllRecords()) {
    const size_t size = archive.getRecordSize(record);
    if (size > left)
      refuse(fmt::format("its '{}' claims {} bytes, more than a file of {} can have", printable(record, 100),
                         size, bytes->size()));
    left -= size;
    if (!record.starts_with("code/") || !record.ends_with(".py")) continue;
    const auto [source, bytes_of_source] = archive.getRecord(record);
    if (nests_deeply({static_cast<const char*>(source.get()), bytes_of_source}))
      refuse(fmt::format("its '{}' has expressions that are nested too deeply", printable(record, 100)));
  }
}

// A tensor that two modules share is one variable, also where each has read it by itself.
using Place = std::tuple<const void*, int64_t, std::vector<int64_t>, std::vector<int64_t>>;

Place place_of(const at::Tensor& tensor) {
  return {tensor.storage().data(), tensor.storage_offset(), tensor.sizes().vec(), tensor.strides().vec()};
}

class PartFinder {
 public:
  PartFinder(Script& script, at::ScalarType dtype, size_t most_bytes)
      : script_(script), dtype_(dtype), left_(most_bytes) {}

  void find(const std::string& name, Module module) {
    if (!seen_.insert(module._ivalue().get()).second) return;
    const auto& type = *module._ivalue()->type();
    ScriptPart part{{name, {}}, module};
    for (size_t i = 0; i < type.numAttributes(); ++i) {
      const std::string& attribute = type.getAttributeName(i);
      const c10::IValue value = module._ivalue()->getSlot(i);
      if (type.getAttribute(i)->is_module() && value.isObject())
        find(name.empty() ? attribute : name + "." + attribute, value.toModule());
      else if (value.isTensor() && value.toTensor().defined())
        add(part, attribute, value.toTensor(), type.is_parameter(i));
    }
    script_.parts.push_back(std::move(part));
  }

 private:
  void add(ScriptPart& part, const std::string& name, at::Tensor tensor, bool is_parameter) {
    if (!tensor.is_cpu() || tensor.layout() != at::kStrided || tensor.is_quantized() || tensor.is_complex())
      refuse(fmt::format("its variable '{}.{}' is of a kind that is not trained here ({})", part.name, name,
                         tensor.toString()));
    if (!seen_.insert(tensor.unsafeGetTensorImpl()).second) return;
    const auto [shared, is_new] = variables_.emplace(place_of(tensor), tensor);
    if (!is_new && tensor.numel() > 0) return part.module.setattr(name, shared->second);
    if (static_cast<size_t>(tensor.numel()) > left_ / tensor.element_size())
      refuse("its variables claim more numbers than it has");
    const size_t bytes = tensor.nbytes();
    left_ -= bytes;
    const at::ScalarType type = tensor.is_floating_point() ? dtype_ : tensor.scalar_type();
    const bool is_alone = tensor.is_contiguous() && tensor.storage().nbytes() == bytes;
    if (type != tensor.scalar_type() || !is_alone) {
      replaced_.push_back(tensor.detach());  // so that no other gets its place
      tensor.set_data(
          tensor.detach().to(type, /*non_blocking=*/false, /*copy=*/true, at::MemoryFormat::Contiguous));
    }
    part.variables.push_back({name, tensor, is_parameter, is_parameter && tensor.requires_grad()});
  }

  Script& script_;
  at::ScalarType dtype_;
  size_t left_;
  std::set<const void*> seen_;  // modules and tensors
  std::map<Place, at::Tensor> variables_;
  std::vector<at::Tensor> replaced_;
};

// The forward method takes a batch and nothing else.
void check_forward(const Module& module) {
  const auto forward = module.find_method("forward");
  if (!forward) refuse("its module has no method forward");
  const std::vector<c10::Argument>& all = forward->function().getSchema().arguments();
  const auto required = std::count_if(
      all.begin() + 1, all.end(), [](const c10::Argument& one) { return !one.default_value().has_value(); });
  if (all.size() < 2 || required > 1)
    refuse(fmt::format("its forward takes {}, and a model here takes one, the batch",
                       counted(static_cast<int64_t>(all.size()) - 1, "argument")));
  if (!at::TensorType::get()->isSubtypeOf(*all[1].type()))
    refuse(fmt::format("its forward takes {} and no tensor", all[1].type()->repr_str()));
}

}  // namespace

void ScriptPart::set_training(bool on) {
  if (module.hasattr("training") && module.attr("training").isBool()) module.setattr("training", on);
}

Script read_script(const std::string& bytes, at::ScalarType dtype) {
  [[maybe_unused]] static const bool once = compute_as_written();
  try {
    const auto reader = std::make_shared<BytesReader>(bytes);
    check_archive(reader);
    Script script{torch::jit::load(reader, at::kCPU), {}};
    check_forward(script.module);
    PartFinder(script, dtype, bytes.size() + kMostUnpacked).find("", script.module);
    return script;
  } catch (const Error&) {
    throw;
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& error) {
    refuse("is no TorchScript module that this LibTorch reads: " + script_error(error.what()));
  }
}

std::string script_error(const std::string& what) {
  // After the trace: "RuntimeError: mat1 and mat2 ...". Of a file that cannot be read, the first line.
  const std::string kind = "Error: ";
  const size_t after = what.rfind(kind);
  const std::string all = trimmed(after == std::string::npos ? what : what.substr(after + kind.size()));
  std::string text = printable(all.substr(0, all.find('\n')), kMostText);

  std::vector<std::string> places;
  std::string place, before;
  for (const std::string& line : split_lines(what)) {
    // The source that was saved comes first, and then, if it was kept, the one that the user wrote.
    if (line.starts_with("Traceback of TorchScript")) places.clear();
    if (line.starts_with("  File \"")) place = trimmed(line);
    if (line.find("<--- HERE") != std::string::npos && !place.empty())
      places.push_back(fmt::format("{}: {}", std::exchange(place, ""), trimmed(before)));
    before = line;
  }
  for (size_t i = places.size() - std::min(places.size(), kMostLines); i < places.size(); ++i)
    text += "\n  " + printable(places[i], kMostText);
  return text;
}

}  // namespace dtrain
