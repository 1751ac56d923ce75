#include "objective/objective.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>

#include "core/error.h"

namespace dtrain {

namespace {

std::vector<const LossKind*>& loss_table() {
  static std::vector<const LossKind*> all = {
      &kCrossEntropy, &kBinaryCrossEntropy, &kMeanSquaredError, &kMeanAbsoluteError, &kHuber, &kLogCosh};
  return all;
}

}  // namespace

void add_loss_kind(const LossKind* kind) { loss_table().push_back(kind); }

const LossKind* find_loss_kind(const std::string& name) {
  for (const LossKind* kind : loss_table()) {
    if (kind->name == name) return kind;
  }
  return nullptr;
}

std::unique_ptr<Objective> make_objective(const TrainSpec& train) {
  const LossKind* const kind = find_loss_kind(train.loss.kind);
  if (kind == nullptr) throw Error(ExitCode::kBug, "no loss '" + train.loss.kind + "'");
  return kind->make(train);
}

at::Tensor middle_of(const at::Tensor& pictures, double part) {
  const int64_t height = pictures.size(2), width = pictures.size(3);
  const auto kept = [part](int64_t pixels) {
    return std::max<int64_t>(1, std::llround(part * static_cast<double>(pixels)));
  };
  const int64_t rows = kept(height), columns = kept(width);
  const at::Tensor middle =
      pictures.narrow(2, (height - rows) / 2, rows).narrow(3, (width - columns) / 2, columns);
  const bool stored = pictures.scalar_type() == at::kByte;  // to be normalised on a device
  const at::Tensor scaled = at::upsample_bilinear2d(stored ? middle.to(at::kFloat) : middle, {height, width},
                                                    /*align_corners=*/false);
  return stored ? scaled.round_().to(at::kByte) : scaled;
}

}  // namespace dtrain
