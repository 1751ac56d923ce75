// dense, and what it has in common with conv2d.
#pragma once

#include "spec/layer_kinds.h"

namespace dtrain {

struct DenseFields {
  int64_t units = 0;
  bool use_bias = true;
  std::optional<std::string> activation = {};  // nullopt: none
  std::string initializer = "glorot_uniform";
};

// A kind with a kernel, whose fields, in Own, are `fields` and those of the kernel.
template <class Own>
LayerTraits weighted_traits(const std::string& name, const Fields<KindFields>& fields) {
  const Fields<KindFields> of_kernel = {
      KIND_FIELD(Own, use_bias, .doc = "add a learned bias"),
      KIND_FIELD(Own, activation,
                 .doc =
                     "short for a layer of this kind after it; if another layer names this one, it gets the "
                     "output of the activation",
                 .choices = &activation_kinds(), .word = "none"),
      KIND_FIELD(Own, initializer, .doc = "the distribution of the initial weights; the bias starts at zero",
                 .choices = &initializer_kinds())};
  return {name, joined<KindFields>({fields, of_kernel}),
          [](const KindFields& own) { return own.get<Own>().activation; }};
}

inline LayerTraits dense_traits() {
  return weighted_traits<DenseFields>(
      "dense", {KIND_FIELD(DenseFields, units, .doc = "outputs", .unit = "units", .bounds = between(1, 1e6),
                           .required = true)});
}

}  // namespace dtrain
