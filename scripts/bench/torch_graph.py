"""The workload in PyTorch with the whole step in one CUDA graph, by hand: batch gathered from data on the device,
forward, loss, backward and fused Adam."""

import argparse
import pathlib

import torch
from torch import nn

import peer
import torch_models
from torch_gpu import batches, load

WARM_UP = 11  # eager steps before the capture, as dtrain's


def options():
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", choices=["mlp", "cnn"], required=True)
    parser.add_argument("--data", type=pathlib.Path, required=True, help="folder with MNIST's IDX files")
    parser.add_argument("--batch", type=int, required=True)
    parser.add_argument("--steps", type=int, required=True)
    parser.add_argument("--window", type=int, required=True, help="report every so many steps")
    parser.add_argument("--compile", action="store_true", help="the model by torch.compile, inside the graph")
    return parser.parse_args()


def captured(step):
    """A graph of `step`, after some runs on another stream: libraries set themselves up in their first calls."""
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(WARM_UP):
            step()
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step()
    return graph


def main():
    chosen = options()
    torch.manual_seed(42)
    torch.backends.cudnn.benchmark = True
    torch.set_float32_matmul_precision("high")  # as torch_gpu.py
    images, labels = load(chosen.data, "train")
    model = torch_models.make_model(chosen.model).cuda()
    forward = torch.compile(model) if chosen.compile else model
    optimizer = torch.optim.Adam(model.parameters(), lr=peer.LEARNING_RATE, fused=True, capturable=True)
    loss_of = nn.CrossEntropyLoss()
    total = torch.zeros((), device="cuda")
    rows = torch.arange(chosen.batch, device="cuda")  # what a replay reads: the numbers of the batch's examples

    def train_step():
        optimizer.zero_grad(set_to_none=True)  # backward then writes gradients instead of adding to zeros
        loss = loss_of(forward(images[rows]), labels[rows])
        loss.backward()
        optimizer.step()
        total.add_(loss.detach())

    graph = captured(train_step)
    total.zero_()
    for step, of_step in batches(len(images), chosen.batch, chosen.steps):
        rows.copy_(of_step)
        graph.replay()
        if step % chosen.window == 0:
            peer.report(step, total / chosen.window)
            total.zero_()


if __name__ == "__main__":
    main()
