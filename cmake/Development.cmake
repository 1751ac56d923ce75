# What builds plug-ins: plugin.h and the package that find_package(dtrain) finds, in the build folder below `development`
# as they are installed, as the component `development`.
include(CMakePackageConfigHelpers)
set(development "${PROJECT_BINARY_DIR}/development")
configure_file("${PROJECT_SOURCE_DIR}/lib/nets/plugins/plugin.h" "${development}/include/dtrain/plugin.h" COPYONLY)
configure_file("${PROJECT_SOURCE_DIR}/cmake/dtrainConfig.cmake.in" "${development}/lib/cmake/dtrain/dtrainConfig.cmake"
               @ONLY)
write_basic_package_version_file("${development}/lib/cmake/dtrain/dtrainConfigVersion.cmake"
                                 VERSION ${PROJECT_VERSION} COMPATIBILITY SameMinorVersion)
install(DIRECTORY "${development}/" DESTINATION . COMPONENT development EXCLUDE_FROM_ALL)
