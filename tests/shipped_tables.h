// The data of those configs/ that train on tables, which scripts/make_table makes.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <optional>
#include <stdexcept>
#include <string>

#include "files.h"

namespace dtrain {

class ShippedTables {
 public:
  ShippedTables() {
    const std::string command =
        DTRAIN_SOURCE_DIR "/scripts/make_table '" + folder_.path().string() + "' > /dev/null";
    if (std::system(command.c_str()) != 0) throw std::runtime_error("scripts/make_table failed");
  }
  // data.path for this config; nullopt: it trains on something else.
  std::optional<std::string> path_for(const std::filesystem::path& config) const {
    if (config.stem() == "table_regression") return (folder_ / "houses.csv").string();
    if (config.stem() == "table_classification") return (folder_ / "flowers.csv").string();
    if (config.stem() == "multi_label") return (folder_ / "meadows.csv").string();
    return std::nullopt;
  }

 private:
  TemporaryFolder folder_;
};

}  // namespace dtrain
