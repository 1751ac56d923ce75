// How a plugin is to compile a program: XLA's CompileOptionsProto, field by field
// (https://github.com/openxla/xla, xla/pjrt/proto/compile_options.proto).
#pragma once

#include <cstdlib>
#include <string>

#include "core/protobuf.h"
#include "device/program_runner.h"

namespace dtrain::pjrt {

// One of XLA's own flags, {name: {string_field}}. What the user says of it in XLA_FLAGS holds.
inline std::string xla_flag(const std::string& name, const std::string& value) {
  using protobuf::bytes;
  const char* const flags = std::getenv("XLA_FLAGS");
  if (flags != nullptr && std::string(flags).find(name) != std::string::npos) return "";
  return bytes(7, bytes(1, name) + bytes(2, bytes(1, value)));
}

// {executable_build_options: {device_ordinal: -1, num_replicas, num_partitions: 1}}; if quick, also
// optimization_level: EFFORT_O0, which plugins that do not know it ignore.
inline std::string compile_options(const CompileOptions& how, bool on_gpus) {
  using protobuf::integer;
  const std::string build = integer(1, -1) + integer(4, how.replicas) + integer(5, 1);
  const std::string options = protobuf::bytes(3, how.quick ? build + integer(24, 9) : build);
  // Without measuring (xla_gpu_exclude_nondeterministic_ops), XLA has no kernels for most products.
  const bool keeps_kernels = on_gpus && !how.kernels_in.empty();
  return keeps_kernels ? options + xla_flag("xla_gpu_per_fusion_autotune_cache_dir", how.kernels_in)
                       : options;
}

}  // namespace dtrain::pjrt
