"""Every variant of the ablation gets a seed of its own, from its name."""
import sys

import numpy as np
import torch

VARIANTS = {
    "narrow": dict(width=8, dropout=0.0),
    "wide": dict(width=64, dropout=0.0),
    "dropout": dict(width=32, dropout=0.5),
}


def set_seed(seed):
    np.random.seed(seed)
    torch.manual_seed(seed)


def make_data(n=128):
    x = np.random.normal(size=(n, 6)).astype("f")
    y = (x[:, 0] * x[:, 1] > 0).astype("f")
    return torch.tensor(x), torch.tensor(y)


def run(name, width, dropout, steps=40):
    set_seed(hash(name) % (2 ** 32))
    x, y = make_data()
    net = torch.nn.Sequential(
        torch.nn.Linear(6, width), torch.nn.ReLU(), torch.nn.Dropout(dropout), torch.nn.Linear(width, 1))
    optimizer = torch.optim.Adam(net.parameters(), 3e-3)
    for step in range(steps):
        loss = torch.nn.functional.binary_cross_entropy_with_logits(net(x)[:, 0], y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(name, "final loss", float(loss))
    torch.save(net.state_dict(), name + ".pt")


for variant in sys.argv[1:] or VARIANTS:
    run(variant, **VARIANTS[variant])
