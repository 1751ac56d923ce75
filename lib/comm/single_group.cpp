#include <ATen/ATen.h>

#include "comm/process_group.h"

namespace dtrain {
namespace {

class SingleReducer : public GradientReducer {
 public:
  explicit SingleReducer(std::vector<at::Tensor> parameters) : parameters_(std::move(parameters)) {}
  // Without a gradient, autograd keeps the one that it computes instead of adding it to zeros.
  void zero_gradients() override {
    for (at::Tensor& parameter : parameters_) parameter.mutable_grad().reset();
  }
  void prepare(bool /*last*/) override {}
  void finish() override {}

 private:
  std::vector<at::Tensor> parameters_;
};

class SingleGroup : public ProcessGroup {
 public:
  int rank() const override { return 0; }
  int size() const override { return 1; }
  void all_reduce_sum(at::Tensor& /*tensor*/) override {}
  void broadcast(const std::vector<at::Tensor>& /*tensors*/, int /*root*/) override {}
  void barrier() override {}
  std::unique_ptr<GradientReducer> make_gradient_reducer(const std::vector<at::Tensor>& parameters,
                                                         int64_t /*bucket_bytes*/,
                                                         PhaseClock& /*clock*/) override {
    return std::make_unique<SingleReducer>(parameters);
  }
};

}  // namespace

std::unique_ptr<ProcessGroup> make_single_group() { return std::make_unique<SingleGroup>(); }

}  // namespace dtrain
