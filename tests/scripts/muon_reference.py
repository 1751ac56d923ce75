#!/usr/bin/env python3
"""Prints tests/nets/optim/muon_values.h: what 100 steps of torch.optim.Muon make of three matrices, in float64.

    python3 muon_reference.py > tests/nets/optim/muon_values.h

Needs torch 2.9 or later; the tests only read what it printed.
"""
import torch

# torch.optim.Muon rounds each update to bfloat16 before it computes with it. All else of it stays.
torch.Tensor.bfloat16 = torch.Tensor.clone

SHAPES = ((5, 3), (2, 3, 2, 2), (4, 4))
STEPS = 100


def numbers_of(matrix):
    index = torch.arange(matrix.numel(), dtype=torch.float64).reshape(matrix.shape)
    return index * index


def gradient_at(matrix, step):
    """As in muon_test.cpp. So large that the 1e-7 of torch's least norm, and of dtrain's sum, do not count."""
    return 1e6 * ((numbers_of(matrix) * 0.37 + step * 0.1).sin() + matrix * 0.1)


def trained(nesterov, weight_decay):
    # torch.optim.Muon refuses kernels of convolutions; they are matrices [out, in * height * width] to dtrain.
    starts = [torch.zeros(shape, dtype=torch.float64).flatten(1) for shape in SHAPES]
    matrices = [torch.nn.Parameter((numbers_of(start) * 0.7).cos()) for start in starts]
    optimizer = torch.optim.Muon(matrices, lr=0.02, momentum=0.9, nesterov=nesterov, weight_decay=weight_decay)
    for step in range(1, STEPS + 1):
        for matrix in matrices:
            matrix.grad = gradient_at(matrix.detach(), step)
        optimizer.step()
    return [value for matrix in matrices for value in matrix.detach().flatten().tolist()]


def main():
    print(f"// Printed by tests/scripts/muon_reference.py, by PyTorch {torch.__version__.split('+')[0]}.")
    print("#pragma once\n\n#include <vector>\n\nnamespace dtrain {\n")
    print("struct MuonValues {\n  bool nesterov;\n  double weight_decay;")
    print("  std::vector<double> parameters;  // of all matrices, one after the other\n};\n")
    print("inline const std::vector<MuonValues> kMuonValues = {")
    for nesterov, decay in ((True, 0.1), (False, 0.0)):
        values = ", ".join(f"{value:.17g}" for value in trained(nesterov, decay))
        print(f"    {{{str(nesterov).lower()}, {decay}, {{{values}}}}},")
    print("};\n\n}  // namespace dtrain")


main()
