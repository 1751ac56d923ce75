// Files that are modules, and files that are none.
#include "torchscript/script_file.h"

#include <caffe2/serialize/inline_container.h>

#include "catch.h"
#include "core/error.h"
#include "script_modules.h"

namespace dtrain {
namespace {

std::string refusal(const std::string& bytes) {
  try {
    read_script(bytes, at::kFloat);
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::kUsage);
    return error.what();
  }
  return "";
}

std::vector<std::string> names_of(const Script& script) {
  std::vector<std::string> names;
  for (const ScriptPart& part : script.parts) {
    for (const PartVariable& variable : part.variables)
      names.push_back((part.name.empty() ? "" : part.name + ".") + variable.name);
  }
  return names;
}

TEST_CASE("a module's variables have PyTorch's names, and the type that is asked for") {
  const Script script = read_script(script_bytes(script_network()), at::kDouble);
  CHECK(names_of(script) == std::vector<std::string>{"first.weight", "first.bias", "norm.weight", "norm.bias",
                                                     "norm.running_mean", "norm.running_var",
                                                     "norm.num_batches_tracked", "last.weight", "last.bias"});
  CHECK(script.parts.back().name.empty());
  CHECK(script.parts[0].variables[0].tensor.scalar_type() == at::kDouble);
  CHECK(script.parts[0].variables[0].is_parameter);
  CHECK(script.parts[0].variables[0].tensor.requires_grad());
  CHECK(script.parts[1].variables[4].tensor.scalar_type() == at::kLong);
  CHECK_FALSE(script.parts[1].variables[4].is_parameter);
}

TEST_CASE("what two modules share is one variable, in any type") {
  const ScriptUnit unit = new_unit();
  torch::jit::Module network = script_module(unit);
  torch::jit::Module one = script_linear(unit, 4, 4), other = script_linear(unit, 4, 4);
  other.setattr("weight", one.attr("weight"));
  network.register_module("one", one);
  network.register_module("other", other);
  network.register_module("again", one);
  network.define(
      "def forward(self, x: Tensor) -> Tensor:\n  return self.other.forward(self.one.forward(x))\n");
  const Script script = read_script(script_bytes(network), GENERATE(at::kFloat, at::kDouble));
  CHECK(names_of(script) == std::vector<std::string>{"one.weight", "one.bias", "other.bias"});
  const auto read = [&](const char* part) {
    return script.module.attr(part).toModule().attr("weight").toTensor();
  };
  CHECK(read("one").is_same(read("other")));
  CHECK(read("one").is_same(script.parts[0].variables[0].tensor));
}

TEST_CASE("training and evaluation reach every module") {
  Script script = read_script(script_bytes(script_network()), at::kFloat);
  for (const bool on : {false, true}) {
    for (ScriptPart& part : script.parts) part.set_training(on);
    CHECK(script.module.is_training() == on);
    CHECK(script.module.attr("norm").toModule().is_training() == on);
  }
}

TEST_CASE("files that are no modules are refused, whatever is in them") {
  const std::string good = script_bytes(script_network());
  REQUIRE(refusal(good).empty());
  const std::string none = "is no TorchScript module that this LibTorch reads: ";
  CHECK_THAT(refusal(""), ContainsSubstring(none));
  CHECK_THAT(refusal("PK\x03\x04"), ContainsSubstring(none));
  CHECK_THAT(refusal(std::string(5000, '\x7f')), ContainsSubstring(none));
  for (size_t part = 1; part < 16; ++part) {
    INFO(part);
    CHECK_FALSE(refusal(good.substr(0, good.size() * part / 16)).empty());
  }
}

// An archive as PyTorch writes them.
std::string archive(const std::vector<std::string>& records, uint64_t version,
                    const std::string& content = "(.") {
  std::string bytes;
  caffe2::serialize::PyTorchStreamWriter writer([&bytes](const void* data, size_t count) {
    bytes.append(static_cast<const char*>(data), count);
    return count;
  });
  writer.setMinVersion(version);
  for (const std::string& record : records) writer.writeRecord(record, content.data(), content.size());
  writer.writeEndOfFile();
  return bytes;
}

TEST_CASE("archives that are no modules, or of another version, are refused") {
  CHECK_THAT(
      refusal(archive({"data.pkl"}, 3)),
      ContainsSubstring("was written by torch.save and contains no module: write it with torch.jit.save"));
  CHECK_THAT(refusal(archive({"data.pkl", "constants.pkl"}, 3)),
             ContainsSubstring("is no TorchScript module"));
  CHECK_THAT(refusal(archive({"data.pkl", "constants.pkl"}, 1000)), ContainsSubstring("version 1000"));
}

TEST_CASE("a damaged file is refused or read, and nothing else happens") {
  const std::string good = script_bytes(script_network());
  uint64_t state = 1;
  for (int i = 0; i < 300; ++i) {
    std::string bytes = good;
    for (int k = 0; k < 1 + i % 4; ++k) {
      state = state * 6364136223846793005U + 1442695040888963407U;
      bytes[(state >> 33U) % bytes.size()] = static_cast<char>(state >> 25U);
    }
    INFO(i);
    refusal(bytes);
  }
}

TEST_CASE("a record that claims to be larger than the file can hold is not unpacked") {
  std::string bytes = script_bytes(script_network());
  // The size of the first record, in the directory at the end, as it would be without compression.
  const size_t entry = bytes.find("PK\x01\x02");
  REQUIRE(entry != std::string::npos);
  for (size_t i = 0; i < 3; ++i) bytes[entry + 24 + i] = '\xff';
  bytes[entry + 27] = '\x7f';
  CHECK_FALSE(refusal(bytes).empty());
}

TEST_CASE("a module that takes no batch is refused") {
  const auto with = [](const std::string& source) {
    torch::jit::Module module = script_linear(new_unit(), 2, 2);
    torch::jit::Module other = script_module(new_unit());
    other.register_module("linear", module);
    if (!source.empty()) other.define(source);
    return refusal(script_bytes(other));
  };
  CHECK(with("") == "its module has no method forward");
  CHECK(with("def forward(self):\n  return 1\n") ==
        "its forward takes 0 arguments, and a model here takes one, the batch");
  CHECK(with("def forward(self, x: Tensor, y: Tensor):\n  return x + y\n") ==
        "its forward takes 2 arguments, and a model here takes one, the batch");
  CHECK(with("def forward(self, x: int):\n  return x\n") == "its forward takes int and no tensor");
  CHECK(with("def forward(self, x: Tensor, scale: int = 2):\n  return x * scale\n").empty());
}

TEST_CASE("expressions that would exhaust the compiler's stack are refused, and long ones are not") {
  const auto problem = [](const std::string& begin, const std::string& part, int times) {
    std::string source = "def forward(self, x: Tensor) -> Tensor:\n  return " + begin;
    for (int i = 0; i < times; ++i) source += part;
    return refusal(archive({"data.pkl", "constants.pkl", "code/__torch__.py"}, 3, source + "x\n"));
  };
  const std::string deep = "its 'code/__torch__.py' has expressions that are nested too deeply";
  for (const char* part : {"(", "torch.neg(", "-", "x + ", "not ", "[", "\n ("})
    CHECK(problem("", part, 1001) == deep);
  CHECK(problem("[", "-x + torch.neg(x), ", 5000) != deep);
  CHECK(problem("", "x + 1\n  y = ", 5000) != deep);
  // Brackets in texts and comments do not count, and those after them do.
  for (const char* words : {"\"(\"", "'\\'('", "'''\n('''", "1  # '("}) {
    const std::string begin = words + std::string("\n  y = ");
    CHECK(problem(begin, "x + 1\n  y = ", 5000) != deep);
    CHECK(problem(begin, "(", 1001) == deep);
  }
}

TEST_CASE("what a module prints goes to standard error, without signs that a terminal obeys") {
  Script script = read_script(script_bytes(script_printing("a\\033[2J")), at::kFloat);
  std::ostringstream out, errors;
  std::streambuf* const before_out = std::cout.rdbuf(out.rdbuf());
  std::streambuf* const before_errors = std::cerr.rdbuf(errors.rdbuf());
  script.module.forward({at::ones({2, 1, 4, 4})});
  std::cout.rdbuf(before_out);
  std::cerr.rdbuf(before_errors);
  CHECK(out.str().empty());
  CHECK(errors.str() == "a\\x1b[2J\n");
}

TEST_CASE("an error of a module names the lines of its source and the shapes") {
  Script script = read_script(script_bytes(script_network()), at::kFloat);
  std::string text;
  try {
    script.module.forward({at::ones({2, 1, 5, 5})});
  } catch (const std::exception& error) {
    text = script_error(error.what());
  }
  CHECK_THAT(text, ContainsSubstring("mat1 and mat2 shapes cannot be multiplied (2x25 and 16x6)\n  File \""));
  CHECK_THAT(text, ContainsSubstring("in forward: "));
  CHECK_THAT(text, ContainsSubstring("torch.linear(x, self.weight, self.bias)"));
}

}  // namespace
}  // namespace dtrain
