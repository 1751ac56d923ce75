// The first project of a plug-in, which `dtrain init --plugin` writes.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace dtrain {

// The names of its files and their texts. `name`: small letters, digits and '_'.
std::vector<std::pair<std::string, std::string>> plugin_project(const std::string& name);

}  // namespace dtrain
