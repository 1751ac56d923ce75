#include "features/feature_key.h"

#include <ATen/ATen.h>
#include <ATen/Version.h>
#include <torch/version.h>

#include <algorithm>

#include "core/checksum.h"
#include "core/environment.h"
#include "core/version.h"
#include "host/machine.h"
#include "kernels/instructions.h"
#include "models/variables.h"
#include "spec/fields.h"

namespace dtrain {
namespace {

constexpr int kComputing = 1;  // of how layers compute: another number when any of them changes its bits
constexpr int64_t kRowsAtOnce = 256;
constexpr int64_t kReadsBetweenMeetings = 16;
constexpr const char* kProductSettings[] = {"ONEDNN_MAX_CPU_ISA", "DNNL_MAX_CPU_ISA", "MKL_CBWR",
                                            "MKL_ENABLE_INSTRUCTIONS", "MKL_DEBUG_CPU_TYPE"};

// Adds values so that no two lists of them are the same bytes.
class Key {
 public:
  void add(const std::string& text) {
    add(std::ssize(text));
    sum_.add(text.data(), text.size());
  }
  void add(int64_t number) { sum_.add(&number, sizeof number); }
  void add(const std::vector<double>& numbers) {
    add(std::ssize(numbers));
    sum_.add(numbers.data(), numbers.size() * sizeof(double));
  }
  void add(const at::Tensor& tensor) {
    const at::Tensor values = tensor.detach().contiguous();
    add(std::string(at::toString(values.scalar_type())));
    add(values.dim());
    for (const int64_t size : values.sizes()) add(size);
    sum_.add(values.const_data_ptr(), values.nbytes());
  }
  std::string text() const { return sum_.text(); }

 private:
  Checksum sum_;
};

void add_layer(Key& key, const PlacedLayer& layer) {
  key.add(layer.name);
  key.add(layer.input);
  key.add(layer.with);
  const Fields<LayerSpec>& fields = entry_list<LayerSpec>().fields;
  for (const Field<LayerSpec>& field : fields) {
    if (applies(fields, field, layer.spec)) key.add(field.path + to_json(field, layer.spec).dump());
  }
}

void add_variables(Key& key, const Model& model, int64_t layers) {
  for (const auto& [name, value] : named_variables(model)) {
    const std::string layer = name.substr(0, name.rfind('.'));
    const auto end = model.layers().begin() + layers;
    const auto is_it = [&layer](const PlacedLayer& one) { return one.name == layer; };
    if (std::find_if(model.layers().begin(), end, is_it) == end) continue;
    key.add(name);
    key.add(value);
  }
}

void add_machine(Key& key) {
  key.add(kVersion);
  key.add(TORCH_VERSION);
  key.add(processor_name());
  key.add(at::get_cpu_capability());
  key.add(to_string(instructions()));
  for (const char* name : kProductSettings) key.add(environment_text(name).value_or(""));
}

}  // namespace

std::string checksum_of_examples(const Dataset& dataset, const ExamplePart& part, at::ScalarType dtype,
                                 const std::function<void()>& meet) {
  Checksum sum;
  for (const ExampleSourcePtr& source : {dataset.train, dataset.validation, dataset.test}) {
    const int64_t all = source ? source->size() : -1;
    sum.add(&all, sizeof all);
    if (all <= 0) continue;
    for (const int64_t side : source->shape()) sum.add(&side, sizeof side);
    const int64_t each = (all + part.parts - 1) / part.parts;
    const int64_t first = std::min(all, each * part.part), end = std::min(all, first + each);
    for (int64_t read = 0; read * kRowsAtOnce < each; ++read) {
      const int64_t begin = std::min(end, first + read * kRowsAtOnce);
      const int64_t stop = std::min(end, begin + kRowsAtOnce);
      if (begin < stop) {
        const ExampleSlot slot = read_rows(*source, {begin, stop}, dtype);
        sum.add(slot.inputs.const_data_ptr(), slot.inputs.nbytes());
        sum.add(slot.targets.const_data_ptr(), slot.targets.nbytes());
      }
      if (read % kReadsBetweenMeetings == 0) meet();
    }
  }
  return sum.text();
}

std::string feature_key(const Model& model, const FeatureMaking& making,
                        const std::vector<std::string>& examples) {
  Key key;
  key.add(kComputing);
  for (int64_t layer = 0; layer < making.layers; ++layer)
    add_layer(key, model.layers()[static_cast<size_t>(layer)]);
  add_variables(key, model, making.layers);
  key.add(making.normalisation.mean);
  key.add(making.normalisation.standard_deviation);
  for (const int64_t number : {int64_t{making.channels_last}, making.batch, making.parts, making.threads})
    key.add(number);
  for (const std::string& checksum : examples) key.add(checksum);
  add_machine(key);
  return key.text();
}

}  // namespace dtrain
