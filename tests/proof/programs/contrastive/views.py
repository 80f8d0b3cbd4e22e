import numpy as np
import torch

rng = np.random.default_rng()


def jitter(x, sigma=0.1):
    return x + rng.normal(0, sigma, x.shape)


def scale(x, low=0.7, high=1.3):
    return x * rng.uniform(low, high, size=(x.shape[0], 1))


def mask(x, share=0.2):
    return np.where(rng.random(x.shape) < share, 0, x)


def two_views(x):
    first, second = mask(scale(jitter(x))), mask(scale(jitter(x)))
    return torch.from_numpy(first).float(), torch.from_numpy(second).float()
