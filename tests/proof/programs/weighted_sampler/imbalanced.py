import argparse
from collections import Counter

import torch
from torch import nn
from torch.utils.data import BatchSampler, DataLoader, RandomSampler, TensorDataset, WeightedRandomSampler


def blobs(sizes=(180, 30, 12)):
    xs, ys = [], []
    for label, n in enumerate(sizes):
        r = torch.linspace(0, 1, n)
        xs.append(torch.stack([label + r.cos(), label - r.sin()], dim=1))
        ys.append(torch.full((n,), label))
    return TensorDataset(torch.cat(xs), torch.cat(ys))


def make_loader(dataset, batch_size, oversample):
    if oversample:
        labels = dataset.tensors[1].tolist()
        count = Counter(labels)
        weights = [1 / count[label] for label in labels]
        sampler = WeightedRandomSampler(weights, num_samples=len(dataset), replacement=True)
    else:
        sampler = RandomSampler(dataset)
    return DataLoader(dataset, batch_sampler=BatchSampler(sampler, batch_size, drop_last=False))


def parse():
    parser = argparse.ArgumentParser()
    parser.add_argument("--oversample", action="store_true")
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--seed", type=int)
    return parser.parse_args()


def main():
    opt = parse()
    if opt.seed is not None:
        torch.manual_seed(opt.seed)
    dataset = blobs()
    loader = make_loader(dataset, opt.batch_size, opt.oversample)
    net = nn.Sequential(nn.Linear(2, 20), nn.Tanh(), nn.Dropout(0.1), nn.Linear(20, 3))
    optimizer = torch.optim.Adagrad(net.parameters(), lr=0.05)
    best = float("inf")
    for epoch in range(opt.epochs):
        total, seen = 0.0, Counter()
        for x, y in loader:
            seen.update(y.tolist())
            loss = nn.functional.cross_entropy(net(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
        print(f"epoch {epoch} loss {total / len(loader):.5f} seen {dict(sorted(seen.items()))}")
        if total < best:
            best = total
            torch.save({"net": net.state_dict(), "loss": best}, "best.pt")


if __name__ == "__main__":
    main()
