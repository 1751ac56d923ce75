# Finds LibTorch and the gloo headers and defines the imported target LibTorch::cpu.
#
# The TorchConfig.cmake inside a CUDA wheel insists on a CUDA toolkit although nothing here links CUDA, so the target is
# defined from the headers and the two libraries alone. A LibTorch of your own: -DCMAKE_PREFIX_PATH=/path/to/libtorch
# (a libtorch archive, or the `torch` folder of an installed Python package).
# scripts/setup touches this file when it has fetched another version: then CMake looks for it again.
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/scripts/libtorch.txt")
file(STRINGS "${PROJECT_SOURCE_DIR}/scripts/libtorch.txt" pin REGEX "^torch==")
string(REGEX REPLACE "^torch==([0-9.]+).*" "\\1" DTRAIN_LIBTORCH_VERSION "${pin}")
if(NOT "$ENV{XDG_CACHE_HOME}" STREQUAL "")
  set(DTRAIN_CACHE "$ENV{XDG_CACHE_HOME}/dtrain")
else()
  set(DTRAIN_CACHE "$ENV{HOME}/.cache/dtrain")
endif()
set(fetched "${DTRAIN_CACHE}/libtorch-${DTRAIN_LIBTORCH_VERSION}/torch")

if(LIBTORCH_CPU_LIBRARY MATCHES "/dtrain/libtorch-([0-9.]+)/" AND NOT CMAKE_MATCH_1 STREQUAL DTRAIN_LIBTORCH_VERSION)
  foreach(name LIBTORCH_INCLUDE_DIR LIBTORCH_CPU_LIBRARY LIBTORCH_C10_LIBRARY LIBTORCH_CUDA_LIBRARY LIBTORCH_C10_CUDA_LIBRARY
               CUDA_INCLUDE_DIR NCCL_INCLUDE_DIR CUDA_RUNTIME_LIBRARY DTRAIN_HAS_BRGEMM)
    unset(${name} CACHE) # of the version that was pinned before
  endforeach()
endif()
find_path(LIBTORCH_INCLUDE_DIR ATen/ATen.h HINTS "${fetched}/include")
find_library(LIBTORCH_CPU_LIBRARY torch_cpu HINTS "${fetched}/lib")
find_library(LIBTORCH_C10_LIBRARY c10 HINTS "${fetched}/lib")
find_path(GLOO_INCLUDE_DIR gloo/transport/tcp/device.h)
if(NOT LIBTORCH_INCLUDE_DIR OR NOT LIBTORCH_CPU_LIBRARY OR NOT LIBTORCH_C10_LIBRARY)
  message(FATAL_ERROR "LibTorch was not found. Run scripts/setup to fetch ${DTRAIN_LIBTORCH_VERSION}, or point to yours "
                      "with -DCMAKE_PREFIX_PATH=/path/to/libtorch.")
endif()
if(NOT GLOO_INCLUDE_DIR)
  message(FATAL_ERROR "The gloo headers were not found: install libgloo-dev (Debian), or set -DGLOO_INCLUDE_DIR=. "
                      "Only the headers are used; the library inside LibTorch is the one that runs.")
endif()

set(version_header "${LIBTORCH_INCLUDE_DIR}/torch/headeronly/version.h")
if(NOT EXISTS "${version_header}")  # where older ones have it
  set(version_header "${LIBTORCH_INCLUDE_DIR}/torch/csrc/api/include/torch/version.h")
endif()
file(STRINGS "${version_header}" version_lines REGEX "define TORCH_VERSION_(MAJOR|MINOR|PATCH) ")
string(REGEX REPLACE "[^0-9]+([0-9]+)[^0-9]+([0-9]+)[^0-9]+([0-9]+).*" "\\1.\\2.\\3" LIBTORCH_VERSION "${version_lines}")
message(STATUS "LibTorch ${LIBTORCH_VERSION}: ${LIBTORCH_CPU_LIBRARY}")
if(NOT LIBTORCH_VERSION VERSION_EQUAL DTRAIN_LIBTORCH_VERSION)
  message(WARNING "dtrain is tested with LibTorch ${DTRAIN_LIBTORCH_VERSION}; this is ${LIBTORCH_VERSION}")
endif()

# LibTorch's include folder holds a newer fmt that spdlog's headers don't compile with: the system's has to come first.
find_path(FMT_INCLUDE_DIR fmt/format.h PATHS /usr/include NO_DEFAULT_PATH)
find_path(FMT_INCLUDE_DIR fmt/format.h)
file(MAKE_DIRECTORY "${PROJECT_BINARY_DIR}/include_first")
file(CREATE_LINK "${FMT_INCLUDE_DIR}/fmt" "${PROJECT_BINARY_DIR}/include_first/fmt" SYMBOLIC)

# Of a LibTorch in the cache, the build folder gets links of its own (copies on another disk). The cache is in the home
# of who builds, often root's, where others cannot read: so they can run what is built, in a moved checkout too.
set(libraries "${LIBTORCH_CPU_LIBRARY}" "${LIBTORCH_C10_LIBRARY}")
if(LIBTORCH_CPU_LIBRARY STREQUAL "${fetched}/lib/libtorch_cpu.so")
  file(GLOB fetched_libraries "${fetched}/lib/*.so*")
  list(FILTER fetched_libraries EXCLUDE REGEX "_cuda\\.so$")
  file(MAKE_DIRECTORY "${PROJECT_BINARY_DIR}/libtorch")
  foreach(library IN LISTS fetched_libraries)
    get_filename_component(name "${library}" NAME)
    file(CREATE_LINK "${library}" "${PROJECT_BINARY_DIR}/libtorch/${name}" COPY_ON_ERROR)
  endforeach()
  set(libraries "${PROJECT_BINARY_DIR}/libtorch/libtorch_cpu.so" "${PROJECT_BINARY_DIR}/libtorch/libc10.so")
endif()
set(CMAKE_BUILD_RPATH_USE_ORIGIN ON)

# The OpenMP runtime that LibTorch brings: our own loops run on its threads. A LibTorch without one uses the system's.
list(GET libraries 0 library)
get_filename_component(folder "${library}" DIRECTORY)
file(GLOB openmp "${folder}/libgomp.so*" "${folder}/libgomp-[0-9a-f]*.so*" "${folder}/libiomp5.so" "${folder}/libomp.so")
list(APPEND openmp gomp)
list(GET openmp 0 openmp)

add_library(LibTorch::cpu INTERFACE IMPORTED)
target_include_directories(LibTorch::cpu SYSTEM INTERFACE "${PROJECT_BINARY_DIR}/include_first"
  "${LIBTORCH_INCLUDE_DIR}" "${LIBTORCH_INCLUDE_DIR}/torch/csrc/api/include" "${GLOO_INCLUDE_DIR}")
target_link_libraries(LibTorch::cpu INTERFACE ${libraries} "${openmp}")
target_compile_definitions(LibTorch::cpu INTERFACE USE_C10D_GLOO USE_DISTRIBUTED)

# dtrain_find_block_products(TARGET): whether LibTorch has the function that runs oneDNN's matrix products. It is an
# internal one, which another version may not have; without it products are LibTorch's usual ones.
function(dtrain_find_block_products target)
  include(CheckCXXSourceCompiles)
  set(CMAKE_REQUIRED_INCLUDES "${LIBTORCH_INCLUDE_DIR}")
  set(CMAKE_REQUIRED_LIBRARIES "${LIBTORCH_CPU_LIBRARY}" "${LIBTORCH_C10_LIBRARY}")
  set(CMAKE_REQUIRED_FLAGS "-std=c++20")
  check_cxx_source_compiles([[
    #include <ATen/native/CPUBlas.h>
    int main() {
      const float number = 1;
      float sum = 0;
      at::native::cpublas::brgemm(1, 1, 1, 1, 1, 1, true, &number, &number, &sum);
    }]] DTRAIN_HAS_BRGEMM)
  if(DTRAIN_HAS_BRGEMM)
    target_compile_definitions(${target} PRIVATE DTRAIN_HAS_BRGEMM)
  endif()
endfunction()
