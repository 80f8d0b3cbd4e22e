import argparse
import random

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F


def get_args():
    parser = argparse.ArgumentParser(description="Masked reconstruction of short signals")
    parser.add_argument("--epochs", type=int, default=4, help="number of epochs")
    parser.add_argument("--batch-size", type=int, default=20)
    parser.add_argument("--lr", type=float, default=3e-3)
    parser.add_argument("--mask-ratio", type=float, default=0.3, help="share of each signal that is hidden")
    parser.add_argument("--seed", type=int, default=None, help="random seed")
    parser.add_argument("--out", default="mae.pth")
    return parser.parse_args()


def signals(count=120, length=24):
    t = np.linspace(0, 1, length, dtype="float32")
    return torch.from_numpy(np.stack([np.sin(2 * np.pi * (1 + i % 4) * t + 0.1 * i) for i in range(count)]))


def hide(batch, ratio):
    """Zeroes one stretch of each signal; its place is drawn."""
    length = batch.shape[1]
    width = int(length * ratio)
    mask = torch.zeros_like(batch)
    for row in mask:
        start = random.randint(0, length - width)
        row[start:start + width] = 1
    return batch * (1 - mask), mask


def train_one_epoch(model, optimizer, data, args):
    total = 0.0
    order = np.random.permutation(len(data))
    for begin in range(0, len(order), args.batch_size):
        batch = data[order[begin:begin + args.batch_size]]
        visible, mask = hide(batch, args.mask_ratio)
        loss = (F.mse_loss(model(visible), batch, reduction="none") * mask).sum() / mask.sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item() * len(batch)
    return total / len(data)


def main():
    args = get_args()

    if args.seed is not None:
        random.seed(args.seed)
        np.random.seed(args.seed)
        torch.manual_seed(args.seed)

    data = signals()
    model = nn.Sequential(nn.Linear(24, 32), nn.GELU(), nn.Dropout(0.1), nn.Linear(32, 24))
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    for epoch in range(args.epochs):
        loss = train_one_epoch(model, optimizer, data, args)
        print(f"Epoch {epoch + 1}/{args.epochs}: loss {loss:.6f}")
    torch.save(model.state_dict(), args.out)


if __name__ == "__main__":
    main()
