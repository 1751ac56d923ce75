# dtrain_install(TARGET): what `cmake --install` and the packages contain. Everything lies where the Filesystem
# Hierarchy Standard has it below the prefix, and finds the rest by relative paths: the tree can be moved.
function(dtrain_install target)
  # RPATH and not RUNPATH, because only the former is for the libraries that a library needs too.
  target_link_options(${target} PRIVATE "LINKER:--disable-new-dtags")
  set_target_properties(${target} PROPERTIES INSTALL_RPATH "$ORIGIN/../lib/dtrain")
  # All libraries but the C and C++ runtimes, which belong to the system.
  set(system_libraries "^ld-linux" "^lib(c|m|dl|rt|util|pthread|gcc_s|stdc\\+\\+|asan|ubsan)\\.so")
  install(TARGETS ${target} RUNTIME_DEPENDENCY_SET needed RUNTIME DESTINATION bin)
  install(RUNTIME_DEPENDENCY_SET needed PRE_EXCLUDE_REGEXES ${system_libraries} LIBRARY DESTINATION lib/dtrain)

  # CMake strips what it has built, not what it has found. NVIDIA's libraries may not be changed.
  install(CODE "
    if(CMAKE_INSTALL_DO_STRIP)
      file(GLOB found \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/lib/dtrain/*.so*\")
      list(FILTER found EXCLUDE REGEX \"/libcu[^/]*$\")
      foreach(library IN LISTS found)
        if(NOT IS_SYMLINK \"\${library}\")
          execute_process(COMMAND \"${CMAKE_STRIP}\" --strip-unneeded \"\${library}\" COMMAND_ERROR_IS_FATAL ANY)
        endif()
      endforeach()
    endif()")

  install(PROGRAMS scripts/fetch_dataset scripts/install_on_hosts scripts/launch_mpirun scripts/launch_ssh
                   scripts/make_table scripts/slurm.sbatch DESTINATION share/dtrain/scripts)
  install(DIRECTORY configs DESTINATION share/dtrain)
  install(DIRECTORY docs datasets DESTINATION share/doc/dtrain FILES_MATCHING PATTERN "*.md")
  install(FILES README.md LICENSE DESTINATION share/doc/dtrain)
  install(FILES LICENSE DESTINATION share/doc/dtrain RENAME copyright)  # where Debian looks for it

  # What the program prints of itself, made when it is installed: by then it is built.
  set(made "${PROJECT_BINARY_DIR}/for_install")
  install(CODE "
    set(PROGRAM \"$<TARGET_FILE:${target}>\")
    set(MADE \"${made}\")
    set(SYSTEM_LIBRARIES [=[${system_libraries}]=])
    set(HAS_PJRT \"${DTRAIN_HAS_PJRT}\")
    set(HAS_PARQUET \"${DTRAIN_HAS_PARQUET}\")
    set(ARROW_VERSION \"${DTRAIN_ARROW_VERSION}\")
    set(LIBTORCH_VERSION \"${LIBTORCH_VERSION}\")
    set(LIBTORCH_LIBRARY \"${LIBTORCH_CPU_LIBRARY}\")
    set(COMPILED_IN \"${ARCHIVE_STATIC_LIBRARY}\" \"${TIFF_STATIC_LIBRARY}\" \"${CLI11_DIR}/CLI11Config.cmake\"
        \"${nlohmann_json_DIR}/nlohmann_jsonConfig.cmake\" \"${GLOO_INCLUDE_DIR}/gloo/transport/tcp/device.h\")
    include(\"${PROJECT_SOURCE_DIR}/cmake/made_for_install.cmake\")")
  install(DIRECTORY "${made}/share" DESTINATION .)
endfunction()

# Packages: scripts/package.
set(CPACK_GENERATOR TXZ DEB)
set(CPACK_PACKAGE_NAME dtrain)
set(CPACK_PACKAGE_CONTACT "The authors of dtrain <dtrain@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "native distributed trainer on LibTorch")
set(CPACK_PACKAGE_DESCRIPTION "A job spec in YAML goes in, a trained model and its numbers come out: on cores, GPUs or hosts, "
    "compared with a run on one device. LibTorch and all other libraries are inside.")
string(JOIN "" CPACK_PACKAGE_DESCRIPTION ${CPACK_PACKAGE_DESCRIPTION})
set(CPACK_PACKAGE_FILE_NAME "dtrain-${PROJECT_VERSION}-linux-${CMAKE_SYSTEM_PROCESSOR}")
set(CPACK_RESOURCE_FILE_LICENSE "${PROJECT_SOURCE_DIR}/LICENSE")
set(CPACK_PACKAGE_CHECKSUM SHA256)
set(CPACK_STRIP_FILES ON)
set(CPACK_THREADS 0)  # as many as there are cores
set(CPACK_PACKAGE_DIRECTORY "${PROJECT_BINARY_DIR}/packages")
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
# All else is inside, which dpkg-shlibdeps would not believe. scripts/package adds the version of glibc that is needed.
string(REGEX MATCH "^[0-9]+" compiler "${CMAKE_CXX_COMPILER_VERSION}")
set(CPACK_DEBIAN_PACKAGE_DEPENDS "libc6, libgcc-s1, libstdc++6 (>= ${compiler})")
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "libcurl4 | libcurl4t64")  # for data at addresses
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "dataset-fashion-mnist, openmpi-bin")
include(CPack)

add_custom_target(uninstall COMMAND ${CMAKE_COMMAND} "-DFOLDER=${PROJECT_BINARY_DIR}"
                                    -P "${PROJECT_SOURCE_DIR}/cmake/uninstall.cmake" VERBATIM)
