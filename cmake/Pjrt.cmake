# The module library that drives plugins of PJRT, such as Google's for TPUs.
#
# DTRAIN_PJRT=AUTO builds it where the header of PJRT's C API is found (scripts/setup --pjrt fetches it); ON insists on it.
# The header alone is needed: plugins are loaded while the program runs.
set(DTRAIN_PJRT AUTO CACHE STRING "Build the module for plugins (TPUs, XLA): AUTO (where it can be), ON or OFF")
set_property(CACHE DTRAIN_PJRT PROPERTY STRINGS AUTO ON OFF)

# scripts/setup touches this file when it has fetched the header: then CMake looks for it again.
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/scripts/tpu/header.txt")
set(DTRAIN_HAS_PJRT OFF)
if(DTRAIN_PJRT)
  find_path(PJRT_INCLUDE_DIR pjrt_c_api.h HINTS "${DTRAIN_CACHE}/pjrt" PATH_SUFFIXES xla/pjrt/c)
  if(PJRT_INCLUDE_DIR)
    set(DTRAIN_HAS_PJRT ON)
    message(STATUS "Module for plugins (TPUs, XLA): with ${PJRT_INCLUDE_DIR}/pjrt_c_api.h")
  elseif(DTRAIN_PJRT STREQUAL "AUTO")
    message(STATUS "Module for plugins (TPUs, XLA): not built, for lack of pjrt_c_api.h (scripts/setup --pjrt fetches it)")
  else()
    message(FATAL_ERROR "DTRAIN_PJRT is ON, and pjrt_c_api.h was not found: scripts/setup --pjrt fetches it, or say where "
                        "it is with -DPJRT_INCLUDE_DIR=FOLDER (docs/tpu.md).")
  endif()
endif()

# dtrain_pjrt_module(TARGET SOURCES...)
#
# A module library that is loaded while the program runs. It is linked with nothing: of LibTorch it uses an enum.
function(dtrain_pjrt_module target)
  add_library(${target} MODULE ${ARGN})
  target_include_directories(${target} PRIVATE "${PROJECT_SOURCE_DIR}/lib/base")
  target_include_directories(${target} SYSTEM PRIVATE "${PJRT_INCLUDE_DIR}"
                             $<TARGET_PROPERTY:LibTorch::cpu,INTERFACE_INCLUDE_DIRECTORIES>)
  target_compile_definitions(${target} PRIVATE "DTRAIN_PJRT_VERSION=\"${PROJECT_VERSION}\"")
  set_target_properties(${target} PROPERTIES CXX_VISIBILITY_PRESET hidden)
  install(TARGETS ${target} LIBRARY DESTINATION lib/dtrain)
endfunction()
