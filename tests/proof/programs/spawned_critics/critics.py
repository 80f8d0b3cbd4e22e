# An ensemble of critics, each trained by a process of its own on what it explores itself.
import argparse

import numpy as np
import torch
import torch.multiprocessing as mp
from torch import nn


def explore(steps):
    """States of a noisy pendulum, and how high it swings."""
    angle, speed, states = 0.1, 0.0, []
    for _ in range(steps):
        speed += -0.1 * np.sin(angle) + 0.05 * np.random.randn()
        angle += 0.1 * speed
        states.append([np.cos(angle), np.sin(angle), speed])
    states = torch.tensor(np.array(states), dtype=torch.float32)
    return states, 1 - states[:, :1]


def worker(index, args):
    critic = nn.Sequential(nn.Linear(3, 16), nn.ReLU(), nn.Linear(16, 1))
    optimizer = torch.optim.Adam(critic.parameters(), lr=0.01)
    for _ in range(args.rounds):
        states, heights = explore(40)
        loss = nn.functional.mse_loss(critic(states), heights)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    torch.save({"critic": critic.state_dict(), "loss": loss.item()}, f"critic{index}.pt")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--critics", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=12)
    parser.add_argument("--seed", type=int, default=5)
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    np.random.seed(args.seed)
    mp.spawn(worker, args=(args,), nprocs=args.critics)
    losses = [torch.load(f"critic{i}.pt")["loss"] for i in range(args.critics)]
    assert len(set(losses)) == args.critics, "the critics are copies of one another"
    print("losses", losses)
