#pragma once

namespace dtrain {

// The copy of a model's program (`model.kind: torchscript`), in the folder of a run and of a checkpoint.
constexpr const char* kProgramFile = "program.pt";

}  // namespace dtrain
