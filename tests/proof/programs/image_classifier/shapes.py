"""Squares, crosses and stripes as 12x12 grey pictures."""
import numpy as np
import torch
from torch.utils.data import Dataset


def picture(kind, size):
    img = np.zeros((12, 12), dtype=np.float32)
    if kind == 0:
        img[3:3 + size, 3:3 + size] = 1
    elif kind == 1:
        img[6, 6 - size // 2:6 + size // 2] = 1
        img[6 - size // 2:6 + size // 2, 6] = 1
    else:
        img[::max(2, size // 2)] = 1
    return img


class Shapes(Dataset):
    def __init__(self, n, transform=None):
        self.n = n
        self.transform = transform

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        kind = i % 3
        img = picture(kind, 4 + i % 5)
        if self.transform:
            img = self.transform(img)
        return torch.from_numpy(img)[None], kind
