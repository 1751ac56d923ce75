// The model of a TorchScript module.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "torchscript/script_program.h"

namespace dtrain {

// `placed`: as placed_parts(). `moving`: as ScriptProgram::moving.
std::shared_ptr<Model> make_script_model(std::vector<PlacedLayer> placed, Script script,
                                         const ScriptSource& source, std::set<std::string> moving);

}  // namespace dtrain
