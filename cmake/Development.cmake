# What builds plug-ins, as the component `development`: plugin.h, the package that find_package(dtrain) finds, and the
# headers of this LibTorch, which are the only ones that fit. It lies in the build folder below `development` as it is
# installed, with a link to the headers.
include(CMakePackageConfigHelpers)
set(development "${PROJECT_BINARY_DIR}/development")
configure_file("${PROJECT_SOURCE_DIR}/lib/nets/plugins/plugin.h" "${development}/include/dtrain/plugin.h" COPYONLY)
configure_file("${PROJECT_SOURCE_DIR}/cmake/dtrainConfig.cmake.in" "${development}/lib/cmake/dtrain/dtrainConfig.cmake"
               @ONLY)
write_basic_package_version_file("${development}/lib/cmake/dtrain/dtrainConfigVersion.cmake"
                                 VERSION ${PROJECT_VERSION} COMPATIBILITY SameMinorVersion)
file(CREATE_LINK "${LIBTORCH_INCLUDE_DIR}" "${development}/include/dtrain/libtorch" SYMBOLIC)

set(as_development COMPONENT development EXCLUDE_FROM_ALL)
install(DIRECTORY "${development}/lib/cmake" DESTINATION lib ${as_development})
install(FILES "${development}/include/dtrain/plugin.h" DESTINATION include/dtrain ${as_development})
# Those of its own: beside them lie headers of other libraries, which these do not include.
foreach(folder ATen c10 caffe2 torch)
  install(DIRECTORY "${LIBTORCH_INCLUDE_DIR}/${folder}" DESTINATION include/dtrain/libtorch ${as_development})
endforeach()
file(GLOB licences "${LIBTORCH_INCLUDE_DIR}/../../torch-${LIBTORCH_VERSION}*.dist-info/licenses/*")
install(FILES LICENSE DESTINATION share/doc/dtrain ${as_development})
install(FILES ${licences} DESTINATION share/doc/dtrain/licences/torch ${as_development})
