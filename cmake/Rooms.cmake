# dtrain_wing(NAME [USES wings...])
#
# The rooms that follow lie in lib/NAME. They may use rooms of this wing, of those named, and of what these use;
# tests/scripts/rooms_test.py holds the LINK lines of rooms to it.
function(dtrain_wing name)
  set(DTRAIN_WING ${name} PARENT_SCOPE)
  set_property(GLOBAL APPEND PROPERTY DTRAIN_WINGS ${name})
endfunction()

# dtrain_room(NAME [TORCH] [COMPUTES] LINK libraries... [PRIVATE libraries...])
#
# One static library dtrain_NAME from lib/WING/NAME/*.cpp; the include directory is the wing's. TORCH links LibTorch and
# shares one precompiled header of its narrow includes: without it each file spends 10 to 20 s on LibTorch's headers.
# COMPUTES is for rooms with loops over examples, pixels, cells or variables. The others are compiled with
# DTRAIN_QUICK_TO_COMPILE. Files in lib/WING/NAME/texts become constants (dtrain_embed_texts).
function(dtrain_room name)
  cmake_parse_arguments(ROOM "TORCH;COMPUTES" "" "LINK;PRIVATE" ${ARGN})
  set(target dtrain_${name})
  file(GLOB sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/lib/${DTRAIN_WING}/${name}/*.cpp")
  add_library(${target} STATIC ${sources})
  dtrain_compile_together(${target} 16)
  if(NOT ROOM_COMPUTES)
    target_compile_options(${target} PRIVATE ${DTRAIN_QUICK_TO_COMPILE})
  endif()
  target_include_directories(${target} PUBLIC "${PROJECT_SOURCE_DIR}/lib/${DTRAIN_WING}")
  target_link_libraries(${target} PUBLIC ${ROOM_LINK} PRIVATE ${ROOM_PRIVATE})
  dtrain_embed_texts(${target} ${name})
  if(ROOM_TORCH)
    target_link_libraries(${target} PUBLIC LibTorch::cpu)
    dtrain_use_torch_header(${target})
  endif()
endfunction()

# Makes a constant of each file in the room's folder texts, for use in that room alone: texts/page.css is
# texts::page_css in "ROOM/texts.h", which is made in the build folder.
function(dtrain_embed_texts target room)
  file(GLOB files CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/lib/${DTRAIN_WING}/${room}/texts/*")
  if(NOT files)
    return()
  endif()
  set(constants "")
  foreach(file IN LISTS files)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${file}")
    get_filename_component(name "${file}" NAME)
    string(MAKE_C_IDENTIFIER "${name}" name)
    file(READ "${file}" text)
    string(APPEND constants "inline constexpr const char* ${name} = R\"embedded(${text})embedded\";\n")
  endforeach()
  file(CONFIGURE OUTPUT "${PROJECT_BINARY_DIR}/texts/${room}/texts.h" @ONLY CONTENT [[
#pragma once

namespace dtrain::texts {

@constants@
}  // namespace dtrain::texts
]])
  target_include_directories(${target} PRIVATE "${PROJECT_BINARY_DIR}/texts")
endfunction()

# Compiles the sources of `target` up to `count` at a time in one unit: most of a unit's time goes to headers and to
# templates that every unit instantiates again. Larger units would make a change of one file take longer.
function(dtrain_compile_together target count)
  if(DTRAIN_UNITY)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${count})
  endif()
endfunction()

# Compiles `target` with the shared precompiled header of LibTorch.
function(dtrain_use_torch_header target)
  if(NOT TARGET dtrain_torch_header)
    file(WRITE "${PROJECT_BINARY_DIR}/torch_header.cpp" "")
    add_library(dtrain_torch_header STATIC "${PROJECT_BINARY_DIR}/torch_header.cpp")
    target_link_libraries(dtrain_torch_header PUBLIC LibTorch::cpu spdlog::spdlog nlohmann_json::nlohmann_json
                                                     Threads::Threads)
    # By name, not by path: its text is then the same in every checkout, and ccache finds it in a second one.
    target_include_directories(dtrain_torch_header PRIVATE "${PROJECT_SOURCE_DIR}/cmake")
    target_precompile_headers(dtrain_torch_header PRIVATE <torch_header.h>)
  endif()
  target_precompile_headers(${target} REUSE_FROM dtrain_torch_header)
endfunction()
