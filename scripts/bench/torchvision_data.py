"""Pictures read as PyTorch programs do: torchvision's transforms (v2), in two workers of a DataLoader."""

import torch
import torchvision
from torchvision.transforms import v2

import picture_peer


class Pictures(torch.utils.data.Dataset):
    def __init__(self, folder, size):
        self.files, self.labels = picture_peer.files_and_labels(folder)
        self.transform = v2.Compose(
            [
                v2.Resize((size, size), antialias=True),
                v2.RandomHorizontalFlip(),
                v2.ToDtype(torch.float32, scale=True),
            ]
        )

    def __len__(self):
        return len(self.files)

    def __getitem__(self, index):
        stored = torchvision.io.read_file(self.files[index])
        picture = torchvision.io.decode_jpeg(stored, mode=torchvision.io.ImageReadMode.RGB)
        return self.transform(picture), self.labels[index]


def endless(loader):
    while True:
        yield from loader


def main():
    options = picture_peer.options()
    torch.set_num_threads(1)
    pictures = Pictures(options.pictures, options.size)
    loader = torch.utils.data.DataLoader(
        pictures, options.batch, shuffle=True, drop_last=True, num_workers=2, persistent_workers=True
    )
    picture_peer.read_all(endless(loader), options)


if __name__ == "__main__":
    main()
