// Examples in image files.
#pragma once

#include "data/example_source.h"
#include "images/image_set.h"

namespace dtrain {

// The images of `set`, with labels int64 [n], decoded whenever they are read by as many threads as
// LibTorch has when this is called.
ExampleSourcePtr make_image_source(ImageSet set, at::Tensor labels);

}  // namespace dtrain
