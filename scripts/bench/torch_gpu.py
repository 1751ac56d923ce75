"""The workload in eager PyTorch DistributedDataParallel on one GPU, tuned: NCCL, fused Adam, all data on the device."""

import argparse
import os
import pathlib
import tempfile

import torch
import torch.distributed as dist
from torch import nn

import peer
import torch_models

IMAGE = (3, 128, 128)  # of the synthetic data for ResNet
SYNTHETIC_EXAMPLES = 2048


def options():
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", choices=["mlp", "cnn", "resnet18"], required=True)
    parser.add_argument("--data", type=pathlib.Path, help="folder with MNIST's IDX files")
    parser.add_argument("--batch", type=int, required=True)
    parser.add_argument("--steps", type=int, required=True)
    parser.add_argument("--window", type=int, required=True, help="report every so many steps")
    parser.add_argument("--bf16", action="store_true", help="autocast and channels_last")
    parser.add_argument("--compile", action="store_true")
    parser.add_argument("--evaluate", action="store_true", help="accuracy on the test images at the end")
    return parser.parse_args()


def load(folder, part):
    images, labels = peer.load_data(folder, part)
    return torch.from_numpy(images).unsqueeze(1).cuda(), torch.from_numpy(labels).cuda()


def batches(count, batch, steps):
    """Step after step, its number from 1 and the rows of its examples: a new order in each epoch, of whole batches."""
    step = 0
    while step < steps:
        order = torch.randperm(count, device="cuda")
        for rows in order[: count // batch * batch].split(batch)[: steps - step]:
            step += 1
            yield step, rows


def accuracy_of(model, folder):
    images, labels = load(folder, "t10k")
    model.eval()
    with torch.no_grad():
        return (model(images).argmax(1) == labels).float().mean().item()


def main():
    chosen = options()
    torch.manual_seed(42)
    torch.backends.cudnn.benchmark = True
    torch.set_float32_matmul_precision("high")  # TensorFloat-32, which cuDNN uses by itself
    if chosen.model == "resnet18":
        images = torch.rand(SYNTHETIC_EXAMPLES, *IMAGE, device="cuda")
        labels = torch.randint(peer.CLASSES, (SYNTHETIC_EXAMPLES,), device="cuda")
    else:
        images, labels = load(chosen.data, "train")
    model = torch_models.make_model(chosen.model).cuda()
    if chosen.bf16:
        model = model.to(memory_format=torch.channels_last)
        images = images.contiguous(memory_format=torch.channels_last)
    with tempfile.TemporaryDirectory() as folder:
        store = dist.FileStore(os.path.join(folder, "store"), 1)
        dist.init_process_group("nccl", store=store, rank=0, world_size=1, device_id=torch.device("cuda:0"))
        parallel = nn.parallel.DistributedDataParallel(model, device_ids=[0], gradient_as_bucket_view=True)
        forward = torch.compile(parallel) if chosen.compile else parallel
        optimizer = torch.optim.Adam(parallel.parameters(), lr=peer.LEARNING_RATE, fused=True)
        loss_of = nn.CrossEntropyLoss()
        total = torch.zeros((), device="cuda")
        for step, rows in batches(len(images), chosen.batch, chosen.steps):
            optimizer.zero_grad(set_to_none=True)
            with torch.autocast("cuda", torch.bfloat16, enabled=chosen.bf16):
                loss = loss_of(forward(images[rows]), labels[rows])
            loss.backward()
            optimizer.step()
            total += loss.detach()
            if step % chosen.window == 0:
                peer.report(step, total / chosen.window)
                total.zero_()
        if chosen.evaluate:
            peer.report_accuracy(accuracy_of(model, chosen.data))
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
