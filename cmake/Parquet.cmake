# The module library that reads Parquet files, with the libraries of Arrow.
#
# DTRAIN_PARQUET=AUTO builds it where scripts/setup --parquet has fetched these, or ARROW_ROOT is the folder of a Python
# package pyarrow of the same version; ON insists on it. They are no part of what is installed: dtrain finds them beside
# the module, or through LD_LIBRARY_PATH.
set(DTRAIN_PARQUET AUTO CACHE STRING "Build the module for Parquet files: AUTO (where it can be), ON or OFF")
set_property(CACHE DTRAIN_PARQUET PROPERTY STRINGS AUTO ON OFF)

# scripts/setup touches this file when it has fetched the package: then CMake looks for it again.
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/scripts/arrow.txt")
file(STRINGS "${PROJECT_SOURCE_DIR}/scripts/arrow.txt" pin REGEX "^pyarrow==")
string(REGEX REPLACE "^pyarrow==([0-9.]+).*" "\\1" DTRAIN_ARROW_VERSION "${pin}")
string(REGEX REPLACE "^([0-9]+)\\.([0-9]+).*" "\\10\\2" arrow_abi "${DTRAIN_ARROW_VERSION}")

set(DTRAIN_HAS_PARQUET OFF)
if(DTRAIN_PARQUET)
  set(ARROW_ROOT "" CACHE PATH "The folder of the Python package pyarrow, with Arrow's headers and libraries")
  if(ARROW_INCLUDE_DIR MATCHES "/dtrain/arrow-([0-9.]+)/" AND NOT CMAKE_MATCH_1 STREQUAL DTRAIN_ARROW_VERSION)
    unset(ARROW_INCLUDE_DIR CACHE)  # of the version that was pinned before
  endif()
  find_path(ARROW_INCLUDE_DIR parquet/file_reader.h HINTS "${ARROW_ROOT}/include"
            "${DTRAIN_CACHE}/arrow-${DTRAIN_ARROW_VERSION}/pyarrow/include" NO_DEFAULT_PATH)
  set(arrow_libraries "${ARROW_INCLUDE_DIR}/../libarrow.so.${arrow_abi}" "${ARROW_INCLUDE_DIR}/../libparquet.so.${arrow_abi}")
  list(GET arrow_libraries 1 library)
  if(ARROW_INCLUDE_DIR AND EXISTS "${library}")
    set(DTRAIN_HAS_PARQUET ON)
    message(STATUS "Module for Parquet: with Arrow ${DTRAIN_ARROW_VERSION} in ${ARROW_INCLUDE_DIR}")
  elseif(DTRAIN_PARQUET STREQUAL "AUTO")
    message(STATUS "Module for Parquet: not built, for lack of Arrow (scripts/setup --parquet fetches it)")
  else()
    message(FATAL_ERROR "DTRAIN_PARQUET is ON, and Arrow ${DTRAIN_ARROW_VERSION} was not found: scripts/setup --parquet "
                        "fetches it, or say where the package pyarrow is with -DARROW_ROOT=FOLDER (docs/building.md).")
  endif()
endif()

# dtrain_parquet_module(TARGET SOURCES...)
#
# A module library that is loaded while the program runs. In the build folder it has links to Arrow's libraries, as the
# program has to LibTorch's (cmake/LibTorch.cmake).
function(dtrain_parquet_module target)
  foreach(library IN LISTS arrow_libraries)
    get_filename_component(library "${library}" REALPATH)
    get_filename_component(name "${library}" NAME)
    file(MAKE_DIRECTORY "${PROJECT_BINARY_DIR}/arrow")
    file(CREATE_LINK "${library}" "${PROJECT_BINARY_DIR}/arrow/${name}" COPY_ON_ERROR)
    list(APPEND libraries "${PROJECT_BINARY_DIR}/arrow/${name}")
  endforeach()
  add_library(${target} MODULE ${ARGN})
  target_include_directories(${target} PRIVATE "${PROJECT_SOURCE_DIR}/lib/base" "${PROJECT_SOURCE_DIR}/lib/data")
  target_include_directories(${target} SYSTEM PRIVATE "${ARROW_INCLUDE_DIR}")
  target_compile_definitions(${target} PRIVATE "DTRAIN_PARQUET_VERSION=\"${PROJECT_VERSION}\"")
  target_link_libraries(${target} PRIVATE ${libraries})
  set_target_properties(${target} PROPERTIES OUTPUT_NAME dtrain_parquet CXX_VISIBILITY_PRESET hidden
                                             INSTALL_RPATH "$ORIGIN")
  install(TARGETS ${target} LIBRARY DESTINATION lib/dtrain)
endfunction()
