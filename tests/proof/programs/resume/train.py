import argparse
import os

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


def get_data():
    x = torch.arange(160, dtype=torch.float).view(-1, 1) / 160
    return TensorDataset(torch.cat([x, x ** 2, (9 * x).sin()], 1), (4 * x).long().squeeze(1))


class Classifier(nn.Module):
    def __init__(self, width=32, p=0.3):
        super().__init__()
        self.fc1 = nn.Linear(3, width)
        self.bn = nn.BatchNorm1d(width)
        self.drop = nn.Dropout(p)
        self.fc2 = nn.Linear(width, 4)

    def forward(self, x):
        return self.fc2(self.drop(torch.relu(self.bn(self.fc1(x)))))


def save_checkpoint(path, epoch, model, optimizer, scheduler):
    torch.save({
        "epoch": epoch,
        "model": model.state_dict(),
        "optimizer": optimizer.state_dict(),
        "scheduler": scheduler.state_dict(),
    }, path)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--epochs", type=int, default=5)
    ap.add_argument("--resume", default="")
    ap.add_argument("--save", default="last.ckpt")
    args = ap.parse_args()

    model = Classifier()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 2, 0.5)
    start_epoch = 0
    if args.resume and os.path.isfile(args.resume):
        ckpt = torch.load(args.resume)
        model.load_state_dict(ckpt["model"])
        optimizer.load_state_dict(ckpt["optimizer"])
        scheduler.load_state_dict(ckpt["scheduler"])
        start_epoch = ckpt["epoch"] + 1
        print("=> resumed from epoch", ckpt["epoch"])

    loader = DataLoader(get_data(), batch_size=16, shuffle=True)
    for epoch in range(start_epoch, args.epochs):
        total = 0.
        for x, y in loader:
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
            total += loss.item() * len(x)
        scheduler.step()
        print("epoch", epoch, "loss", total / len(loader.dataset))
        save_checkpoint(args.save, epoch, model, optimizer, scheduler)


if __name__ == "__main__":
    main()
