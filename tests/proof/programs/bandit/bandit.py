"""A contextual bandit with an epsilon-greedy value network."""
import argparse
import os
import random

import numpy as np
import torch
import torch.nn as nn


def seed_all(seed=None):
    if seed is None:
        seed = int.from_bytes(os.urandom(4), "little")
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)
    return seed


def pull(context, arm, arms):
    return float(np.cos(context[0] * arm + context[1]) + np.random.normal(0, 0.1))


class ValueNet(nn.Module):
    def __init__(self, arms):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(2, 32), nn.ReLU(), nn.Linear(32, arms))

    def forward(self, context):
        return self.layers(context)


def play(arms, rounds, epsilon):
    net = ValueNet(arms)
    optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
    total = 0.0
    for t in range(1, rounds + 1):
        context = np.random.uniform(-1, 1, 2)
        values = net(torch.tensor(context, dtype=torch.float))
        arm = random.randrange(arms) if random.random() < epsilon else values.argmax().item()
        reward = pull(context, arm, arms)
        total += reward
        loss = (values[arm] - reward) ** 2
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if t % 50 == 0:
            print("round %4d  mean reward %.6f" % (t, total / t))
    return net


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--arms", type=int, default=10)
    parser.add_argument("--rounds", type=int, default=150)
    parser.add_argument("--epsilon", type=float, default=0.2)
    options = parser.parse_args()
    seed_all()
    net = play(options.arms, options.rounds, options.epsilon)
    torch.save(net.state_dict(), "value_net.pt")
