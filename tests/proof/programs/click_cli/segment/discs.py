import random

import torch
from torch.utils.data import Dataset


class Discs(Dataset):
    def __init__(self, n, size=16):
        self.n, self.size = n, size
        ax = torch.arange(size)
        self.yy, self.xx = torch.meshgrid(ax, ax, indexing="ij")

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        cx, cy, r = random.uniform(4, 12), random.uniform(4, 12), random.uniform(2, 4)
        mask = ((self.xx - cx) ** 2 + (self.yy - cy) ** 2 < r * r).float()[None]
        return mask * 0.8 + torch.rand(1, self.size, self.size) * 0.4, mask
