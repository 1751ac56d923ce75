#include "data/number_source.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <string>
#include <utility>

#include "core/error.h"

namespace dtrain {
namespace {

void require_numbers(bool holds, const char* what) {
  if (!holds) throw Error(ExitCode::kBug, std::string("examples of numbers: ") + what);
}

bool is_float_or_double(const at::Tensor& tensor) {
  return tensor.scalar_type() == at::kFloat || tensor.scalar_type() == at::kDouble;
}

// Plain loops, as in memory_source.cpp.
template <typename From, typename To>
void gather_as(const at::Tensor& stored, std::span<const int64_t> rows, at::Tensor& out) {
  const int64_t numbers = stored.numel() / std::max<int64_t>(1, stored.size(0));
  const From* source = stored.const_data_ptr<From>();
  To* target = out.mutable_data_ptr<To>();
  for (const int64_t row : rows) {
    std::transform(source + row * numbers, source + (row + 1) * numbers, target,
                   [](From number) { return static_cast<To>(number); });
    target += numbers;
  }
}

// Copies the rows of `stored` into `out`, in its type.
void gather(const at::Tensor& stored, std::span<const int64_t> rows, at::Tensor& out) {
  if (rows.empty()) return;
  if (stored.scalar_type() == at::kLong) {
    gather_as<int64_t, int64_t>(stored, rows, out);
  } else if (stored.scalar_type() == at::kFloat) {
    out.scalar_type() == at::kFloat ? gather_as<float, float>(stored, rows, out)
                                    : gather_as<float, double>(stored, rows, out);
  } else {
    out.scalar_type() == at::kFloat ? gather_as<double, float>(stored, rows, out)
                                    : gather_as<double, double>(stored, rows, out);
  }
}

class NumberSource : public ExampleSource {
 public:
  NumberSource(StoredExamples all, std::string file) : all_(std::move(all)), file_(std::move(file)) {
    require_numbers(all_.inputs.defined() && all_.targets.defined(), "no inputs or no targets");
    require_numbers(is_float_or_double(all_.inputs) && all_.inputs.dim() >= 2 && all_.inputs.is_contiguous(),
                    "inputs must be contiguous float32 or float64 [n, ...]");
    const bool classes = all_.targets.scalar_type() == at::kLong && all_.targets.dim() == 1;
    const bool numbers = is_float_or_double(all_.targets) && all_.targets.dim() == 2;
    require_numbers((classes || numbers) && all_.targets.is_contiguous(),
                    "targets must be contiguous int64 [n], or float32 or float64 [n, targets]");
    require_numbers(all_.inputs.size(0) == all_.targets.size(0), "as many inputs as targets are needed");
  }

  int64_t size() const override { return all_.size(); }
  at::IntArrayRef shape() const override { return all_.inputs.sizes().slice(1); }
  bool has_pixels() const override { return false; }
  int64_t targets() const override { return all_.targets.dim() == 1 ? 0 : all_.targets.size(1); }
  at::Tensor classes() const override { return targets() == 0 ? all_.targets : at::Tensor(); }
  std::optional<StoredExamples> in_memory() const override { return all_; }

  void read(std::span<const int64_t> indices, const at::Tensor&, ExampleSlot& slot) const override {
    gather(all_.inputs, indices, slot.inputs);
    gather(all_.targets, indices, slot.targets);
  }

  std::vector<ExampleName> names_of(std::span<const int64_t> indices) const override {
    if (file_.empty()) return ExampleSource::names_of(indices);
    std::vector<ExampleName> names;
    for (const int64_t index : indices) names.push_back({.file = file_, .row = index + 1});
    return names;
  }

 private:
  const StoredExamples all_;
  const std::string file_;
};

}  // namespace

ExampleSourcePtr make_number_source(StoredExamples examples, std::string file) {
  return std::make_shared<NumberSource>(std::move(examples), std::move(file));
}

}  // namespace dtrain
