// Reads output as a terminal shows it.
#pragma once

#include <algorithm>
#include <sstream>
#include <string>
#include <vector>

#include "catch.h"

namespace dtrain {

// What a terminal of `width` columns shows after such output, line by line. Fails when a line wraps, or when
// something but \r, \n and "erase to the end of the line" moves the cursor.
inline std::vector<std::string> screen(const std::string& output, size_t width) {
  std::vector<std::string> lines(1);
  size_t column = 0;
  for (size_t at = 0; at < output.size(); ++at) {
    std::string& line = lines.back();
    if (output[at] == '\n') {
      lines.emplace_back();
      column = 0;
    } else if (output[at] == '\r') {
      column = 0;
    } else if (output[at] == '\x1b') {
      REQUIRE(output.substr(at, 3) == "\x1b[K");
      line.resize(column);
      at += 2;
    } else {
      REQUIRE(static_cast<unsigned char>(output[at]) >= 0x20);
      line.resize(std::max(line.size(), column + 1));
      line[column++] = output[at];
    }
    REQUIRE(lines.back().size() <= width);
  }
  return lines;
}

// What a person reads of output with colours.
inline std::string without_colours(const std::string& text) {
  std::string plain;
  for (size_t at = 0; at < text.size(); ++at) {
    if (text.compare(at, 2, "\x1b[") == 0 && text.find('m', at) != std::string::npos) {
      at = text.find('m', at);
    } else {
      plain += text[at];
    }
  }
  return plain;
}

inline size_t widest_line(const std::string& text) {
  std::istringstream lines(text);
  size_t widest = 0;
  for (std::string line; std::getline(lines, line);) widest = std::max(widest, line.size());
  return widest;
}

}  // namespace dtrain
