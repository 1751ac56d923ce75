# Finds libarchive: ARCHIVE_LIBRARIES. The static one where it is there, because dtrain reads tar archives only, and the
# shared one brings libxml2 and ICU along, 35 MB, for other formats.
find_library(ARCHIVE_STATIC_LIBRARY libarchive.a)
set(ARCHIVE_LIBRARIES "${ARCHIVE_STATIC_LIBRARY}")
# What the readers of packed files need. Debian installs these for libarchive, perhaps without what a link asks for.
foreach(name lzma:5 zstd:1 lz4:1 bz2:1.0)
  string(REGEX MATCH "^(.*):(.*)$" name "${name}")
  find_library(ARCHIVE_NEEDS_${CMAKE_MATCH_1} NAMES ${CMAKE_MATCH_1} lib${CMAKE_MATCH_1}.so.${CMAKE_MATCH_2})
  list(APPEND ARCHIVE_LIBRARIES "${ARCHIVE_NEEDS_${CMAKE_MATCH_1}}")
endforeach()
list(APPEND ARCHIVE_LIBRARIES ZLIB::ZLIB)
if(ARCHIVE_LIBRARIES MATCHES "NOTFOUND")
  find_library(ARCHIVE_LIBRARY archive REQUIRED)
  set(ARCHIVE_LIBRARIES "${ARCHIVE_LIBRARY}")
endif()
