// The operations on pictures as a spec has them; room `augment` computes them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "spec/field_table.h"

namespace dtrain {

struct FlipFields {
  std::string direction = "horizontal";  // horizontal | vertical
};
struct ShiftFields {  // random_crop
  int64_t padding = 4;
  std::string padding_mode = "zero";  // zero | reflect
};
struct BoxFields {                             // random_resized_crop, random_erasing, trivial_augment
  std::vector<double> scale = {}, ratio = {};  // the least and the most; empty: those of the kind
  int64_t fill = 0;                            // random_erasing, trivial_augment
};
struct RotateFields {
  std::vector<double> degrees = {};  // one, for both directions, or the least and the most
  int64_t fill = 0;
};
struct ColourFields {  // color_jitter
  double brightness = 0, contrast = 0, saturation = 0, hue = 0;
};
struct MixingFields {                // mixup, cutmix
  std::optional<double> alpha = {};  // nullopt: that of the kind
};

struct AugmentKind {
  std::string name;
  Fields<KindFields> fields;
  Contradictions contradictions = nullptr;
  double probability = 1;  // by default
  bool mixes = false;      // as AugmentSpec::mixes()
};

const std::vector<AugmentKind>& all_augmentations();
// Throws Error(kBug) for an unknown name.
const AugmentKind& augment_kind(const std::string& name);

}  // namespace dtrain
