import argparse
import math
import random

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

from views import two_views


def gestures(per_class=30):
    """accelerometer curves of three gestures"""
    t = np.linspace(0, 2 * math.pi, 40)
    curves = [np.sin(t + i / per_class) for i in range(per_class)]
    curves += [np.sin(2 * t + i / per_class) for i in range(per_class)]
    curves += [np.sign(np.sin(t + i / per_class)) for i in range(per_class)]
    return np.stack(curves), np.repeat(np.arange(3), per_class)


def nt_xent(a, b, temperature=0.5):
    z = F.normalize(torch.cat([a, b]), dim=1)
    sim = z @ z.T / temperature
    sim.fill_diagonal_(-1e9)
    n = len(a)
    target = torch.cat([torch.arange(n, 2 * n), torch.arange(n)])
    return F.cross_entropy(sim, target)


@torch.no_grad()
def knn_accuracy(encoder, x, y, k=5):
    z = F.normalize(encoder(torch.from_numpy(x).float()), dim=1)
    sim = z @ z.T
    sim.fill_diagonal_(-1)
    votes = torch.from_numpy(y)[sim.topk(k, dim=1).indices]
    return (votes.mode(dim=1).values == torch.from_numpy(y)).float().mean().item()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    random.seed(args.seed)
    np.random.seed(args.seed)
    torch.manual_seed(args.seed)

    x, y = gestures()
    encoder = nn.Sequential(nn.Linear(40, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Linear(32, 16))
    optimizer = torch.optim.Adam(encoder.parameters(), lr=3e-3, weight_decay=1e-6)
    for epoch in range(args.epochs):
        order = np.random.permutation(len(x))
        for batch in np.array_split(order, 3):
            a, b = two_views(x[batch])
            loss = nt_xent(encoder(a), encoder(b))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print(f"epoch {epoch}: nt-xent {loss.item():.6f}, knn {knn_accuracy(encoder, x, y):.3f}")
    torch.save(encoder.state_dict(), "encoder.pt")


if __name__ == "__main__":
    main()
