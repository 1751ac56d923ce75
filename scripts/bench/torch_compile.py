"""The workload in PyTorch on one core: eager, or compiled by torch.compile."""

import os

import torch
from torch import nn

import peer
import torch_ddp
import torch_models


def main():
    options = peer.options(loops=["compiled", "eager"])
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    torch.set_num_threads(1)
    torch.manual_seed(42)
    images, labels = (torch.from_numpy(array) for array in peer.load_data(options.data))
    images = images.unsqueeze(1)
    model = torch_models.make_model(options.model)
    optimizer = torch.optim.Adam(model.parameters(), lr=peer.LEARNING_RATE, fused=True)
    loss_of = nn.CrossEntropyLoss()

    def loss_of_batch(inputs, targets):
        return loss_of(model(inputs), targets)

    if options.loop == "compiled":
        loss_of_batch = torch.compile(loss_of_batch)
    total = torch.zeros(())
    batches = torch_ddp.shares(images, labels, options.batch, 0, 1)
    for step in range(1, options.steps + 1):
        inputs, targets = next(batches)
        optimizer.zero_grad(set_to_none=True)
        loss = loss_of_batch(inputs, targets)
        loss.backward()
        optimizer.step()
        total += loss.detach()
        if step % options.window == 0:
            peer.report(step, total / options.window)
            total.zero_()


if __name__ == "__main__":
    main()
