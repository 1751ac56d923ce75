// Folders of pictures made on the spot, and what datasets of them have.
#pragma once

#include <cstdint>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "data/data_files.h"
#include "data/example_source.h"
#include "files.h"
#include "pictures/picture_list.h"

namespace dtrain::test {

// A chunk of a PNG file, with a sound checksum.
std::string png_chunk(const std::string& kind, const std::string& content);

// A PNG file of any kind of pixels: `type` 0 (grey), 2 (colour), 3 (palette), 4 (grey and opacity) or 6. The
// rows have their numbers in bytes of `bits` each, the first byte first. `chunks` come before the pixels,
// `last` after them.
std::string png_of_rows(const std::vector<std::string>& rows, uint32_t width, int bits, int type,
                        const std::string& chunks = "", const std::string& last = "");

// A picture of a size of its own, with its own pixels; `number` decides them.
void write_picture(const std::filesystem::path& path, int number);

// "picture FIRST.png" and so on.
void write_class(const std::filesystem::path& folder, int pictures, int first = 0);

// A folder for pictures, and a cache of its own.
struct Pictures {
  TemporaryFolder temporary;
  Environment cache{"XDG_CACHE_HOME", (temporary.path() / "cache").c_str()};
  std::filesystem::path folder = temporary.path() / "pictures";
  DataSpec spec;

  Pictures();
  // daisy, rose and tulip; their numbers begin with 200, 300 and 100.
  void write_three_classes(const std::string& part = "", int pictures = 20) const;
  // What find_dataset() says.
  std::string error(ExitCode code = ExitCode::kData) const;
};

// The paths of the pictures of a part.
std::set<std::string> names_of(const PictureList& all, const std::vector<int64_t>& part);

// The names of all examples of a source.
std::vector<ExampleName> example_names(const ExampleSource& source);

// All examples of a source, as stored.
StoredExamples all_of(const ExampleSource& source);

}  // namespace dtrain::test
