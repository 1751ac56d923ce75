#include "data/example_source.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/cache_lines.h"
#include "core/error.h"
#include "data/pixel_values.h"

namespace dtrain {
namespace {

void require_sound(bool holds, const char* what) {
  if (!holds) throw Error(ExitCode::kBug, std::string("examples in memory: ") + what);
}

bool is_float_or_double(const at::Tensor& tensor) {
  return tensor.scalar_type() == at::kFloat || tensor.scalar_type() == at::kDouble;
}

constexpr size_t kAhead = 2;  // rows

// The processor cannot predict the addresses of rows in random order: without prefetching, half the time of a
// batch is spent waiting for memory.
void fetch_ahead(const uint8_t* data, int64_t bytes) {
  for (int64_t offset = 0; offset < bytes; offset += static_cast<int64_t>(kCacheLine))
    __builtin_prefetch(data + offset);
}

// Not the stride, which says nothing where there is one row.
int64_t row_size(const at::Tensor& rows) { return rows.numel() / std::max<int64_t>(1, rows.size(0)); }

void normalise_rows(const at::Tensor& images, std::span<const int64_t> rows, const at::Tensor& values,
                    const at::Tensor& out) {
  const int64_t pixels = row_size(images);
  const uint8_t* const source = images.const_data_ptr<uint8_t>();
  for (size_t row = 0; row < rows.size(); ++row) {
    if (row + kAhead < rows.size()) fetch_ahead(source + rows[row + kAhead] * pixels, pixels);
    map_pixels(source + rows[row] * pixels, pixels, values, out, static_cast<int64_t>(row));
  }
}

// Plain loops, as in map_pixels().
template <typename From, typename To = From>
void gather_as(const at::Tensor& stored, std::span<const int64_t> rows, at::Tensor& out) {
  const int64_t numbers = row_size(stored);
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
  const bool to_float = out.scalar_type() == at::kFloat;
  if (rows.empty()) return;
  if (stored.scalar_type() == at::kByte)
    gather_as<uint8_t>(stored, rows, out);
  else if (stored.scalar_type() == at::kLong)
    gather_as<int64_t>(stored, rows, out);
  else if (stored.scalar_type() == at::kFloat)
    to_float ? gather_as<float>(stored, rows, out) : gather_as<float, double>(stored, rows, out);
  else
    to_float ? gather_as<double, float>(stored, rows, out) : gather_as<double>(stored, rows, out);
}

class MemorySource : public ExampleSource {
 public:
  MemorySource(StoredExamples all, NamesOf names, BeforeReading before_reading)
      : all_(std::move(all)), names_(std::move(names)), before_reading_(std::move(before_reading)) {
    const auto& [inputs, targets] = all_;
    require_sound(inputs.defined() && targets.defined(), "no inputs or no targets");
    const bool pixels = has_pixels() && inputs.dim() == 4;
    const bool numbers = is_float_or_double(inputs) && inputs.dim() >= 2;
    require_sound(
        (pixels || numbers) && inputs.is_contiguous(),
        "inputs must be contiguous uint8 [n, channels, height, width], float32 or float64 [n, ...]");
    const bool classes = targets.scalar_type() == at::kLong && targets.dim() == 1;
    const bool predicted = numbers && is_float_or_double(targets) && targets.dim() == 2;
    require_sound((classes || predicted) && targets.is_contiguous(),
                  "targets must be contiguous int64 [n], or of numbers float32 or float64 [n, targets]");
    require_sound(inputs.size(0) == targets.size(0), "as many inputs as targets are needed");
  }

  int64_t size() const override { return all_.size(); }
  at::IntArrayRef shape() const override { return all_.inputs.sizes().slice(1); }
  bool has_pixels() const override { return all_.inputs.scalar_type() == at::kByte; }
  int64_t targets() const override { return all_.targets.dim() == 1 ? 0 : all_.targets.size(1); }
  at::Tensor classes() const override { return targets() == 0 ? all_.targets : at::Tensor(); }
  std::optional<StoredExamples> in_memory() const override {
    if (before_reading_) before_reading_(consecutive<int64_t>(0, size()));
    return all_;
  }
  std::vector<ExampleName> names_of(std::span<const int64_t> indices) const override {
    return names_ ? names_(indices) : ExampleSource::names_of(indices);
  }

  void read(std::span<const int64_t> indices, const at::Tensor& values, ExampleSlot& slot) const override {
    if (before_reading_) before_reading_(indices);
    if (has_pixels() && values.defined())
      normalise_rows(all_.inputs, indices, values, slot.inputs);
    else
      gather(all_.inputs, indices, slot.inputs);
    gather(all_.targets, indices, slot.targets);
  }

 private:
  const StoredExamples all_;
  const NamesOf names_;
  const BeforeReading before_reading_;
};

}  // namespace

ExampleSlot read_rows(const ExampleSource& source, Range rows, at::ScalarType numbers) {
  std::vector<int64_t> shape = source.shape().vec();
  shape.insert(shape.begin(), rows.size());
  ExampleSlot slot{at::empty(shape, source.has_pixels() ? at::kByte : numbers),
                   source.targets() > 0 ? at::empty({rows.size(), source.targets()}, numbers)
                                        : at::empty({rows.size()}, at::kLong)};
  source.read(consecutive(rows.begin, rows.end), {}, slot);
  return slot;
}

std::string title_of(const ExampleName& name) {
  if (name.file.empty()) return fmt::format("example {}", name.index);
  return name.row == 0 ? name.file : fmt::format("{}, row {}", name.file, name.row);
}

std::vector<ExampleName> ExampleSource::names_of(std::span<const int64_t> indices) const {
  std::vector<ExampleName> names;
  for (const int64_t index : indices) names.push_back({.index = index});
  return names;
}

ExampleSourcePtr make_memory_source(StoredExamples examples, NamesOf names, BeforeReading before_reading) {
  return std::make_shared<MemorySource>(std::move(examples), std::move(names), std::move(before_reading));
}

StoredExamples stored_examples_of(const ExampleSource& source) {
  const std::optional<StoredExamples> all = source.in_memory();
  require_sound(all.has_value(), "these examples are not in memory");
  return *all;
}

}  // namespace dtrain
