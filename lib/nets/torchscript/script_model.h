// The model of a TorchScript module. Its variables have PyTorch's names.
#pragma once

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "models/model.h"
#include "torchscript/script_program.h"

namespace dtrain {

class ScriptModel final : public Model {
 public:
  // `placed`: the parts of the script that have variables, and the whole. `moving`: as ScriptProgram::moving.
  ScriptModel(std::vector<PlacedLayer> placed, Script script, const ScriptSource& source,
              std::set<std::string> moving);

  // A batch without examples is not given to the module, many of which would fail.
  at::Tensor forward(at::Tensor input) override;
  void train(bool on) override;
  void train_layers(const TrainedLayers& layers) override;
  std::vector<std::pair<std::string, at::Tensor>> moving_buffers() const override;
  const std::vector<PlacedLayer>& layers() const override { return placed_; }

  // It is never computed from features, and has no norms that are ours.
  void synchronise(const GatherRows& gather) override;
  const GatherRows& gathering() const override { return no_gathering_; }
  at::Tensor features(at::Tensor input, int64_t layers) override;
  int64_t first_layer() const override { return 0; }

  const torch::jit::Module& module() const { return script_.module; }

 private:
  struct Part {
    ScriptPart script;
    std::vector<at::Tensor> learning;  // parameters that the file says are trained
    bool is_trained = true;
  };

  at::Tensor computed(const at::Tensor& input);
  void take_back_buffers();

  std::vector<PlacedLayer> placed_;
  Script script_;
  ScriptSource source_;
  std::set<std::string> moving_;
  std::vector<Part> parts_;  // as placed_
  GatherRows no_gathering_;
};

// What of a script is placed: its parts with variables, and the whole.
std::vector<ScriptPart> placed_parts(const Script& script);

}  // namespace dtrain
