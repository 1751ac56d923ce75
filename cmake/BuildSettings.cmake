# How everything is compiled: language level, warnings, sanitizers, and the tools that save time when present.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Kind of build" FORCE)
endif()

option(DTRAIN_UNITY "Compile several sources of a room in one unit, which is three times as fast" ON)
option(DTRAIN_WERROR "Treat warnings as errors" OFF)
add_compile_options(-Wall -Wextra)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  add_compile_options(-Wno-restrict)  # false alarms on std::string's operator+ (GCC bug 105651)
elseif(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  add_compile_options(-Wno-array-bounds)  # false alarms in LibTorch's torch::autograd::Function
endif()
if(DTRAIN_WERROR)
  add_compile_options(-Werror)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
    add_compile_options(-Wno-error=stringop-overflow)  # the same false alarms under another name
  endif()
endif()

# For code without loops that matter, instead of -O3: it takes half as long to compile (docs/building.md).
set(DTRAIN_QUICK_TO_COMPILE $<$<CONFIG:Release>:-Og>)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  list(APPEND DTRAIN_QUICK_TO_COMPILE $<$<CONFIG:Release>:-Wno-maybe-uninitialized>)  # false alarms at -Og
  if(CMAKE_CXX_COMPILER_VERSION VERSION_GREATER_EQUAL 13 AND CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
    # -O3 implies them there; without them here, the compiler refuses the precompiled header of -O3.
    list(APPEND DTRAIN_QUICK_TO_COMPILE $<$<CONFIG:Release>:-munroll-only-small-loops>
         $<$<CONFIG:Release>:-mvzeroupper>)
  endif()
  # LibTorch's headers fill half a gigabyte, through which GCC would look for garbage again and again.
  add_compile_options("SHELL:--param ggc-min-expand=200" "SHELL:--param ggc-min-heapsize=524288")
endif()

set(DTRAIN_SANITIZE "" CACHE STRING "Sanitizers to build with, as for -fsanitize= (for instance address,undefined)")
if(DTRAIN_SANITIZE)
  add_compile_options(-fsanitize=${DTRAIN_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    add_compile_options(-Wno-maybe-uninitialized)  # the checks confuse GCC's flow analysis
  elseif(DTRAIN_SANITIZE MATCHES address)
    add_compile_definitions(__SANITIZE_ADDRESS__=1)  # as GCC does
  endif()
  add_link_options(-fsanitize=${DTRAIN_SANITIZE})
endif()

# The precompiled header's time stamps would make every cached object a miss; hence the sloppiness.
find_program(CCACHE_PROGRAM ccache)
if(CCACHE_PROGRAM AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime
                                  ${CCACHE_PROGRAM})
endif()
# A mold that does not know what we ask of linkers, as that of Ubuntu 22.04, is not used.
include(CheckCXXSourceCompiles)
set(CMAKE_REQUIRED_LINK_OPTIONS -fuse-ld=mold LINKER:--export-dynamic-symbol=main)
check_cxx_source_compiles("int main() {}" DTRAIN_HAS_MOLD)
unset(CMAKE_REQUIRED_LINK_OPTIONS)
if(DTRAIN_HAS_MOLD)
  add_link_options(-fuse-ld=mold)
endif()
