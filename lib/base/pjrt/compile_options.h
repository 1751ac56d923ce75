// How a plugin is to compile a program: XLA's CompileOptionsProto, field by field
// (https://github.com/openxla/xla, xla/pjrt/proto/compile_options.proto).
#pragma once

#include <cstdint>
#include <cstdlib>
#include <string>

#include "device/program_runner.h"

namespace dtrain::pjrt {

inline void append_varint(std::string& bytes, uint64_t number) {
  for (; number >= 0x80; number >>= 7) bytes.push_back(static_cast<char>(number | 0x80));
  bytes.push_back(static_cast<char>(number));
}

inline void append_field(std::string& bytes, uint64_t field, uint64_t number) {
  append_varint(bytes, field << 3);
  append_varint(bytes, number);
}

inline void append_field(std::string& bytes, uint64_t field, const std::string& text) {
  append_varint(bytes, (field << 3) | 2);
  append_varint(bytes, text.size());
  bytes += text;
}

// One of XLA's own flags, {name: {string_field}}. What the user says of it in XLA_FLAGS holds.
inline void append_flag(std::string& options, const std::string& name, const std::string& is) {
  const char* const flags = std::getenv("XLA_FLAGS");
  if (flags != nullptr && std::string(flags).find(name) != std::string::npos) return;
  std::string value, entry;
  append_field(value, 1, is);
  append_field(entry, 1, name);
  append_field(entry, 2, value);
  append_field(options, 7, entry);
}

// {executable_build_options: {device_ordinal: -1, num_replicas, num_partitions: 1}}; if quick, also
// optimization_level: EFFORT_O0, which plugins that do not know it ignore.
inline std::string compile_options(const CompileOptions& how, bool on_gpus) {
  std::string build, options;
  append_field(build, 1, static_cast<uint64_t>(-1));
  append_field(build, 4, static_cast<uint64_t>(how.replicas));
  append_field(build, 5, 1);
  if (how.quick) append_field(build, 24, 9);
  append_field(options, 3, build);
  // Without measuring (xla_gpu_exclude_nondeterministic_ops), XLA has no kernels for most products.
  if (on_gpus && !how.kernels_in.empty())
    append_flag(options, "xla_gpu_per_fusion_autotune_cache_dir", how.kernels_in);
  return options;
}

}  // namespace dtrain::pjrt
