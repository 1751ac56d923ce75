# dtrain_embed_configs(TARGET): the example jobs of configs/ as text inside the program, for `dtrain configs`, so that it
# finds them wherever it is installed. Defines shipped_configs() of lib/results/documentation/first_job.h.
function(dtrain_embed_configs target)
  file(GLOB configs CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/configs/*.yaml")
  set(entries "")
  foreach(config IN LISTS configs)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${config}")
    get_filename_component(name "${config}" NAME_WE)
    file(READ "${config}" text)
    string(APPEND entries "      {\"${name}\", R\"yaml(${text})yaml\"},\n")
  endforeach()
  file(CONFIGURE OUTPUT "${PROJECT_BINARY_DIR}/shipped_configs.cpp" @ONLY CONTENT [[
#include "documentation/first_job.h"

namespace dtrain {

const std::vector<ShippedConfig>& shipped_configs() {
  static const std::vector<ShippedConfig> configs = {
@entries@  };
  return configs;
}

}  // namespace dtrain
]])
  target_sources(${target} PRIVATE "${PROJECT_BINARY_DIR}/shipped_configs.cpp")
endfunction()
