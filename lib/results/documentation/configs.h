// The example jobs of configs/, which are inside the program.
#pragma once

#include <string>
#include <vector>

namespace dtrain {

struct ShippedConfig {
  std::string name;  // "mnist_mirrored"
  std::string text;
};

// By name. CMake makes this function from the files (cmake/Configs.cmake).
const std::vector<ShippedConfig>& shipped_configs();

// The first sentence of the comment that a config begins with.
std::string summary_of(const ShippedConfig& config);

}  // namespace dtrain
