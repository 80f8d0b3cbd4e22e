import argparse
import os

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader

from augment import Compose, RandomFlip, RandomShift
from shapes import Shapes

parser = argparse.ArgumentParser()
parser.add_argument("--epochs", type=int, default=5)
parser.add_argument("--batch-size", type=int, default=24)
parser.add_argument("--workers", type=int, default=4)
parser.add_argument("--lr", type=float, default=1e-2)
parser.add_argument("--out", default="checkpoints")


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 8, 3)
        self.conv2 = nn.Conv2d(8, 16, 3)
        self.drop = nn.Dropout(0.25)
        self.fc = nn.Linear(16 * 4 * 4, 3)

    def forward(self, x):
        x = F.relu(self.conv1(x))
        x = F.max_pool2d(F.relu(self.conv2(x)), 2)
        return self.fc(self.drop(x.flatten(1)))


def evaluate(model, loader):
    model.eval()
    right = 0
    with torch.no_grad():
        for x, y in loader:
            right += (model(x).argmax(1) == y).sum().item()
    return right / len(loader.dataset)


def main():
    args = parser.parse_args()
    transform = Compose(RandomFlip(), RandomShift(2))
    train_loader = DataLoader(Shapes(240, transform), batch_size=args.batch_size, shuffle=True, num_workers=args.workers)
    val_loader = DataLoader(Shapes(60), batch_size=args.batch_size)

    model = Net()
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9)
    for epoch in range(args.epochs):
        model.train()
        running = 0.0
        for x, y in train_loader:
            optimizer.zero_grad()
            loss = F.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
            running += loss.item()
        print(f"epoch {epoch}: loss {running / len(train_loader):.6f} val acc {evaluate(model, val_loader):.3f}")

    os.makedirs(args.out, exist_ok=True)
    torch.save({"model": model.state_dict(), "epoch": args.epochs}, os.path.join(args.out, "last.pt"))


if __name__ == "__main__":
    main()
