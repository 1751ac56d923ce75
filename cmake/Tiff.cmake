# Finds libtiff: TIFF_LIBRARIES. The static one where it is there, because the shared one brings the libraries of every
# compression along, and one of them (jbigkit) is under the GPL. lib/data/codecs/tiff.cpp leaves these compressions out.
find_package(TIFF 4.3 REQUIRED)
find_library(TIFF_STATIC_LIBRARY libtiff.a)
set(TIFF_LIBRARIES "${TIFF_STATIC_LIBRARY}")
foreach(name jpeg deflate)
  find_library(TIFF_NEEDS_${name} ${name})
  list(APPEND TIFF_LIBRARIES "${TIFF_NEEDS_${name}}")
endforeach()
list(APPEND TIFF_LIBRARIES ZLIB::ZLIB)
if(TIFF_LIBRARIES MATCHES "NOTFOUND")
  set(TIFF_LIBRARIES TIFF::TIFF)
endif()
