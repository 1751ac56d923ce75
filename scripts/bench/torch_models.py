"""The models of the benchmarks in PyTorch."""

import torch
from torch import nn

import peer


def make_model(kind):
    if kind == "resnet18":
        return ResNet18(LARGE_STEM)
    if kind in ("resnet", "resnet_bf16"):
        return ResNet18(SMALL_STEM).to(memory_format=torch.channels_last)
    if kind in peer.HIDDEN:
        layers = [nn.Flatten()]
        width = 784
        for units in peer.HIDDEN[kind]:
            layers += [nn.Linear(width, units), nn.ReLU()]
            width = units
        return nn.Sequential(*layers, nn.Linear(width, peer.CLASSES))
    side = (28 - peer.KERNEL + 1) // peer.POOL
    return nn.Sequential(
        nn.Conv2d(1, peer.FILTERS, peer.KERNEL),
        nn.ReLU(),
        nn.MaxPool2d(peer.POOL),
        nn.Flatten(),
        nn.Linear(peer.FILTERS * side * side, peer.DENSE),
        nn.ReLU(),
        nn.Linear(peer.DENSE, peer.CLASSES),
    )


class Block(nn.Module):
    """Two convolutions and what goes around them (He et al. 2016, Deep Residual Learning, figure 2 left)."""

    def __init__(self, inputs, outputs, stride):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(inputs, outputs, 3, stride, padding=1, bias=False),
            nn.BatchNorm2d(outputs),
            nn.ReLU(),
            nn.Conv2d(outputs, outputs, 3, padding=1, bias=False),
            nn.BatchNorm2d(outputs),
        )
        self.shortcut = nn.Identity()
        if stride != 1 or inputs != outputs:
            self.shortcut = nn.Sequential(nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs))

    def forward(self, images):
        return torch.relu(self.body(images) + self.shortcut(images))


LARGE_STEM = [nn.Conv2d(3, 64, 7, 2, padding=3, bias=False), nn.BatchNorm2d(64), nn.ReLU(), nn.MaxPool2d(3, 2, 1)]
SMALL_STEM = [nn.Conv2d(1, 64, 3, padding=1, bias=False), nn.BatchNorm2d(64), nn.ReLU()]  # for MNIST


class ResNet18(nn.Sequential):
    def __init__(self, stem):
        blocks = []
        width = 64
        for stage in range(4):
            outputs = 64 << stage
            blocks += [Block(width, outputs, 1 if stage == 0 else 2), Block(outputs, outputs, 1)]
            width = outputs
        head = [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(width, peer.CLASSES)]
        super().__init__(*stem, *blocks, *head)
