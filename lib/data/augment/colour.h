// Operations that change colours, by the formulas of torchvision's functional.adjust_*. Each result is
// truncated to whole numbers. Pictures have one channel (grey) or three (red, green, blue).
#pragma once

#include "augment/picture.h"

namespace dtrain {

// Multiplies every pixel by `factor`, 0 or more.
void adjust_brightness(Picture& picture, double factor);
// Multiplies every pixel's distance from the mean of the grey picture by `factor`, 0 or more.
void adjust_contrast(Picture& picture, double factor);
// Multiplies every pixel's distance from its own grey by `factor`, 0 or more. Grey pictures stay as they are.
void adjust_saturation(Picture& picture, double factor);
// Turns every colour around the circle of colours by `turns`, -0.5 to 0.5. Grey pictures stay as they are.
void adjust_hue(Picture& picture, double turns);

}  // namespace dtrain
