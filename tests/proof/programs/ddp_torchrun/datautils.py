import torch
from torch.utils.data import Dataset


class Planes(Dataset):
    """Points of a tilted plane."""

    def __init__(self, size):
        self.size = size
        grid = torch.linspace(-1, 1, size)
        self.data = [(torch.stack([x, (5 * x).cos()]), (2 * x - (5 * x).cos()).view(1)) for x in grid]

    def __len__(self):
        return self.size

    def __getitem__(self, index):
        x, y = self.data[index]
        return x + 0.05 * torch.randn(2), y
