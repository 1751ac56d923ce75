// What the metadata of a photograph says about how it was taken.
#pragma once

#include <string>

namespace dtrain {

// The orientation in the EXIF segment of a JPEG file (CIPA DC-008, tag 0x0112): 1 (upright) to 8; 1 without
// one, or if it is damaged. Reads nothing outside of `jpeg`.
int exif_orientation(const std::string& jpeg);

}  // namespace dtrain
