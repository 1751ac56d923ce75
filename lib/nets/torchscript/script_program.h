// A model that is a user's TorchScript module: `model.kind: torchscript`.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "models/model.h"
#include "models/variables.h"
#include "torchscript/script_file.h"

namespace dtrain {

struct ScriptSource {
  std::string name;                   // of the file, for messages
  std::string sha256;                 // of its bytes
  std::function<std::string()> read;  // the bytes; throws Error if they have another SHA-256
  std::optional<std::string> output;  // ModelSpec::output
  std::string needs;                  // what needs so many outputs: "10 classes need"

  Script load(at::ScalarType dtype) const;  // read_script() of the file, with its name in errors
};

class ScriptProgram final : public ModelProgram {
 public:
  explicit ScriptProgram(ScriptSource source) : source_(std::move(source)) {}

  std::shared_ptr<Model> build(const LayerPlan& plan, at::ScalarType dtype, uint64_t seed) const override;
  const ScriptSource& source() const { return source_; }

  // The module with these variables, which are those of a model of build(), in evaluation mode.
  torch::jit::Module with_variables(const LayerPlan& plan, at::ScalarType dtype,
                                    const Variables& variables) const;

  // The modules within it whose buffers a pass in training changes.
  std::set<std::string> moving;

 private:
  ScriptSource source_;
};

// The expression in TorchScript of the tensor in `value`, a text, which the module returns. Throws
// Error(kUsage) if the type that its forward declares does not say where the tensor is.
std::string script_output(const std::string& value, const torch::jit::Module& module,
                          const ScriptSource& source);

// Reads the module and tries it on batches of [n, input_shape], in evaluation and in training mode: what it
// gives must be [n, outputs]. The problems are those of the file.
LayerPlan place_script(const ScriptSource& source, at::ScalarType dtype, const Shape& input_shape,
                       int64_t outputs);

}  // namespace dtrain
