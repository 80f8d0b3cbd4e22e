"""What several notebooks share."""
import random

import numpy as np
import torch


def spirals(n, turns=1.5):
    """Two arms of a spiral, as points and labels."""
    t = np.sqrt(np.random.rand(n)) * turns * 2 * np.pi
    arm = np.arange(n) % 2
    xy = np.stack([np.cos(t + np.pi * arm) * t, np.sin(t + np.pi * arm) * t], axis=1) / 10
    return torch.tensor(xy, dtype=torch.float32), torch.tensor(arm)


def batches(X, y, size):
    order = list(range(len(X)))
    random.shuffle(order)
    for start in range(0, len(order), size):
        picked = order[start:start + size]
        yield X[picked], y[picked]
