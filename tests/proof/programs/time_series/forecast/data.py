import math

import torch
from torch.utils.data import Dataset, DataLoader, random_split


class Windows(Dataset):
    def __init__(self, series: torch.Tensor, window: int):
        self.series = series
        self.window = window

    def __len__(self) -> int:
        return len(self.series) - self.window

    def __getitem__(self, i: int):
        return self.series[i:i + self.window, None], self.series[i + self.window]


def energy_demand(days: int = 12) -> torch.Tensor:
    hours = torch.arange(days * 24, dtype=torch.float32)
    return torch.sin(hours * 2 * math.pi / 24) + 0.3 * torch.sin(hours * 2 * math.pi / 168)


def loaders(cfg):
    windows = Windows(energy_demand(), cfg.window)
    n_val = int(len(windows) * cfg.val_fraction)
    train, val = random_split(windows, [len(windows) - n_val, n_val])
    return DataLoader(train, batch_size=32, drop_last=True), DataLoader(val, batch_size=64)
