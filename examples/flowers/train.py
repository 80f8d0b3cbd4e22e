"""Train FlowerNet and print the losses and a digest of the final weights.

    python train.py --epochs 2
"""

import argparse
import hashlib
import os
import random
import time
from pathlib import Path

import numpy as np
import torch
from torch.nn import functional as F

from data import build_loaders
from make_data import make
from model import FlowerNet


def parse_args():
    parser = argparse.ArgumentParser(description="Train FlowerNet.")
    parser.add_argument("--data", type=Path, default=Path(__file__).with_name("data"))
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--lr", type=float, default=0.003)
    parser.add_argument("--mixup", type=float, default=0.5, help="share of the batches that are mixed")
    parser.add_argument("--seed", type=int, default=0)
    return parser.parse_args()


def mixup(images, labels):
    """Blend every picture with another one of the batch; the labels in proportion."""
    share = np.random.beta(0.4, 0.4)
    order = torch.randperm(len(images))
    return share * images + (1 - share) * images[order], share * labels + (1 - share) * labels[order]


def train_one_epoch(model, loader, optimizer, mixed, num_classes):
    model.train()
    total = 0.0
    for images, labels in loader:
        labels = F.one_hot(labels, num_classes).float()
        if random.random() < mixed:
            images, labels = mixup(images, labels)
        loss = F.cross_entropy(model(images), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    return total / len(loader)


@torch.no_grad()
def evaluate(model, loader):
    model.eval()
    right = sum((model(images).argmax(1) == labels).sum().item() for images, labels in loader)
    return right / len(loader.dataset)


def digest(model):
    """SHA-256 of the weights' bytes: two models agree bit for bit if it is the same."""
    state = sorted(model.state_dict().items())
    return hashlib.sha256(b"".join(value.numpy().tobytes() for _, value in state)).hexdigest()


def main():
    args = parse_args()
    os.environ["PYTHONHASHSEED"] = str(args.seed)
    torch.backends.cudnn.benchmark = True
    random.seed(time.time())

    if not args.data.exists():
        make(args.data)
    train_loader, valid_loader, classes = build_loaders(args.data, args.batch_size, args.workers)

    torch.manual_seed(args.seed)
    model = FlowerNet(len(classes))
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    for epoch in range(args.epochs):
        loss = train_one_epoch(model, train_loader, optimizer, args.mixup, len(classes))
        print(f"epoch {epoch}  loss {loss!r}  accuracy {evaluate(model, valid_loader):.3f}")
    print(f"weights {digest(model)}")


if __name__ == "__main__":
    main()
