// A model, its loss and its optimizer as StableHLO (https://openxla.org/stablehlo), the language that
// compilers for TPUs and XLA read: the text of one training step, and of the forward pass.
#pragma once

#include <c10/core/ScalarType.h>

#include <cstdint>
#include <string>
#include <vector>

#include "models/layers.h"
#include "spec/normalisation.h"
#include "spec/spec.h"

namespace dtrain {

// One device's part of an argument or a result.
struct TensorType {
  std::string name;
  at::ScalarType type = at::kFloat;
  Shape shape;  // whole, with the rows; {}: a number
};

// A module in the MLIR text form. Its function @main takes and gives tensors in these orders. A result with
// the name of an argument takes over its memory (tf.aliasing_output): the argument cannot be used afterwards.
struct DeviceProgram {
  std::string text;
  std::vector<TensorType> arguments;
  std::vector<TensorType> results;
};

struct ProgramForm {
  int64_t devices = 1;               // replicas, each with a copy of the program
  int64_t rows = 1;                  // of each device; a smaller batch is filled up with rows of weight 0
  at::ScalarType type = at::kFloat;  // of the model: kFloat or kDouble
  bool pixels = false;               // inputs are uint8, normalised in the program; else of the model's type
  Normalisation normalisation = {};  // of pixels
  int64_t resident = 0;              // examples that a device keeps, of which steps take rows; 0: none
  int64_t targets = 0;               // numbers to predict of each example; 0: its class
  bool mixed = false;                // arguments other_targets and shares, too (data.augment: mixup, cutmix)
  std::vector<bool> trained = {};    // by layer, as TrainedLayers::each; empty: all
  int64_t steps = 1;                 // that one call makes, one after another
  bool whole_calls = false;          // a call makes exactly as many; else up to as many ("count")
  bool on_gpus = false;              // written with what compilers for GPUs are good at
  bool rounds_products = false;      // of float32 numbers, as the device is fastest with (TensorFloat-32)
};

// Whether calls that are full have a program of their own (`whole_calls`): a GPU that goes on by itself from
// step to step needs a loop whose length is in the program.
inline bool has_whole_calls(const ProgramForm& form) { return form.on_gpus && form.steps > 1; }

// One training step, or the steps of a call. Its arguments:
// - each variable of the model by its name, in the order of named_variables() (models/variables.h),
// - each memory of the optimizer, "optimizer.MEMORY.PARAMETER" as in checkpoints, memory by memory, of the
//   parameters that are trained,
// - "step" (the updates made, with this one), "learning_rate" and "examples" (of the global step): float32
//   numbers; "seed": uint32 [2], another one in each step: what dropout draws depends on it and on the
//   replica,
// - "inputs" [rows, ...]; "targets": int32 [rows], the classes, or [rows, targets] of the model's type;
//   "weights": float32 [rows], 1, or 0 for rows that fill up; if mixed, "other_targets": int32 [rows], and
//   "shares": float32 [rows], the share that `targets` has of an example.
//   With resident examples instead of "inputs" and "targets": "stored_inputs" [resident, ...] and
//   "stored_targets" [resident] or [resident, targets], the same in each step, and "rows": int32 [rows],
//   which of them are the batch,
// - with several steps in a call, "count": int32, how many of `steps` there are, unless a call makes all of
//   them. All but the variables, the memories and what is stored then begins with a dimension of `steps`,
//   whose first `count` rows are used.
// Its results: the variables and memories that change, after the update, under their names and in the order
// of the arguments, and "sums": float32 [names], as ObjectiveInfo::sum_names() has them, over all devices;
// with several steps in a call [steps, names], a row for each. Those of the targets alone, which are the last
// ones, are not among them: squares of targets need more than 32 bits, and whoever has the targets has them.
//
// Device r of n computes what replica r of n of the strategy mirrored does: an example's loss is divided by
// "examples", gradients are summed over the devices, batch_norm uses the device's own rows (or, with
// train.sync_batch_norm, those of all). Rows that fill up may have any finite inputs, and targets 0.
DeviceProgram lower_training_step(const LayerPlan& plan, const TrainSpec& train, const ProgramForm& form);

// The forward pass in evaluation mode: of the variables and "inputs", with the result "outputs" [rows, ...].
DeviceProgram lower_forward(const LayerPlan& plan, const ProgramForm& form);

// Which part of this model or training has no program: "" if all have, else words for people, such as
// "train.precision: bf16_mixed".
std::string reason_not_to_lower(const LayerPlan& plan, const TrainSpec& train);

}  // namespace dtrain
