# The module library for GPUs, and what it is compiled and linked against: LibTorch::cuda.
#
# DTRAIN_CUDA=AUTO builds it where the headers of the CUDA toolkit and of NCCL and a LibTorch with CUDA are found; ON
# insists on it. Nothing here is compiled by nvcc: LibTorch has the kernels.
set(DTRAIN_CUDA AUTO CACHE STRING "Build the module for GPUs: AUTO (where it can be), ON or OFF")
set_property(CACHE DTRAIN_CUDA PROPERTY STRINGS AUTO ON OFF)

function(dtrain_find_cuda)
  # The packages that a LibTorch from PyPI comes with lie beside it.
  get_filename_component(packages "${LIBTORCH_INCLUDE_DIR}/../../nvidia" ABSOLUTE)
  get_filename_component(libraries "${LIBTORCH_CPU_LIBRARY}" DIRECTORY)
  file(GLOB hints "${packages}/cu*/include" "${packages}/cuda_runtime/include" "${packages}/nccl/include")
  list(APPEND hints "$ENV{CUDA_HOME}/include" /usr/local/cuda/include)
  find_program(CUDA_NVCC nvcc)  # only tells where the toolkit is
  if(CUDA_NVCC)
    file(REAL_PATH "${CUDA_NVCC}" nvcc)
    get_filename_component(nvcc "${nvcc}" DIRECTORY)
    list(APPEND hints "${nvcc}/../include")
  endif()
  # The toolkit's: the headers that lie beside a LibTorch from PyPI include this one, which does not.
  find_path(CUDA_INCLUDE_DIR crt/host_config.h HINTS ${hints})
  find_path(NCCL_INCLUDE_DIR nccl.h HINTS ${hints})
  find_library(LIBTORCH_CUDA_LIBRARY torch_cuda HINTS "${libraries}" NO_DEFAULT_PATH)
  find_library(LIBTORCH_C10_CUDA_LIBRARY c10_cuda HINTS "${libraries}" NO_DEFAULT_PATH)
  file(GLOB cudart "${libraries}/libcudart.so*" "${packages}/cu*/lib/libcudart.so*" "$ENV{CUDA_HOME}/lib64/libcudart.so"
       /usr/local/cuda/lib64/libcudart.so)
  list(FILTER cudart EXCLUDE REGEX "static")
  if(cudart)
    list(GET cudart 0 cudart)
  endif()
  if(NOT CUDA_RUNTIME_LIBRARY)  # perhaps it was not there when CMake looked last
    set(CUDA_RUNTIME_LIBRARY "${cudart}" CACHE FILEPATH "libcudart" FORCE)
  endif()
  foreach(needed CUDA_INCLUDE_DIR NCCL_INCLUDE_DIR LIBTORCH_CUDA_LIBRARY LIBTORCH_C10_CUDA_LIBRARY CUDA_RUNTIME_LIBRARY)
    if(NOT ${needed})
      list(APPEND missing ${needed})
    endif()
  endforeach()
  set(missing "${missing}" PARENT_SCOPE)
endfunction()

set(DTRAIN_HAS_CUDA OFF)
if(DTRAIN_CUDA)
  dtrain_find_cuda()
  if(NOT missing)
    set(DTRAIN_HAS_CUDA ON)
    message(STATUS "Module for GPUs: with ${LIBTORCH_CUDA_LIBRARY}")
  elseif(DTRAIN_CUDA STREQUAL "AUTO")
    message(STATUS "Module for GPUs: not built, for lack of ${missing}")
  else()
    message(FATAL_ERROR "DTRAIN_CUDA is ON, and these were not found: ${missing}. Install the CUDA toolkit and NCCL and "
                        "use a LibTorch with CUDA (docs/gpu.md).")
  endif()
endif()

# dtrain_cuda_module(TARGET SOURCES...)
#
# A module library that is loaded while the program runs. What LibTorch's own libraries need (cuDNN, cuBLAS, NCCL) is
# found where it is loaded, not here.
function(dtrain_cuda_module target)
  add_library(${target} MODULE ${ARGN})
  target_include_directories(${target} PRIVATE "${PROJECT_SOURCE_DIR}/lib/base")
  target_include_directories(${target} SYSTEM PRIVATE "${CUDA_INCLUDE_DIR}" "${NCCL_INCLUDE_DIR}")
  target_compile_definitions(${target} PRIVATE USE_C10D_NCCL "DTRAIN_CUDA_VERSION=\"${PROJECT_VERSION} ${LIBTORCH_VERSION}\"")
  target_link_libraries(${target} PRIVATE LibTorch::cpu "${LIBTORCH_CUDA_LIBRARY}" "${LIBTORCH_C10_CUDA_LIBRARY}"
                                          "${CUDA_RUNTIME_LIBRARY}")
  target_link_options(${target} PRIVATE -Wl,--allow-shlib-undefined)
  set_target_properties(${target} PROPERTIES CXX_VISIBILITY_PRESET hidden INSTALL_RPATH "$ORIGIN")
  install(TARGETS ${target} LIBRARY DESTINATION lib/dtrain)
endfunction()
