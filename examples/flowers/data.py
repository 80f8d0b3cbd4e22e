"""The flower pictures as a data set, and the loaders that train.py reads them with."""

import random
from pathlib import Path

import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset, random_split


class Flowers(Dataset):
    """Pictures under `root`, one folder per kind; every picture is flipped, shifted and made a little noisy."""

    def __init__(self, root):
        self.paths = list(Path(root).glob("*/*.npy"))
        self.classes = list({path.parent.name for path in self.paths})
        self.rng = np.random.default_rng()

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, index):
        path = self.paths[index]
        return torch.from_numpy(self.augment(np.load(path))), self.classes.index(path.parent.name)

    def augment(self, image):
        if random.random() < 0.5:
            image = image[:, :, ::-1]
        image = np.roll(image, np.random.randint(-2, 3), axis=2)
        return (image + self.rng.normal(0, 0.02, size=image.shape)).astype(np.float32)


def build_loaders(root, batch_size, workers):
    """(training loader, validation loader, names of the classes)"""
    flowers = Flowers(root)
    train_set, valid_set = random_split(flowers, [0.8, 0.2])
    train_loader = DataLoader(train_set, batch_size=batch_size, shuffle=True, num_workers=workers)
    valid_loader = DataLoader(valid_set, batch_size=batch_size, num_workers=workers)
    return train_loader, valid_loader, flowers.classes
