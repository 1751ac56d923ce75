"""The workload in PyTorch DistributedDataParallel, one process a replica: torchrun starts them."""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.algorithms.ddp_comm_hooks import default_hooks

import peer
import torch_models


def shares(images, labels, batch, rank, replicas):
    """Batches of this rank, without end: a new order every epoch, the same on all ranks."""
    order = torch.Generator()
    epoch = 0
    while True:
        order.manual_seed(epoch)
        permutation = torch.randperm(len(images), generator=order)
        for begin in range(rank * batch, len(images) - replicas * batch + rank * batch + 1, replicas * batch):
            chosen = permutation[begin : begin + batch]
            yield images[chosen], labels[chosen]
        epoch += 1


def main():
    options = peer.options(compress=["none", "bf16"])
    torch.set_num_threads(1)
    rank = int(os.environ["RANK"])
    # A core for each replica of this host, as dtrain does.
    cores = sorted(os.sched_getaffinity(0))
    if int(os.environ["LOCAL_WORLD_SIZE"]) <= len(cores):
        os.sched_setaffinity(0, {cores[int(os.environ["LOCAL_RANK"])]})
    dist.init_process_group("gloo")
    torch.manual_seed(42)
    images, labels = (torch.from_numpy(array) for array in peer.load_data(options.data))
    images = images.unsqueeze(1)
    if options.model.startswith("resnet"):
        images = images.contiguous(memory_format=torch.channels_last)
    model = torch_models.make_model(options.model)
    parallel = nn.parallel.DistributedDataParallel(model, gradient_as_bucket_view=True)
    if options.compress == "bf16":
        parallel.register_comm_hook(None, default_hooks.bf16_compress_hook)
    optimizer = torch.optim.Adam(parallel.parameters(), lr=peer.LEARNING_RATE, fused=True)
    loss_of = nn.CrossEntropyLoss()
    total = torch.zeros(())
    batches = shares(images, labels, options.batch, rank, options.replicas)
    for step in range(1, options.steps + 1):
        inputs, targets = next(batches)
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cpu", torch.bfloat16, enabled=options.model.endswith("_bf16")):
            outputs = parallel(inputs)
        loss = loss_of(outputs.float(), targets)
        loss.backward()
        optimizer.step()
        total += loss.detach()
        if step % options.window == 0:
            if rank == 0:
                peer.report(step, total / options.window)
            total.zero_()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
