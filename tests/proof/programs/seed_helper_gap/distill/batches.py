import numpy as np
import torch


class Batches:
    """Unlabelled inputs: a mix of two corners of the cube."""

    def __init__(self, dim: int, size: int, count: int):
        self.dim, self.size, self.count = dim, size, count

    def __iter__(self):
        for _ in range(self.count):
            corner = np.random.choice([0.2, 0.8], size=(self.size, 1))
            yield torch.as_tensor(np.random.beta(2, 2, (self.size, self.dim)) * corner, dtype=torch.float32)
