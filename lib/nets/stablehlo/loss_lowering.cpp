#include "stablehlo/loss_lowering.h"

#include <fmt/format.h>

#include "core/error.h"
#include "objective/loss_operations.h"

namespace dtrain {

LoweredLoss lower_loss(const TrainSpec& train, const LossInputs& inputs) {
  TextBuilder& builder = *inputs.outputs.builder;
  const LossKind* const kind = find_loss_kind(train.loss.kind);
  if (kind == nullptr || kind->lower == nullptr)
    throw Error(ExitCode::kBug, "the loss {} is not lowered", train.loss.kind);
  const auto loss = kind->lower(train, inputs.outputs);
  RowLosses rows = loss->rows(inputs.targets);
  if (inputs.other_targets) {
    const RowLosses others = loss->rows(inputs.other_targets);
    const Value rest = 1 - inputs.shares;
    const Value loss_share = others.losses * rest;
    rows.losses = rows.losses * inputs.shares + loss_share;
    const Value gradient_share = others.gradient * along_rows(rest, rows.gradient);
    rows.gradient = rows.gradient * along_rows(inputs.shares, rows.gradient) + gradient_share;
  }
  // Chosen, not multiplied: what fills up adds nothing even where its loss is not finite.
  const Value counts = builder.compare("GT", inputs.weights, builder.like(inputs.weights, 0));
  const Value nothing = builder.like(inputs.weights, 0);
  std::vector<Value> parts = {rows.losses, inputs.weights};
  for (const Value& part : loss->sums(inputs.targets)) parts.push_back(part);
  std::vector<Value> summed;
  for (const Value& part : parts) {
    if (part.rank() == 1) {
      summed.push_back(builder.reshape(builder.select(counts, part, nothing), {1, part.size(0)}));
    } else {
      const Value none = builder.like(part, 0);
      summed.push_back(builder.transpose(builder.select(along_rows(counts, part), part, none), {1, 0}));
    }
  }
  Value all = builder.concatenate(summed, 0);
  // Else the few threads that sum up compute each row's part, too.
  if (inputs.on_gpus) all = builder.computed(all);
  return {rows.gradient * along_rows(inputs.weights / inputs.examples, rows.gradient), builder.sum(all, {1})};
}

}  // namespace dtrain
