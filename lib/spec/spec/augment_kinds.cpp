#include "spec/augment_kinds.h"

#include <fmt/format.h>

#include "core/named.h"
#include "yaml/yaml_text.h"

namespace dtrain {
namespace {

const Choices kDirections{"direction", {"horizontal", "vertical"}};
const Choices kPaddingModes{"mode", {"zero", "reflect"}};

std::vector<Contradiction> rotate_contradictions(const KindFields& own) {
  const std::vector<double>& degrees = own.get<RotateFields>().degrees;
  if (degrees.size() != 1 || degrees[0] >= 0) return {};
  return {{"degrees", "degrees",
           fmt::format("{} is not how far; write {}, or a list with the least and the most",
                       number_text(degrees[0]), number_text(-degrees[0]))}};
}

std::vector<Contradiction> color_jitter_contradictions(const KindFields& own) {
  const auto& [brightness, contrast, saturation, hue] = own.get<ColourFields>();
  if (brightness != 0 || contrast != 0 || saturation != 0 || hue != 0) return {};
  return {{"", "", "changes nothing; give brightness, contrast, saturation or hue, such as brightness: 0.4"}};
}

// clang-format off
template <class Own>
Field<KindFields> fill_field() {
  return KIND_FIELD(Own, fill, .doc = "the value of new corners, or of erased pixels", .bounds = between(0, 255));
}

Field<KindFields> scale_field(const std::string& otherwise) {
  return KIND_FIELD(BoxFields, scale, .doc = "the smallest and the largest area to keep or erase, as a part of "
      "the picture's area", .bounds = {0.0, 1.0, true, false}, .length = {2, 2}, .is_range = true,
                    .otherwise = otherwise);
}
Field<KindFields> ratio_field(const std::string& otherwise) {
  return KIND_FIELD(BoxFields, ratio, .doc = "the smallest and the largest ratio of that area's width to its height",
                    .bounds = between(1e-3, 1e3), .length = {2, 2}, .is_range = true, .otherwise = otherwise);
}

Field<KindFields> alpha_field(const std::string& otherwise) {
  return KIND_FIELD(MixingFields, alpha, .doc = "draw the share of the picture itself from Beta(alpha, alpha): "
      "with 1 all shares are equally likely, with less those near 0 and 1 are likelier", .bounds = between(0.01, 100),
                    .otherwise = otherwise);
}

}  // namespace

const std::vector<AugmentKind>& all_augmentations() {
  static const std::vector<AugmentKind> kinds = {
      {.name = "flip", .fields = {
        KIND_FIELD(FlipFields, direction, .doc = "horizontal: swap left and right; vertical: swap top and bottom",
                   .choices = &kDirections),
      }, .probability = 0.5},
      {.name = "random_crop", .fields = {
        KIND_FIELD(ShiftFields, padding, .doc = "move the picture by up to this much in each direction",
                   .unit = "pixels", .bounds = between(1, 4096)),
        KIND_FIELD(ShiftFields, padding_mode, .doc = "the new border: black, or the picture reflected",
                   .choices = &kPaddingModes),
      }},
      {.name = "random_resized_crop", .fields = {scale_field("`[0.08, 1]`"), ratio_field("`[0.75, 1.333]`")}},
      {.name = "rotate", .fields = {
        KIND_FIELD(RotateFields, degrees, .doc = "the largest rotation in either direction; or the least and the "
            "most, counter-clockwise", .bounds = between(-180, 180), .length = {1, 2},
                   .one_or_more = true, .is_range = true, .required = true),
        fill_field<RotateFields>(),
      }, .contradictions = rotate_contradictions},
      {.name = "color_jitter", .fields = {
        KIND_FIELD(ColourFields, brightness, .doc = "multiply pixels by a factor from 1 - this, at least 0, to 1 "
            "+ this", .bounds = between(0, 100)),
        KIND_FIELD(ColourFields, contrast, .doc = "multiply their distance from the picture's mean grey by such "
            "a factor", .bounds = between(0, 100)),
        KIND_FIELD(ColourFields, saturation, .doc = "multiply their distance from their own grey by such a factor",
                   .bounds = between(0, 100)),
        KIND_FIELD(ColourFields, hue, .doc = "rotate the hue by up to this part of the colour circle, in either "
            "direction", .bounds = between(0, 0.5)),
      }, .contradictions = color_jitter_contradictions},
      {.name = "random_erasing", .fields = {
        scale_field("`[0.02, 0.33]`"), ratio_field("`[0.303, 3.333]`"), fill_field<BoxFields>(),
      }, .probability = 0.5},
      {.name = "trivial_augment", .fields = {fill_field<BoxFields>()}},
      {.name = "mixup", .fields = {alpha_field("0.2")}, .mixes = true},
      {.name = "cutmix", .fields = {alpha_field("1")}, .mixes = true},
  };
  return kinds;
}

#define AUGMENT(...) FIELD(AugmentSpec, __VA_ARGS__)

template <>
const EntryList<AugmentSpec>& entry_list() {
  static const EntryList<AugmentSpec> list = {
      .path = "data.augment", .one = "an operation", .many = "operations",
      .example = "{kind: random_crop, padding: 4}", .kinds = augment_kinds(), .fields = joined<AugmentSpec>({{
      AUGMENT(kind, .doc = "what is done", .choices = &augment_kinds(), .required = true),
      AUGMENT(probability, .doc = "the probability with which it is applied to an example", .bounds = between(0, 1),
              .otherwise = "flip, random_erasing: 0.5; others: 1"),
  }, fields_of_kinds<AugmentSpec>(all_augmentations(), "", [](auto& spec) -> auto& { return spec; })})};
  return list;
}
// clang-format on

const AugmentKind& augment_kind(const std::string& name) {
  return row_named(all_augmentations(), name, "operation");
}

const Choices& augment_kinds() {
  static const Choices choices{"operation", names_of_rows(all_augmentations())};
  return choices;
}

bool AugmentSpec::mixes() const { return !kind.empty() && augment_kind(kind).mixes; }

}  // namespace dtrain
