import numpy as np
import torch
from torch.utils.data import IterableDataset


class PairStream(IterableDataset):
    """Endless pairs of small signals, half of them of the same kind."""

    def __init__(self, length=24, pairs=320, seed=None):
        self.length = length
        self.pairs = pairs
        self.rng = np.random.RandomState(seed)

    def signal(self, kind):
        x = np.linspace(0, 1, self.length)
        wave = np.sin(2 * np.pi * (kind + 1) * x + self.rng.uniform(0, 6.28))
        return torch.tensor(wave + self.rng.normal(0, 0.1, self.length), dtype=torch.float32)

    def __iter__(self):
        for i in range(self.pairs):
            a = self.rng.randint(4)
            same = i % 2
            b = a if same else (a + 1 + self.rng.randint(3)) % 4
            yield self.signal(a), self.signal(b), float(same)
