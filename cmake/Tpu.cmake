# The module library that drives plugins of PJRT, such as Google's for TPUs.
#
# DTRAIN_TPU=AUTO builds it where the header of PJRT's C API is found (scripts/setup --tpu fetches it); ON insists on it.
# The header alone is needed: plugins are loaded while the program runs.
set(DTRAIN_TPU AUTO CACHE STRING "Build the module for TPUs: AUTO (where it can be), ON or OFF")
set_property(CACHE DTRAIN_TPU PROPERTY STRINGS AUTO ON OFF)

# scripts/setup touches this file when it has fetched the header: then CMake looks for it again.
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/scripts/tpu/header.txt")
set(DTRAIN_HAS_TPU OFF)
if(DTRAIN_TPU)
  find_path(PJRT_INCLUDE_DIR pjrt_c_api.h HINTS "${DTRAIN_CACHE}/pjrt" PATH_SUFFIXES xla/pjrt/c)
  if(PJRT_INCLUDE_DIR)
    set(DTRAIN_HAS_TPU ON)
    message(STATUS "Module for TPUs: with ${PJRT_INCLUDE_DIR}/pjrt_c_api.h")
  elseif(DTRAIN_TPU STREQUAL "AUTO")
    message(STATUS "Module for TPUs: not built, for lack of pjrt_c_api.h (scripts/setup --tpu fetches it)")
  else()
    message(FATAL_ERROR "DTRAIN_TPU is ON, and pjrt_c_api.h was not found: scripts/setup --tpu fetches it, or say where "
                        "it is with -DPJRT_INCLUDE_DIR=FOLDER (docs/tpu.md).")
  endif()
endif()

# dtrain_tpu_module(TARGET SOURCES...)
#
# A module library that is loaded while the program runs. It is linked with nothing: of LibTorch it uses an enum.
function(dtrain_tpu_module target)
  add_library(${target} MODULE ${ARGN})
  target_include_directories(${target} PRIVATE "${PROJECT_SOURCE_DIR}/lib/base")
  target_include_directories(${target} SYSTEM PRIVATE "${PJRT_INCLUDE_DIR}"
                             $<TARGET_PROPERTY:LibTorch::cpu,INTERFACE_INCLUDE_DIRECTORIES>)
  target_compile_definitions(${target} PRIVATE "DTRAIN_TPU_VERSION=\"${PROJECT_VERSION}\"")
  set_target_properties(${target} PROPERTIES CXX_VISIBILITY_PRESET hidden)
  install(TARGETS ${target} LIBRARY DESTINATION lib/dtrain)
endfunction()
