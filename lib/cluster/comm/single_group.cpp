#include <ATen/ATen.h>

#include "comm/gradients.h"
#include "comm/process_group.h"

namespace dtrain {
namespace {

class SingleReducer : public GradientReducer {
 public:
  explicit SingleReducer(const std::vector<at::Tensor>& parameters)
      : parameters_(parameters), parts_(whole_parts(parameters)) {}
  const std::vector<ParameterPart>& parts() const override { return parts_; }
  bool is_divided() const override { return false; }
  void zero_gradients() override { drop_gradients_of(parameters_); }
  void prepare(bool /*last*/) override {}
  void put_gradient(size_t parameter, const at::Tensor& gradient) override {
    parameters_[parameter].mutable_grad() = gradient;
  }
  void finish(const PartsSummed& summed) override {
    if (summed && !parts_.empty()) summed(all_of(parts_.size()));
  }
  void share_update() override {}

 private:
  std::vector<at::Tensor> parameters_;
  std::vector<ParameterPart> parts_;
};

class SingleGroup : public ProcessGroup {
 public:
  int rank() const override { return 0; }
  int size() const override { return 1; }
  void all_reduce_sum(at::Tensor& /*tensor*/) override {}
  void broadcast(const std::vector<at::Tensor>& /*tensors*/, int /*root*/) override {}
  void barrier() override {}
  std::unique_ptr<GradientReducer> make_gradient_reducer(const std::vector<at::Tensor>& parameters,
                                                         const ReducerOptions& /*options*/,
                                                         StepClock& /*clock*/) override {
    return std::make_unique<SingleReducer>(parameters);
  }
};

}  // namespace

std::unique_ptr<ProcessGroup> make_single_group() { return std::make_unique<SingleGroup>(); }

}  // namespace dtrain
