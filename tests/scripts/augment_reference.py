#!/usr/bin/env python3
"""Prints tests/data/augment/torchvision_values.h: what torchvision makes of a small picture.

    python3 augment_reference.py > tests/data/augment/torchvision_values.h

Needs torch and torchvision; the tests only read what it printed.
"""
import math

import torch
import torchvision
from torchvision.transforms import InterpolationMode
from torchvision.transforms.v2 import functional

SHAPE = (3, 6, 7)


def picture(channels):
    """The picture that tests/data/augment/torchvision_test.cpp makes, too."""
    return picture_of(channels, *SHAPE[1:])


def picture_of(*shape):
    index = torch.arange(torch.Size(shape).numel())
    return ((index * index * 31 + index * 77 + 13) % 256).to(torch.uint8).reshape(shape)


def cases():
    colour, grey = picture(3), picture(1)
    for factor in (0.6, 1.7):
        yield "brightness", factor, functional.adjust_brightness(colour, factor)
    for factor in (0.5, 1.8):
        yield "contrast", factor, functional.adjust_contrast(colour, factor)
    yield "contrast_of_grey", 0.4, functional.adjust_contrast(grey, 0.4)
    for factor in (0.3, 2.0):
        yield "saturation", factor, functional.adjust_saturation(colour, factor)
    for turns in (0.1, -0.3, 0.5):
        yield "hue", turns, functional.adjust_hue(colour, turns)
    for degrees in (17, -100, 180, 3.5):
        yield "rotation", degrees, functional.rotate(colour, degrees, InterpolationMode.BILINEAR)
    for slope in (0.4, -0.7):
        angle = math.degrees(math.atan(slope))
        for name, shear in ("shear_x", [angle, 0]), ("shear_y", [0, angle]):
            slanted = functional.affine(colour, 0, [0, 0], 1, shear, InterpolationMode.BILINEAR, center=[0, 0])
            yield name, slope, slanted
    yield "translate_x", 2, functional.affine(colour, 0, [2, 0], 1, [0, 0], InterpolationMode.BILINEAR)
    yield "translate_y", -3, functional.affine(colour, 0, [0, -3], 1, [0, 0], InterpolationMode.BILINEAR)
    for factor in (0.2, 1.9):
        yield "sharpness", factor, functional.adjust_sharpness(colour, factor)
    yield "posterize", 3, functional.posterize(colour, 3)
    yield "solarize", 127.5, functional.solarize(colour, 127.5)
    yield "autocontrast", 0, functional.autocontrast(colour // 2 + 20)
    yield "equalize", 0, functional.equalize(picture_of(1, 20, 21))
    yield "scaled_box", 0, functional.resized_crop(colour, 1, 2, 4, 3, list(SHAPE[1:]), antialias=True)


def main():
    print(f"// Printed by tests/scripts/augment_reference.py with torchvision {torchvision.__version__.split('+')[0]}.\n"
          "#pragma once\n\n#include <cstdint>\n#include <string>\n#include <vector>\n\nnamespace dtrain::test {\n\n"
          "struct TorchvisionCase {\n  std::string operation;\n  double factor;\n  std::vector<uint8_t> pixels;\n};\n\n"
          "// clang-format off\ninline const std::vector<TorchvisionCase> kTorchvisionCases = {")
    for operation, factor, result in cases():
        values = [str(value) for value in result.flatten().tolist()]
        print(f'    {{"{operation}", {factor}, {{')
        for begin in range(0, len(values), 21):
            print("        " + ", ".join(values[begin:begin + 21]) + ",")
        print("    }},")
    print("};\n// clang-format on\n\n}  // namespace dtrain::test")


if __name__ == "__main__":
    main()
