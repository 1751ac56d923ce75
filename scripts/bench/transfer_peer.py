"""A training in phases in PyTorch: layers that are not trained have requires_grad=False, and their batch norms are in
evaluation mode. Imported by transfer.py, and started by torchrun for its timings."""

import json
import os
import sys
import time

import numpy
import torch
import torch.distributed as dist
from torch import nn

# (filters, stride) of a 3x3 convolution without a bias, each with a batch norm and a ReLU after it.
CONVOLUTIONS = [(32, 1), (64, 2), (128, 2), (128, 1)]
CLASSES = 10


def make_model(channels):
    layers, width = [], channels
    for filters, stride in CONVOLUTIONS:
        layers += [
            nn.Conv2d(width, filters, 3, stride, padding=1, bias=False),
            nn.BatchNorm2d(filters, eps=1e-3, momentum=0.1),
            nn.ReLU(),
        ]
        width = filters
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(width, CLASSES))


def freeze(model, trained):
    """Trains the modules from number `trained` on. Returns the parameters that are trained."""
    for number, module in enumerate(model):
        for parameter in module.parameters():
            parameter.requires_grad_(number >= trained)
        module.train(number >= trained)
    return [parameter for parameter in model.parameters() if parameter.requires_grad]


def train_phase(parallel, optimizer, batches):
    loss_of = nn.CrossEntropyLoss()
    for inputs, targets in batches:
        optimizer.zero_grad(set_to_none=True)
        loss_of(parallel(inputs), targets).backward()
        optimizer.step()


def main():
    folder, trained, epochs, batch = sys.argv[1], *(int(text) for text in sys.argv[2:5])
    torch.set_num_threads(1)
    os.sched_setaffinity(0, {sorted(os.sched_getaffinity(0))[int(os.environ["LOCAL_RANK"])]})
    dist.init_process_group("gloo")
    rank, replicas = dist.get_rank(), dist.get_world_size()
    data = numpy.load(os.path.join(folder, "data.npz"))
    images = torch.from_numpy(data["x_train"]).contiguous(memory_format=torch.channels_last)
    labels = torch.from_numpy(data["y_train"])
    torch.manual_seed(42)
    model = make_model(images.shape[1]).to(memory_format=torch.channels_last)
    parameters = freeze(model, trained)
    parallel = nn.parallel.DistributedDataParallel(model, gradient_as_bucket_view=True)
    optimizer = torch.optim.Adam(parameters, lr=1e-3)
    seconds = []
    for epoch in range(epochs):
        order = torch.randperm(len(images), generator=torch.Generator().manual_seed(epoch))
        begins = range(rank * batch, len(images) - replicas * batch + rank * batch + 1, replicas * batch)
        dist.barrier()
        start = time.perf_counter()
        train_phase(
            parallel,
            optimizer,
            ((images[order[begin : begin + batch]], labels[order[begin : begin + batch]]) for begin in begins),
        )
        dist.barrier()
        seconds.append(time.perf_counter() - start)
    if rank == 0:
        print(json.dumps(seconds))
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
